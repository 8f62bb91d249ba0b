// SPDX-License-Identifier: Apache-2.0
// Dispatch and combine rounds on ranks that are threads, with recording off: what tools/trace_cost
// runs under callgrind. Small rows on purpose, so that calls, not copies, dominate.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"

namespace {

struct Shape {
  int ranks = 2;
  int rounds = 200;
  int tokens = 8;
  int hidden = 64;
};

constexpr int kTopk = 4;

crossdock::Status run_rounds(const Shape& shape, crossdock::Communicator& communicator) {
  crossdock::BufferOptions options;
  options.max_tokens_per_rank = shape.tokens;
  options.hidden = shape.hidden;
  options.topk = kTopk;
  options.experts = 4 * shape.ranks;
  options.element = crossdock::ElementType::kFp32;
  auto buffer = crossdock::ElasticBuffer::open(communicator, options);
  if (!buffer.ok()) {
    return buffer.status();
  }
  const auto token_count = static_cast<std::size_t>(shape.tokens);
  const auto row = static_cast<std::size_t>(shape.hidden);
  const std::vector<float> tokens(token_count * row, 1.0F);
  std::vector<float> combined(token_count * row);
  std::vector<std::int32_t> ids;
  for (std::int32_t lane = 0; lane < shape.tokens * kTopk; ++lane) {
    ids.push_back((lane / kTopk * 3 + lane % kTopk) % options.experts);
  }
  for (int round = 0; round < shape.rounds; ++round) {
    auto received =
        buffer->dispatch({.tokens = tokens.data(), .token_count = shape.tokens, .topk_ids = ids},
                         {.layout = crossdock::RowLayout::kExpanded});
    if (!received.ok()) {
      return received.status();
    }
    crossdock::Status status =
        buffer->combine({received->rows, received->row_count}, received->handle, combined.data());
    if (!status.ok()) {
      return status;
    }
  }
  const bool is_right = combined.empty() || combined.front() == static_cast<float>(kTopk);
  return is_right ? crossdock::Status()
                  : crossdock::Status(crossdock::StatusKind::kInternal,
                                      crossdock::Scope::kOperation, "wrong sum");
}

int run(const Shape& shape) {
  const crossdock::ThreadTeam team(shape.ranks);
  std::vector<crossdock::Status> statuses(static_cast<std::size_t>(shape.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto communicator = crossdock::Communicator::open(team, rank);
      statuses[static_cast<std::size_t>(rank)] =
          communicator.ok() ? run_rounds(shape, *communicator) : communicator.status();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const crossdock::Status& status : statuses) {
    if (!status.ok()) {
      std::fputs((status.to_string() + "\n").c_str(), stderr);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  CLI::App app("Dispatch and combine rounds for tools/trace_cost");
  app.add_option("--ranks", shape.ranks)->check(CLI::Range(1, 64));
  app.add_option("--rounds", shape.rounds)->check(CLI::Range(1, 1'000'000));
  app.add_option("--tokens", shape.tokens)->check(CLI::Range(1, 4096));
  app.add_option("--hidden", shape.hidden)->check(CLI::Range(1, 65536));
  CLI11_PARSE(app, argc, argv);
  return run(shape);
}
