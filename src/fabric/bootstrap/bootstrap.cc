// SPDX-License-Identifier: Apache-2.0
// What is common to all providers, and the provider that wraps the caller's own all-gather.
#include "fabric/bootstrap/bootstrap.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fabric/agreement.h"
#include "fabric/bootstrap/blob_limit.h"

namespace crossdock::fabric {
namespace {

class FunctionBootstrap final : public Bootstrap {
 public:
  FunctionBootstrap(int rank, int size, AllGatherFunction function)
      : rank_(rank), size_(size), function_(std::move(function)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  Result<std::vector<std::vector<std::byte>>> all_gather(
      std::span<const std::byte> mine, Deadline /*the function has its own*/) override {
    CROSSDOCK_RETURN_IF_ERROR(check_blob_bytes(rank_, mine.size()));
    CROSSDOCK_ASSIGN_OR_RETURN(auto blobs, function_(mine));
    if (blobs.size() != static_cast<std::size_t>(size_)) {
      return Status(StatusKind::kInternal, Scope::kCommunicator,
                    fmt::format("bootstrap: the all-gather function returned {} blobs, not {}",
                                blobs.size(), size_));
    }
    for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
      CROSSDOCK_RETURN_IF_ERROR(check_blob_bytes(static_cast<int>(rank), blobs[rank].size()));
    }
    return blobs;
  }

 private:
  int rank_;
  int size_;
  AllGatherFunction function_;
};

}  // namespace

Status check_blob_bytes(int rank, std::size_t byte_count) {
  if (byte_count <= Bootstrap::kBlobBytesMax) {
    return {};
  }
  return Status(StatusKind::kInvalidArgument, Scope::kCommunicator,
                fmt::format("bootstrap: rank {} gave {} bytes, allowed are {}", rank, byte_count,
                            Bootstrap::kBlobBytesMax),
                rank);
}

std::unique_ptr<Bootstrap> make_function_bootstrap(int rank, int size, AllGatherFunction function) {
  CROSSDOCK_CHECK(rank >= 0 && rank < size, "rank {} size {}", rank, size);
  CROSSDOCK_CHECK(function != nullptr);
  return std::make_unique<FunctionBootstrap>(rank, size, std::move(function));
}

Status require_agreement(Bootstrap& bootstrap, std::string_view name, std::string_view value,
                         Deadline deadline) {
  const auto mine = encode_agreement({{std::string(name), std::string(value)}});
  CROSSDOCK_ASSIGN_OR_RETURN(const auto blobs, bootstrap.all_gather(mine, deadline));
  return compare_agreement(blobs);
}

}  // namespace crossdock::fabric
