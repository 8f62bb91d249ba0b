// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/journey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/demo/facts.h"
#include "crossdock/elastic_buffer.h"
#include "report/report.h"
#include "trace/format.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::demo {
namespace {

using report::JourneyStep;
using trace::Operation;

const trace::Stage* stage_of(std::uint16_t id) {
  for (const trace::Stage& stage : trace::kStages) {
    if (stage.id == id) {
      return &stage;
    }
  }
  return nullptr;
}

const RankFacts* rank_of_followed(const DemoFacts& facts) {
  for (const RankFacts& rank : facts.ranks) {
    if (rank.followed) {
      return &rank;
    }
  }
  return nullptr;
}

class JourneyMaker {
 public:
  JourneyMaker(const DemoFacts& facts, const RankFacts& own)
      : facts_(facts), own_(own), followed_(*own.followed), round_(own.rounds.front().round) {
    for (const RankFacts& rank : facts.ranks) {
      zero_ns_ = std::min(zero_ns_, rank.rounds.front().dispatch.begin_ns);
    }
  }

  report::Journey make() {
    add_gate();
    add_stages(own_.rank, Operation::kDispatch, {});
    add_rows();
    for (const int target : targets()) {
      add_target(target);
    }
    add_stages(own_.rank, Operation::kCombine, {});
    add_end();
    return {.rank = own_.rank, .token = followed_.token, .round = round_, .steps = steps_};
  }

 private:
  JourneyStep& add(Operation operation, const trace::Stage& stage, int rank, std::string what) {
    JourneyStep& step = steps_.emplace_back();
    step.operation = operation;
    step.stage = stage.id;
    step.rank = rank;
    step.what = std::move(what);
    return step;
  }
  void set_time(JourneyStep& step, std::int64_t begin_ns, std::int64_t end_ns) const {
    step.begin_ns = begin_ns - zero_ns_;
    step.end_ns = end_ns - zero_ns_;
  }

  /// Where the rows of a round are proven: one round of messages has the counts and the rows.
  [[nodiscard]] const trace::Stage& proof_stage() const {
    return own_.mode == "latency" ? trace::kReconcile : trace::kArrive;
  }

  void add_gate() {
    for (std::size_t lane = 0; lane < followed_.topk_ids.size(); ++lane) {
      const int expert = followed_.topk_ids[lane];
      JourneyStep& step =
          add(Operation::kDispatch, trace::kValidate, own_.rank,
              expert < 0 ? "gate: lane unused"
                         : fmt::format("gate: weight {:.4f}", followed_.topk_weights[lane]));
      step.lane = static_cast<int>(lane);
      step.expert = expert;
    }
  }

  /// What the rank recorded of this round's operation, in order; only these stages, or all.
  void add_stages(int rank, Operation operation, std::span<const trace::Stage> only) {
    std::vector<trace::SpanRecord> spans;
    for (const trace::SpanRecord& span : facts_.traces[static_cast<std::size_t>(rank)].spans) {
      const bool wanted =
          only.empty() || std::any_of(only.begin(), only.end(), [&](const trace::Stage& stage) {
            return stage.id == span.stage;
          });
      if (span.round == round_ && span.operation == operation && wanted) {
        spans.push_back(span);
      }
    }
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
      return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
    });
    for (const trace::SpanRecord& span : spans) {
      if (const trace::Stage* const stage = stage_of(span.stage)) {
        JourneyStep& step = add(operation, *stage, rank, std::string(stage->what));
        set_time(step, span.begin_ns, span.end_ns);
        if (stage->id == proof_stage().id && operation == Operation::kDispatch) {
          step.proof = fmt::format("{}, epoch {}", own_.protocol, round_);
        }
      }
    }
  }

  void add_rows() {
    for (const RouteStep& route : followed_.routes) {
      const RankFacts& target = facts_.ranks[static_cast<std::size_t>(route.rank)];
      const std::uint64_t address =
          target.rows_address + static_cast<std::uint64_t>(route.row) * route.row_bytes;
      JourneyStep& step =
          add(Operation::kDispatch, trace::kPost, route.rank,
              fmt::format("row in the window of rank {}, there at {:#x}", route.rank, address));
      step.lane = route.lane;
      step.expert = route.expert;
      step.slot = route.row;
      step.address = route.window_offset;
      step.row_bytes = route.row_bytes;
    }
  }

  /// Ranks that hold rows of the token, each once, ascending.
  [[nodiscard]] std::vector<int> targets() const {
    std::vector<int> ranks;
    ranks.reserve(followed_.routes.size());
    for (const RouteStep& route : followed_.routes) {
      ranks.push_back(route.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  void add_target(int target) {
    const std::vector<trace::Stage> arrival = {proof_stage(), trace::kReorder};
    if (target != own_.rank) {  // Its own stages are there already.
      add_stages(target, Operation::kDispatch, arrival);
    }
    const CallTime& experts = facts_.ranks[static_cast<std::size_t>(target)].rounds.front().experts;
    JourneyStep& step =
        add(Operation::kNone, trace::kCompute, target, "its experts compute all their rows");
    set_time(step, experts.begin_ns, experts.end_ns);
  }

  void add_end() {
    const auto shown =
        static_cast<std::ptrdiff_t>(std::min<std::size_t>(facts_.followed_row.size(), 4));
    const auto begin = facts_.followed_row.begin();
    JourneyStep& step =
        add(Operation::kCombine, trace::kReduce, own_.rank,
            fmt::format("combined row: {:.4f}{}{}", fmt::join(begin, begin + shown, " "),
                        facts_.followed_row.size() > 4 ? " ..." : "",
                        facts_.verdict.ok() ? ", equal to the reference bit by bit" : ""));
    const std::int64_t end_ns = own_.rounds.front().combine.end_ns;
    set_time(step, end_ns, end_ns);
  }

  const DemoFacts& facts_;
  const RankFacts& own_;
  const FollowedToken& followed_;
  std::uint64_t round_;
  std::int64_t zero_ns_ = std::numeric_limits<std::int64_t>::max();
  std::vector<JourneyStep> steps_;
};

std::string time_text(const JourneyStep& step) {
  if (step.begin_ns < 0) {
    return "";
  }
  const std::string begin = trace::format_duration(Duration(step.begin_ns));
  if (step.end_ns == step.begin_ns) {
    return "at " + begin;
  }
  return fmt::format("{} .. {}", begin, trace::format_duration(Duration(step.end_ns)));
}

std::string details_text(const JourneyStep& step) {
  std::string text = step.what;
  if (step.lane >= 0) {
    text = fmt::format("lane {}{}: {}", step.lane,
                       step.expert >= 0 ? fmt::format(", expert {}", step.expert) : "", text);
  }
  if (step.slot >= 0) {
    text += fmt::format("; slot {}, window + {:#x}, {} bytes", step.slot, step.address.value_or(0),
                        step.row_bytes);
  }
  if (!step.proof.empty()) {
    text += fmt::format("; proof: {}", step.proof);
  }
  return text;
}

}  // namespace

std::optional<report::Journey> make_journey(const DemoFacts& facts) {
  const RankFacts* const own = rank_of_followed(facts);
  if (own == nullptr) {
    return std::nullopt;
  }
  return JourneyMaker(facts, *own).make();
}

std::string journey_text(const report::Journey& journey, const std::string& origin) {
  std::string text =
      fmt::format("token {} of rank {}: {}\nround {}, times since the first rank's dispatch\n",
                  journey.token, journey.rank, origin, journey.round);
  for (const JourneyStep& step : journey.steps) {
    const trace::Stage* const stage = stage_of(step.stage);
    text += fmt::format("  {:<22} rank {:<4}{:<10} {}\n", time_text(step), step.rank,
                        stage == nullptr ? std::string_view() : stage->name, details_text(step));
  }
  return text + "\n";
}

}  // namespace crossdock::demo
