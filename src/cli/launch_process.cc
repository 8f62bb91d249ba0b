// SPDX-License-Identifier: Apache-2.0
// Between fork and exec only async-signal-safe calls are made: the launcher may have threads.
#include "cli/launch_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/launch.h"

namespace crossdock::cli {
namespace {

std::string describe(int error) { return std::generic_category().message(error); }

Status system_error(std::string_view what) {
  const int error = errno;
  return Status(StatusKind::kIo, Scope::kOperation,
                fmt::format("cannot start ranks: {}: {}", what, describe(error)));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Everything that the child needs, made before fork so that the child allocates nothing.
struct ChildPlan {
  const SpawnOptions* options;
  char* const* argv;
  char* const* environment;
  pid_t launcher;
  int report_fd;
};

[[noreturn]] void fail_child(int report_fd) {
  const int error = errno;
  // Nobody can be told when even this write fails; the exit code says so too.
  [[maybe_unused]] const ssize_t count = ::write(report_fd, &error, sizeof(error));
  ::_exit(127);
}

bool redirect(const FileDescriptor& from, int to) {
  return !from.valid() || ::dup2(from.get(), to) >= 0;
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  const SpawnOptions& options = *plan.options;
  if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    fail_child(plan.report_fd);
  }
  if (::getppid() != plan.launcher) {
    ::_exit(127);  // The launcher died before prctl: no signal comes any more.
  }
  const bool ready =
      redirect(options.standard_input, STDIN_FILENO) &&
      redirect(options.standard_output, STDOUT_FILENO) &&
      redirect(options.standard_error, STDERR_FILENO) &&
      (options.kept_fd < 0 || ::fcntl(options.kept_fd, F_SETFD, 0) == 0) &&
      (options.processors == nullptr ||
       ::sched_setaffinity(0, sizeof(*options.processors), options.processors) == 0) &&
      ::sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr) == 0;
  if (ready) {
    ::execve(options.program.c_str(), plan.argv, plan.environment);
  }
  fail_child(plan.report_fd);
}

/// The child's errno, or 0 once it runs its program (which closes the pipe).
int read_report(int fd) {
  for (;;) {
    int error = 0;
    const ssize_t count = ::read(fd, &error, sizeof(error));
    if (count == static_cast<ssize_t>(sizeof(error))) {
      return error;
    }
    if (count >= 0 || errno != EINTR) {
      return count < 0 ? errno : 0;
    }
  }
}

[[noreturn]] void run_guard(int lifeline) {
  // A session of its own, so that what is sent to the launcher's group or terminal misses it. It
  // must hold nobody's pipe open, least of all the writing end of its own.
  ::setsid();
  ::dup2(lifeline, STDIN_FILENO);
  ::close_range(STDOUT_FILENO, ~0U, 0);
  std::array<pid_t, kRankCountMax + 1> groups;  // One more than there can be: never full.
  std::size_t group_count = 0;
  while (group_count < groups.size()) {
    const ssize_t count = ::read(STDIN_FILENO, &groups[group_count], sizeof(pid_t));
    if (count == static_cast<ssize_t>(sizeof(pid_t))) {
      ++group_count;
    } else if (count >= 0 || errno != EINTR) {
      break;  // The launcher is gone.
    }
  }
  for (std::size_t i = 0; i < group_count; ++i) {
    ::kill(-groups[i], SIGKILL);
  }
  ::_exit(0);
}

/// By number, for glibc 2.36's header declares pidfd_open() without C linkage.
int open_pidfd(pid_t process_id) {
  return static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0));
}

bool is_runnable(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

Status not_found(const std::string& name, std::string_view why) {
  return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                fmt::format("cannot run {}: {}", quote(name), why));
}

}  // namespace

StandardStreams::StandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      opened_.emplace_back(::open("/dev/null", O_RDWR));  // Gets the lowest free number: fd.
    }
  }
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_runnable(name)) {
      return name;
    }
    const bool exists = ::access(name.c_str(), F_OK) == 0;
    return not_found(name, exists ? "not an executable file" : "no such file");
  }
  const std::string path = environment_variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  std::size_t start = 0;
  while (!name.empty() && start <= path.size()) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string folder = path.substr(start, end - start);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_runnable(candidate)) {
      return candidate;
    }
    start = end + 1;
  }
  return not_found(name, "no such program in PATH");
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_error("pipe");
  }
  Pipe pipe{.read_end = FileDescriptor(ends[0]), .write_end = FileDescriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return system_error("pipe");
  }
  return pipe;
}

Result<RankProcess> spawn_rank(SpawnOptions options) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) {
    variables.push_back(fmt::format("{}={}", name, value));
  }
  const auto argv = pointers_to(options.argv);
  const auto environment = pointers_to(variables);
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    return system_error("pipe");
  }
  const FileDescriptor report_read(report[0]);
  FileDescriptor report_write(report[1]);
  const ChildPlan plan{.options = &options,
                       .argv = argv.data(),
                       .environment = environment.data(),
                       .launcher = ::getpid(),
                       .report_fd = report[1]};
  const pid_t child = ::fork();
  if (child == 0) {
    run_child(plan);
  }
  if (child < 0) {
    return system_error("fork");
  }
  report_write.reset();
  const int error = read_report(report_read.get());
  RankProcess rank{.process_id = child, .pidfd = FileDescriptor(open_pidfd(child))};
  if (error == 0 && rank.pidfd.valid()) {
    return rank;
  }
  const Status status =
      error != 0 ? not_found(options.program, describe(error)) : system_error("pidfd_open");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return status;
}

Result<Guard> Guard::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_error("pipe");
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return system_error("fork");
  }
  if (child == 0) {
    run_guard(read_end.get());
  }
  return Guard(child, std::move(write_end));
}

Status Guard::watch(pid_t process_group) {
  // Shorter than PIPE_BUF, so it is written whole.
  const ssize_t count = ::write(lifeline_.get(), &process_group, sizeof(process_group));
  return count == static_cast<ssize_t>(sizeof(process_group)) ? Status() : system_error("guard");
}

Guard::Guard(pid_t process_id, FileDescriptor lifeline)
    : process_id_(process_id), lifeline_(std::move(lifeline)) {}

Guard::Guard(Guard&& other) noexcept
    : process_id_(std::exchange(other.process_id_, -1)), lifeline_(std::move(other.lifeline_)) {}

Guard::~Guard() {
  if (process_id_ > 0) {
    ::kill(process_id_, SIGKILL);
    ::waitpid(process_id_, nullptr, 0);
  }
}

}  // namespace crossdock::cli
