// SPDX-License-Identifier: Apache-2.0
#include "cli/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

constexpr std::size_t kOutputBytesMax = std::size_t{64} << 20;

Status io_error(const std::string& program, int error) {
  return {StatusKind::kIo, Scope::kProcess, fmt::format("{}: {}", program, std::strerror(error))};
}

/// Starts argv in a process group of its own with stdout in `write_end`.
Result<pid_t> spawn(const std::vector<std::string>& argv, int write_end) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, argv[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return io_error(argv[0], error);
  }
  return child;
}

/// Everything until the other end closes.
Status read_all(int read_end, Deadline deadline, std::string& out) {
  std::array<char, 65536> block;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline.remaining(monotonic_clock().now()));
    if (left.count() <= 0) {
      return {StatusKind::kTimeout, Scope::kProcess, "it did not end in time"};
    }
    pollfd ready{.fd = read_end, .events = POLLIN, .revents = 0};
    poll(&ready, 1, static_cast<int>(std::min<long long>(left.count(), 1000)));
    if (ready.revents == 0) {
      continue;
    }
    const ssize_t byte_count = read(read_end, block.data(), block.size());
    if (byte_count == 0) {
      return {};
    }
    if (byte_count < 0 && errno != EINTR) {
      return io_error("reading its output", errno);
    }
    out.append(block.data(), static_cast<std::size_t>(std::max<ssize_t>(byte_count, 0)));
    if (out.size() > kOutputBytesMax) {
      return {StatusKind::kCapacity, Scope::kProcess, "it writes more than 64 MiB"};
    }
  }
}

int wait_for(pid_t child) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

}  // namespace

Result<Captured> run_captured(const std::vector<std::string>& argv, Duration timeout) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return io_error("pipe", errno);
  }
  const Result<pid_t> child = spawn(argv, ends[1]);
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  Captured captured;
  const Status status =
      read_all(ends[0], Deadline::after(monotonic_clock(), timeout), captured.out);
  close(ends[0]);
  if (!status.ok()) {
    kill(-*child, SIGKILL);
  }
  captured.exit_code = wait_for(*child);
  CROSSDOCK_RETURN_IF_ERROR(status);
  return captured;
}

std::string find_in_path(const std::string& name) {
  const std::string path = environment_variable("PATH").value_or("/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return "";
}

}  // namespace crossdock::cli
