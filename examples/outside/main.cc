// SPDX-License-Identifier: Apache-2.0
// Crossdock as a library: two ranks as threads of this process send their tokens to the experts'
// ranks, double them there, and get the sums back.
#include <crossdock/communicator.h>
#include <crossdock/elastic_buffer.h>
#include <crossdock/version.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRanks = 2;
constexpr int kHidden = 4;

crossdock::Status run(const crossdock::ThreadTeam& team, int rank, std::vector<float>& combined) {
  auto communicator = crossdock::Communicator::open(team, rank);
  if (!communicator.ok()) {
    return communicator.status();
  }
  crossdock::BufferOptions options;
  options.max_tokens_per_rank = 8;
  options.hidden = kHidden;
  options.topk = 2;
  options.experts = 4;
  options.element = crossdock::ElementType::kFp32;
  auto buffer = crossdock::ElasticBuffer::open(*communicator, options);
  if (!buffer.ok()) {
    return buffer.status();
  }

  // One token per rank; its lanes go to expert 0 (on rank 0) and expert 3 (on rank 1).
  const std::vector<float> token(kHidden, static_cast<float>(rank + 1));
  const std::vector<std::int32_t> topk_ids{0, 3};
  auto received = buffer->dispatch({.tokens = token.data(), .token_count = 1, .topk_ids = topk_ids},
                                   {.layout = crossdock::RowLayout::kExpanded});
  if (!received.ok()) {
    return received.status();
  }
  auto* rows = reinterpret_cast<float*>(received->rows);
  for (std::int64_t index = 0; index < received->row_count * kHidden; ++index) {
    rows[index] *= 2;  // the expert, in place
  }
  return buffer->combine({received->rows, received->row_count}, received->handle, combined.data());
}

}  // namespace

int main() {
  const std::string compiled = std::to_string(CROSSDOCK_VERSION_MAJOR) + "." +
                               std::to_string(CROSSDOCK_VERSION_MINOR) + "." +
                               std::to_string(CROSSDOCK_VERSION_PATCH);
  if (compiled != crossdock::version()) {
    std::printf("compiled with %s, runs with %s\n", compiled.c_str(), crossdock::version());
    return 1;
  }
  const crossdock::ThreadTeam team(kRanks);
  std::vector<std::vector<float>> combined(kRanks, std::vector<float>(kHidden));
  std::vector<crossdock::Status> statuses(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      statuses[static_cast<std::size_t>(rank)] =
          run(team, rank, combined[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (!statuses[rank].ok()) {
      std::printf("rank %zu: %s\n", rank, statuses[rank].to_string().c_str());
      return 1;
    }
    // Two experts, each of which doubled the token.
    if (combined[rank][0] != 4.0F * static_cast<float>(rank + 1)) {
      std::printf("rank %zu got %f\n", rank, static_cast<double>(combined[rank][0]));
      return 1;
    }
  }
  std::printf("crossdock %s: dispatched and combined on %d ranks\n", crossdock::version(), kRanks);
  return 0;
}
