// SPDX-License-Identifier: Apache-2.0
#include "routing/reference_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "base/check.h"

namespace crossdock::routing {
namespace {

using Row = std::vector<float>;

// Numbers with `digits` significant bits, none finer than 2^finest, none above `largest`.
float round_to_digits(float value, int digits, int finest, double largest) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  const double quantum = std::ldexp(1.0, std::max(exponent - digits, finest));
  const double rounded = std::nearbyint(static_cast<double>(value) / quantum) * quantum;
  if (std::abs(rounded) > largest) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  return static_cast<float>(std::copysign(rounded, static_cast<double>(value)));
}

Row sum_of(const std::vector<Row>& terms, std::size_t hidden, ElementType element) {
  if (terms.empty()) {
    return Row(hidden, 0.0F);
  }
  Row sum = terms.front();
  for (std::size_t term = 1; term < terms.size(); ++term) {
    for (std::size_t index = 0; index < hidden; ++index) {
      sum[index] += terms[term][index];
    }
  }
  for (float& value : sum) {
    value = round_to(element, value);
  }
  return sum;
}

// One summand of a token that is an expert's row.
struct Contributor {
  std::int32_t rank;
  std::size_t lane;
  Row row;
};

std::vector<Contributor> contributors_of(const Exchange& exchange,
                                         const RowsOfRanks<float>& outputs,
                                         const ReferenceSums& sums, std::size_t source,
                                         std::size_t token) {
  const auto lanes = static_cast<std::size_t>(exchange.topk);
  std::vector<Contributor> found;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t route = token * lanes + lane;
    const std::int32_t rank = exchange.owner_of_route[source][route];
    if (rank < 0) {
      continue;
    }
    if (exchange.layout == RowLayout::kPlain) {  // A rank's only row moves to its last lane.
      std::erase_if(found, [=](const Contributor& other) { return other.rank == rank; });
    }
    const auto row = static_cast<std::size_t>(exchange.row_of_route[source][route]);
    found.push_back({rank, lane, outputs[static_cast<std::size_t>(rank)][row]});
    if (!sums.gate_weights.empty()) {
      for (float& value : found.back().row) {
        value = value * sums.gate_weights[source][route];
      }
    }
  }
  return found;
}

// Plan deepep: the sum of each rank's rows, rounded, at the rank's last lane.
std::vector<Row> rank_sums(const std::vector<Contributor>& contributors, std::size_t hidden,
                           ElementType element) {
  std::map<std::int32_t, std::vector<Row>> rows_of;
  std::map<std::int32_t, std::size_t> last_lane_of;
  for (const Contributor& contributor : contributors) {
    rows_of[contributor.rank].push_back(contributor.row);
    last_lane_of[contributor.rank] = contributor.lane;
  }
  std::map<std::size_t, Row> by_lane;
  for (const auto& [rank, rows] : rows_of) {
    by_lane[last_lane_of[rank]] = sum_of(rows, hidden, element);
  }
  std::vector<Row> sums;
  for (const auto& [lane, row] : by_lane) {
    sums.push_back(row);
  }
  return sums;
}

}  // namespace

float round_to(ElementType element, float value) {
  switch (element) {
    case ElementType::kFp32:
      return value;
    case ElementType::kBf16:
      return round_to_digits(value, 8, -133, 0x1.fep127);
    case ElementType::kFp16:
      return round_to_digits(value, 11, -24, 65504.0);
    default:
      CROSSDOCK_CHECK(false, "element type {} has no sum", static_cast<int>(element));
      return 0;
  }
}

RowsOfRanks<float> reference_sums(const Exchange& exchange, const RowsOfRanks<float>& outputs,
                                  std::size_t hidden, const ReferenceSums& sums) {
  RowsOfRanks<float> tokens;
  const auto lanes = static_cast<std::size_t>(exchange.topk);
  for (std::size_t source = 0; source < exchange.ranks.size(); ++source) {
    auto& of_source = tokens.emplace_back();
    for (std::size_t token = 0; token < exchange.row_of_route[source].size() / lanes; ++token) {
      std::vector<Row> terms;
      for (const RowsOfRanks<float>& bias : sums.biases) {
        terms.push_back(bias[source][token]);
      }
      const auto contributors = contributors_of(exchange, outputs, sums, source, token);
      if (sums.plan == ReductionPlan::kDeepEp) {
        const auto partial = rank_sums(contributors, hidden, sums.element);
        terms.insert(terms.end(), partial.begin(), partial.end());
      } else {
        for (const Contributor& contributor : contributors) {
          terms.push_back(contributor.row);
        }
      }
      of_source.push_back(sum_of(terms, hidden, sums.element));
    }
  }
  return tokens;
}

}  // namespace crossdock::routing
