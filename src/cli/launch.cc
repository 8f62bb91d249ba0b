// SPDX-License-Identifier: Apache-2.0
// launch() from top to bottom: check, prepare, spawn, watch, end. One loop around poll(): signals,
// ends of ranks (pidfds), their output, room on our own streams, and the moments at which patience
// ends.
#include "cli/launch.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/binding.h"
#include "cli/launch_job.h"
#include "cli/launch_process.h"
#include "fabric/bootstrap/frame.h"
#include "fabric/bootstrap/socket.h"

namespace crossdock::cli {
namespace {

Status invalid(std::string message) {
  return Status(StatusKind::kInvalidArgument, Scope::kOperation, std::move(message));
}

Status check_options(const LaunchOptions& options) {
  if (options.rank_count < 1 || options.rank_count > kRankCountMax) {
    return invalid(
        fmt::format("number of ranks {} is not in 1 .. {}", options.rank_count, kRankCountMax));
  }
  if (options.argv.empty() || options.argv.front().empty()) {
    return invalid("no program to launch");
  }
  if (options.on_stdout_line && options.output == RankOutput::kInherited) {
    return invalid("stdout cannot be both inherited and given to a function");
  }
  return {};
}

std::string make_job_secret() {
  std::array<unsigned char, 32> secret{};
  std::array<char, 2 * secret.size() + 1> text{};
  randombytes_buf(secret.data(), secret.size());
  sodium_bin2hex(text.data(), text.size(), secret.data(), secret.size());
  return text.data();
}

std::string port_of(int fd) {
  const std::string address = fabric::local_address(fd).to_string();
  return address.substr(address.rfind(':') + 1);
}

Result<FileDescriptor> listen_on_loopback() {
  CROSSDOCK_ASSIGN_OR_RETURN(const auto addresses, fabric::resolve("127.0.0.1", 0));
  return fabric::listen_on(addresses);
}

/// What every rank has in common, and what differs by rank.
class RankEnvironment {
 public:
  static Result<RankEnvironment> make(const LaunchOptions& options, int listener) {
    RankEnvironment made;
    made.listener_ = listener;
    made.common_ = process_environment();
    // Another port than the bootstrap's: a program that starts its own store there finds it free.
    CROSSDOCK_ASSIGN_OR_RETURN(const FileDescriptor free_port, listen_on_loopback());
    const std::string size = std::to_string(options.rank_count);
    made.set(made.common_, "CROSSDOCK_SIZE", size);
    made.set(made.common_, "CROSSDOCK_BOOTSTRAP", "127.0.0.1:" + port_of(listener));
    made.set(made.common_, "CROSSDOCK_JOB_SECRET", make_job_secret());
    made.set(made.common_, "CROSSDOCK_LAUNCHED", "1");
    made.set(made.common_, "WORLD_SIZE", size);
    made.set(made.common_, "LOCAL_WORLD_SIZE", size);
    made.set(made.common_, "MASTER_ADDR", "127.0.0.1");
    made.set(made.common_, "MASTER_PORT", port_of(free_port.get()));
    std::erase_if(made.common_, [](const auto& variable) {
      return variable.first == "CROSSDOCK_BOOTSTRAP_FD";  // of a launcher around this one
    });
    for (const auto& [name, value] : options.environment) {
      made.set(made.common_, name, value);
    }
    return made;
  }

  [[nodiscard]] Environment of(int rank) const {
    Environment environment = common_;
    for (const char* name : {"CROSSDOCK_RANK", "RANK", "LOCAL_RANK"}) {
      set(environment, name, std::to_string(rank));
    }
    if (rank == 0) {
      set(environment, "CROSSDOCK_BOOTSTRAP_FD", std::to_string(listener_));
    }
    return environment;
  }

 private:
  static void set(Environment& environment, std::string_view name, const std::string& value) {
    std::erase_if(environment, [&](const auto& variable) { return variable.first == name; });
    environment.emplace_back(name, value);
  }

  Environment common_;
  int listener_ = -1;
};

/// Signals that the loop handles are blocked while it runs. SIGPIPE too: a reader of ours that went
/// away must not end the launcher.
class SignalBlock {
 public:
  SignalBlock() {
    const sigset_t handled = Job::handled_signals();
    ::pthread_sigmask(SIG_BLOCK, &handled, &before_);
  }
  ~SignalBlock() {
    // One from our last write may still be pending, and would end us now.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    const timespec no_time{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      ::sigtimedwait(&broken_pipe, nullptr, &no_time);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

Status spawn_all(const LaunchOptions& options, const sigset_t& signal_mask, Job& job) {
  CROSSDOCK_ASSIGN_OR_RETURN(const auto program, find_program(options.argv.front()));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto bindings,
                             make_bindings(options.binding, options.rank_count));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto listener, listen_on_loopback());
  CROSSDOCK_ASSIGN_OR_RETURN(const auto environment,
                             RankEnvironment::make(options, listener.get()));
  for (int rank = 0; rank < options.rank_count; ++rank) {
    const auto* bound = bindings.empty() ? nullptr : &bindings[static_cast<std::size_t>(rank)];
    SpawnOptions spawn{.program = program,
                       .argv = options.argv,
                       .environment = environment.of(rank),
                       .standard_input = {},
                       .standard_output = {},
                       .standard_error = {},
                       .kept_fd = rank == 0 ? listener.get() : -1,
                       .processors = bound == nullptr ? nullptr : &bound->processors,
                       .signal_mask = signal_mask};
    if (options.verbosity == Verbosity::kVerbose) {
      job.note(fmt::format("rank {}: {}, {}", rank, program,
                           bound == nullptr ? "not bound" : "bound to " + bound->text));
    }
    CROSSDOCK_RETURN_IF_ERROR(job.add_rank(std::move(spawn)));
  }
  return {};
}

}  // namespace

Result<int> launch(const LaunchOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(check_options(options));
  if (!fabric::start_cryptography()) {
    return Status(StatusKind::kUnsupported, Scope::kProcess, "libsodium cannot start");
  }
  const StandardStreams streams;
  const SignalBlock signals;
  CROSSDOCK_ASSIGN_OR_RETURN(const auto job, Job::make(options));
  CROSSDOCK_RETURN_IF_ERROR(spawn_all(options, signals.before(), *job));
  return job->run();
}

Result<std::string> own_program() {
  std::array<char, 4096> path{};
  const ssize_t byte_count = ::readlink("/proc/self/exe", path.data(), path.size());
  if (byte_count <= 0 || byte_count == static_cast<ssize_t>(path.size())) {
    return Status(StatusKind::kIo, Scope::kOperation, "cannot find the path of this program");
  }
  return std::string(path.data(), static_cast<std::size_t>(byte_count));
}

}  // namespace crossdock::cli
