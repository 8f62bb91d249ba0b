// SPDX-License-Identifier: Apache-2.0
// How ranks find each other: one primitive, all-gather of byte blobs, with several providers.
// Used only while a fabric is made; nothing on a data path comes here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::fabric {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Collective, blocking: every rank's blob, [rank]. A blob may be empty and is at most
  /// kBlobBytesMax. Fails on every rank within the deadline when one fails.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                                 Deadline deadline) = 0;
  static constexpr std::size_t kBlobBytesMax = std::size_t{1} << 20;
};

/// What the environment says: crossdock launch's own variables (CROSSDOCK_RANK, CROSSDOCK_SIZE,
/// CROSSDOCK_BOOTSTRAP host:port, CROSSDOCK_BOOTSTRAP_FD, CROSSDOCK_JOB_SECRET), else torchrun's
/// (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), else a single rank.
struct TcpOptions {
  int rank = 0;
  int size = 1;
  std::string host = "127.0.0.1";  // IPv4, IPv6 (with or without brackets) or a name
  int port = 0;
  int listener_fd = -1;    // rank 0: an already bound and listening socket, -1 to make one
  std::string job_secret;  // empty: refused unless host is a loopback address
};
Result<TcpOptions> tcp_options_from_environment();

/// Rank 0 serves, the others connect. Every frame is length-bounded and carries a keyed hash.
Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(const TcpOptions& options, Deadline deadline);

/// Ranks as threads of this process: one team, one bootstrap per thread.
class ThreadTeam;
std::shared_ptr<ThreadTeam> make_thread_team(int size);
std::unique_ptr<Bootstrap> make_thread_bootstrap(std::shared_ptr<ThreadTeam> team, int rank);

/// The caller's own all-gather (MPI, torch.distributed, ...).
using AllGatherFunction =
    std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)>;
std::unique_ptr<Bootstrap> make_function_bootstrap(int rank, int size, AllGatherFunction function);

/// All-gathers `value` under `name`; when ranks differ, every rank gets kMismatch naming the value,
/// two ranks that differ and both values.
Status require_agreement(Bootstrap& bootstrap, std::string_view name, std::string_view value,
                         Deadline deadline);

}  // namespace crossdock::fabric
