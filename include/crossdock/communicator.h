// SPDX-License-Identifier: Apache-2.0
// A group of ranks that can exchange rows. Made collectively; owned by one thread at a time. Calls
// made while operations are posted (ticket.h) first wait for those, but for abort() and close(),
// which end them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock {

namespace fabric {
class Fabric;
}
namespace detail {
struct CommunicatorAccess;
}

/// Ranks as threads of this process share one of these; make it before the threads.
class ThreadTeam {
 public:
  explicit ThreadTeam(int rank_count);
  [[nodiscard]] int size() const;

 private:
  friend class Communicator;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

struct CommunicatorOptions {
  /// How long any wait may last; zero: setting CROSSDOCK_TIMEOUT (default 100 s).
  std::chrono::nanoseconds timeout{0};
  /// A line "still waiting for rank 3 ..." appears this often; zero: CROSSDOCK_STILL_WAITING.
  std::chrono::nanoseconds still_waiting{0};
  /// Who moves posted operations on. Ranks may differ in this and the next two.
  Progress progress = Progress::kThread;
  /// kAuto: setting CROSSDOCK_WAY.
  Way way = Way::kAuto;
  /// Queued way: requests that may be under way to one peer, rounded up to a power of two; 0:
  /// setting CROSSDOCK_QUEUE_DEPTH.
  std::int64_t queue_depth = 0;
  /// A caller's own all-gather over its ranks (MPI, torch.distributed); blobs of all ranks, [rank].
  std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)>
      all_gather = {};
  int rank = 0;  // with all_gather only
  int size = 1;  // with all_gather only
};

class Communicator {
 public:
  /// Collective. From the environment that `crossdock launch` or torchrun sets; without one, a
  /// single rank. Errors: kMismatch (versions, settings), kTimeout, kPeerDead, kInvalidArgument.
  static Result<Communicator> open(const CommunicatorOptions& options = {});
  /// Collective over the threads of a team.
  static Result<Communicator> open(const ThreadTeam& team, int rank,
                                   const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();  // closes; never waits for peers

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// Collective: ranks of equal colour form a new communicator, ordered by their rank here.
  Result<Communicator> split(int colour);
  /// Collective, for set-up and results, not for data paths: every rank's bytes, [rank].
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine);
  /// Collective: returns when every rank has come here.
  Status barrier();
  /// Tells the peers that this rank cannot go on: their waits end at once with `reason`'s message.
  void abort(std::string_view reason);
  /// Not ok once a peer died, aborted or timed out: then close and open a new one. Never waits, so
  /// while an operation is posted it says nothing: the ticket does.
  [[nodiscard]] Status health();
  /// Idempotent; never waits for peers. Buffers made from it report kClosed afterwards.
  void close();

 private:
  friend struct detail::CommunicatorAccess;
  struct Impl;
  explicit Communicator(std::shared_ptr<Impl> impl);
  static Result<Communicator> adopt(std::shared_ptr<fabric::Fabric> fabric, Progress progress);
  std::shared_ptr<Impl> impl_;
};

}  // namespace crossdock
