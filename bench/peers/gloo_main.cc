// SPDX-License-Identifier: Apache-2.0
// Expanded dispatch and combine over gloo's alltoallv with permutes, what CPU users of
// torch.distributed get. The launcher says who this is; the ranks meet in a folder.
//
//   crossdock launch -n 8 --output lines -- crossdock-peer-gloo --store DIR --operation dispatch
//   ...
// prints one JSON object on rank 0; exit code 0, 1 (a row differs), 2 (usage) or 3 (gloo failed).
#include <gloo/allgather.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "bench/peers/peer_bench.h"
#include "bench/peers/peer_options.h"
#include "bench/peers/permuted_exchange.h"
#include "bench/peers/wire.h"

namespace crossdock::bench {
namespace {

class GlooWire final : public Wire {
 public:
  GlooWire(int rank, int size, const std::string& folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr address;
    address.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(address);
    gloo::rendezvous::FileStore store(folder);
    context_->connectFullMesh(store, device);
  }
  [[nodiscard]] int rank() const override { return context_->rank; }
  [[nodiscard]] int size() const override { return context_->size; }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void all_to_all(const std::int64_t* from, std::int64_t* to, std::size_t part_count) override {
    gloo::AlltoallOptions options(context_);
    const std::size_t count = part_count * static_cast<std::size_t>(size());
    options.setInput(const_cast<std::int64_t*>(from), count);  // gloo only reads it.
    options.setOutput(to, count);
    gloo::alltoall(options);
  }
  void all_to_all_v(const std::byte* from, std::span<const std::int64_t> send_counts, std::byte* to,
                    std::span<const std::int64_t> receive_counts, std::size_t row_bytes) override {
    gloo::AlltoallvOptions options(context_);
    options.setInput(reinterpret_cast<char*>(const_cast<std::byte*>(from)),
                     in_bytes(send_counts, row_bytes));
    options.setOutput(reinterpret_cast<char*>(to), in_bytes(receive_counts, row_bytes));
    gloo::alltoallv(options);
  }
  std::vector<std::byte> gather(std::span<const std::byte> part) override {
    std::vector<std::byte> all(part.size() * static_cast<std::size_t>(size()));
    gloo::AllgatherOptions options(context_);
    options.setInput(reinterpret_cast<char*>(const_cast<std::byte*>(part.data())), part.size());
    options.setOutput(reinterpret_cast<char*>(all.data()), all.size());
    gloo::allgather(options);
    return all;
  }

 private:
  static std::vector<std::int64_t> in_bytes(std::span<const std::int64_t> row_counts,
                                            std::size_t row_bytes) {
    std::vector<std::int64_t> byte_counts(row_counts.begin(), row_counts.end());
    for (std::int64_t& count : byte_counts) {
      count *= static_cast<std::int64_t>(row_bytes);
    }
    return byte_counts;
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
};

int run_peer(const std::vector<std::string_view>& arguments) {
  constexpr std::string_view kProgram = "crossdock-peer-gloo";
  const int rank = settings().rank;
  const int size = settings().size;
  if (rank < 0 || size < 1 || rank >= size) {
    return refuse_usage(kProgram, "is no rank of a job; start it with crossdock launch");
  }
  const auto options = parse_peer_options(arguments, size);
  if (!options.ok()) {
    return rank == 0 ? refuse_usage(kProgram, options.status().message()) : 2;
  }
  if (options->store.empty()) {
    return rank == 0 ? refuse_usage(kProgram, "needs --store, an empty folder") : 2;
  }
  GlooWire wire(rank, size, options->store);
  PermutedExchange exchange(options->shape, wire);
  PeerBench bench(*options, wire, exchange);
  bench.run();
  const bool verified = bench.report("gloo_alltoallv");
  wire.barrier();  // Nobody leaves while a peer still talks to it.
  return verified ? 0 : 1;
}

}  // namespace
}  // namespace crossdock::bench

int main(int argc, char** argv) {
  try {
    return crossdock::bench::run_peer({argv + 1, argv + argc});
  } catch (const std::exception& error) {  // gloo's way to report.
    crossdock::bench::refuse_usage("crossdock-peer-gloo", error.what());
    return 3;
  }
}
