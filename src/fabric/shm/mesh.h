// SPDX-License-Identifier: Apache-2.0
// Unix sockets between every pair of a host's ranks: they carry set-up messages and the descriptors
// of shared memory, and tell which process is at the other end. Sockets are in the abstract
// namespace (nothing on disk), accepted only from the same user and with the job's own nonce.
// Thread rule: owned by its fabric's thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::fabric {

using Gather =
    std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)>;

struct MeshMessage {
  std::vector<std::byte> bytes;
  int fd = -1;  // owned by the receiver; -1: none came
};

class Mesh {
 public:
  /// Collective: `gather` exchanges the sockets' names.
  static Result<std::unique_ptr<Mesh>> open(int rank, int size, const Gather& gather,
                                            Deadline deadline);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// Collective: every rank's bytes, [rank], and its descriptor when `fd` is not -1 there (sent to
  /// ranks of other processes only). `purpose` must be equal on all ranks (kMismatch otherwise).
  Result<std::vector<MeshMessage>> exchange(std::uint32_t purpose, std::span<const std::byte> mine,
                                            int fd, Deadline deadline);
  /// [rank]; own pid for ranks of this process.
  [[nodiscard]] pid_t pid(int peer) const { return peers_[static_cast<std::size_t>(peer)].pid; }
  [[nodiscard]] bool same_process(int peer) const {
    return peers_[static_cast<std::size_t>(peer)].same_process;
  }
  /// Looks for the fate of peers while exchange() waits; set by the fabric once it watches them.
  void set_watch(std::function<Status()> watch) { watch_ = std::move(watch); }
  void close();

 private:
  struct Peer {
    int socket = -1;
    pid_t pid = 0;
    bool same_process = false;
  };
  struct Identity;
  struct Transfer;

  Mesh(int rank, int size);
  Status connect_all(const std::vector<Identity>& identities, int listener, Deadline deadline);
  Status connect_to(int peer, const Identity& identity);
  Status accept_rest(int listener, const Identity& own, Deadline deadline);
  Status admit(int socket, const Identity& own, Deadline deadline, int& missing_count);
  Status progress(int peer, Transfer& transfer, std::uint32_t purpose,
                  std::span<const std::byte> mine, int fd);
  Status send_some(int peer, Transfer& transfer, std::uint32_t purpose,
                   std::span<const std::byte> mine, int fd);
  Status receive_some(int peer, Transfer& transfer, std::uint32_t purpose);

  int rank_;
  int size_;
  std::uint64_t sequence_ = 0;
  std::vector<Peer> peers_;
  std::function<Status()> watch_;
};

}  // namespace crossdock::fabric
