// SPDX-License-Identifier: Apache-2.0
// What a job may have left on the host, and programs that a test starts and hurts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace crossdock::testing {

/// Polls until `is_true()` or the patience ends; false: it never was.
bool becomes_true(const std::function<bool()>& is_true,
                  std::chrono::nanoseconds patience = std::chrono::seconds(30));

/// CLOCK_MONOTONIC, comparable between the processes of a host.
std::int64_t monotonic_ns();
/// Milliseconds from `start_ns` to now.
double milliseconds_since(std::int64_t start_ns);

/// While it lives: orphans of this process's children come to this process, and, where the system
/// allows, its future children see only their own sockets.
class JobWatch {
 public:
  JobWatch();
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  /// After the test reaped its own children: fails the test when a process, a name in /dev/shm, an
  /// abstract socket or much shared memory is left.
  void expect_nothing_left();

 private:
  bool has_own_network_ = false;
  int host_network_fd_ = -1;
  std::set<std::string> files_before_;
  std::int64_t shared_kib_before_ = 0;
};

/// Abstract unix sockets of this library that this thread's network namespace shows.
std::vector<std::string> abstract_sockets();

/// A program in a process of its own; stdout and stderr come together.
class ChildProgram {
 public:
  explicit ChildProgram(const std::vector<std::string>& argv);
  ~ChildProgram();  // kills
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  /// Everything that it wrote up to now.
  const std::string& read_available();
  /// Until `text` occurred `count` times; false when the program ended or patience did.
  bool wait_for_text(const std::string& text, int count = 1);
  /// Blocks, reading: the exit code, or 128 + signal.
  int wait_exit();
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int read_fd_ = -1;
  int exit_code_ = -1;
  std::string output_;
};

/// The numbers that follow each occurrence of `label`.
std::vector<std::int64_t> numbers_after(const std::string& text, const std::string& label);
/// Lines that contain `part`.
std::vector<std::string> lines_with(const std::string& text, const std::string& part);
int occurrences(const std::string& text, const std::string& part);

/// From TEST_SEED, else from the clock; printed.
std::uint64_t test_seed();

}  // namespace crossdock::testing
