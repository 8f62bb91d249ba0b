// SPDX-License-Identifier: Apache-2.0
// Starting one rank, and the guard that ends all ranks when the launcher itself is killed.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crossdock/status.h"
#include "fabric/bootstrap/file_descriptor.h"

namespace crossdock::cli {

using fabric::FileDescriptor;

/// Keeps descriptors 0 to 2 taken while it lives: with stdin closed, the first pipe would become
/// it.
class StandardStreams {
 public:
  StandardStreams();

 private:
  std::vector<FileDescriptor> opened_;
};

struct SpawnOptions {
  std::string program;  // a path
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // the whole of it
  FileDescriptor standard_input;
  FileDescriptor standard_output;  // invalid: ours
  FileDescriptor standard_error;   // invalid: ours
  int kept_fd = -1;                // stays open in the child under the same number
  const cpu_set_t* processors = nullptr;
  sigset_t signal_mask{};
};

struct RankProcess {
  pid_t process_id = -1;  // also its process group; not reaped before the end, so never reused
  FileDescriptor pidfd;
};

/// Returns once the program runs. It leads a process group and dies with the calling thread.
/// kInvalidArgument when the program cannot be run.
Result<RankProcess> spawn_rank(SpawnOptions options);

/// The path of the program that a shell would run for `name`.
Result<std::string> find_program(const std::string& name);

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};
/// Closed on exec; the read end does not block.
Result<Pipe> make_pipe();

/// A process of its own that waits for this process to end, then kills the groups it watches: ranks
/// die with us by themselves, but what they started does not.
class Guard {
 public:
  static Result<Guard> start();
  Status watch(pid_t process_group);
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  // Sends it away.

 private:
  Guard(pid_t process_id, FileDescriptor lifeline);

  pid_t process_id_;
  FileDescriptor lifeline_;
};

}  // namespace crossdock::cli
