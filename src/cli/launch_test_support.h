// SPDX-License-Identifier: Apache-2.0
// launch() with real processes. It runs in a forked child whose stdout and stderr are pipes, as if
// a shell had started it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cli/launch.h"
#include "cli/launch_process.h"

namespace crossdock::cli {

inline constexpr auto kPatience = std::chrono::seconds(60);

inline LaunchOptions shell(int rank_count, const std::string& script) {
  LaunchOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.rank_count = rank_count;
  options.binding = Binding::kNone;
  options.grace = std::chrono::milliseconds(200);
  return options;
}

struct Outcome {
  int exit_code = -1;  // 128 + signal when the launcher itself was killed
  std::string out;
  std::string err;
};

enum class StreamState : std::uint8_t { kOpen, kClosed };

/// A launcher in a process of its own.
class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options, StreamState standard_input = StreamState::kOpen) {
    auto out = make_pipe();
    auto err = make_pipe();
    process_id_ = ::fork();
    if (process_id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(out->write_end.get(), STDOUT_FILENO);
      ::dup2(err->write_end.get(), STDERR_FILENO);
      *out = Pipe();  // Nobody else may hold the ends, else nobody sees the other side close.
      *err = Pipe();
      if (standard_input == StreamState::kClosed) {
        ::close(STDIN_FILENO);
      }
      ::_exit(run(options));
    }
    out_ = std::move(out->read_end);
    err_ = std::move(err->read_end);
  }
  ~Launcher() {
    if (process_id_ > 0) {
      ::kill(process_id_, SIGKILL);
      ::waitpid(process_id_, nullptr, 0);
    }
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void signal(int signal_number) const { ::kill(process_id_, signal_number); }
  void close_stdout() { out_.reset(); }
  [[nodiscard]] pid_t process_id() const { return process_id_; }
  /// Stdout as far as it was read.
  [[nodiscard]] const std::string& seen() const { return outcome_.out; }

  /// Until stdout holds `count` lines that contain `text`.
  [[nodiscard]] bool wait_for(const std::string& text, int count = 1) {
    const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
    while (occurrences(outcome_.out, text) < count) {
      if (deadline.expired(monotonic_clock().now()) || !read_more()) {
        return false;
      }
    }
    return true;
  }

  Outcome finish() {
    const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
    while (read_more() && !deadline.expired(monotonic_clock().now())) {
    }
    int status = 0;
    ::waitpid(process_id_, &status, 0);
    process_id_ = -1;
    outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome_;
  }

  static int occurrences(const std::string& text, const std::string& wanted) {
    int count = 0;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  static int run(const LaunchOptions& options) {
    const auto result = launch(options);
    if (result.ok()) {
      return *result;
    }
    std::cerr << result.status().message() << '\n' << std::flush;
    return result.status().kind() == StatusKind::kInvalidArgument ? 2 : 3;
  }

  /// False once both streams ended.
  bool read_more() {
    std::array<pollfd, 2> events = {{{.fd = out_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = err_.get(), .events = POLLIN, .revents = 0}}};
    ::poll(events.data(), events.size(), 1000);
    read_stream(out_, outcome_.out);
    read_stream(err_, outcome_.err);
    return out_.valid() || err_.valid();
  }

  static void read_stream(FileDescriptor& from, std::string& into) {
    std::array<char, 65536> bytes{};
    const ssize_t count = from.valid() ? ::read(from.get(), bytes.data(), bytes.size()) : -1;
    if (count > 0) {
      into.append(bytes.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      from.reset();
    }
  }

  pid_t process_id_ = -1;
  FileDescriptor out_;
  FileDescriptor err_;
  Outcome outcome_;
};

inline Outcome run_launch(const LaunchOptions& options) { return Launcher(options).finish(); }

inline std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The state letter of /proc/PID/stat: 'R', 'S', 'T' (stopped) ...; '?' when there is none.
inline char process_state(pid_t process_id) {
  std::ifstream stat("/proc/" + std::to_string(process_id) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto end_of_name = text.rfind(')');
  return end_of_name == std::string::npos ? '?' : text.at(end_of_name + 2);
}

/// The numbers that follow `label` in `text`.
inline std::vector<pid_t> numbers_after(const std::string& text, const std::string& label) {
  std::vector<pid_t> numbers;
  for (auto at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
    numbers.push_back(std::stoi(text.substr(at + label.size())));
  }
  return numbers;
}

/// Whether `is_gone` comes true; orphans come to us (see main) and are reaped meanwhile.
inline bool becomes_true(const std::function<bool()>& is_gone) {
  const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
  while (!is_gone()) {
    if (deadline.expired(monotonic_clock().now())) {
      return false;
    }
    ::waitpid(-1, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline bool group_is_gone(pid_t group) {
  return becomes_true([&] { return ::kill(-group, 0) != 0 && errno == ESRCH; });
}

inline double seconds_since(Instant start) {
  return std::chrono::duration<double>(monotonic_clock().now() - start).count();
}

}  // namespace crossdock::cli
