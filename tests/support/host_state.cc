// SPDX-License-Identifier: Apache-2.0
#include "tests/support/host_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

namespace crossdock::testing {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(2);

std::set<std::string> shared_files() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find("crossdock") != std::string::npos || name.find("xdock") != std::string::npos) {
      names.insert(name);
    }
  }
  return names;
}

std::int64_t shared_kib() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    std::int64_t value = 0;
    if (fields >> name >> value && name == "Shmem:") {
      return value;
    }
  }
  return 0;
}

// A fresh network namespace has its loopback down.
void raise_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::string("lo").copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) {
    std::cout << "loopback stays down\n";
  }
  ::close(socket);
}

}  // namespace

bool becomes_true(const std::function<bool()>& is_true, std::chrono::nanoseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(kPollEvery);
  }
  return true;
}

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double milliseconds_since(std::int64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) / 1e6;
}

JobWatch::JobWatch() : files_before_(shared_files()), shared_kib_before_(shared_kib()) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  host_network_fd_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  has_own_network_ = host_network_fd_ >= 0 && ::unshare(CLONE_NEWNET) == 0;
  if (has_own_network_) {
    raise_loopback();
  }
}

JobWatch::~JobWatch() {
  if (has_own_network_) {
    ::setns(host_network_fd_, CLONE_NEWNET);
  }
  ::close(host_network_fd_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

void JobWatch::expect_nothing_left() {
  // Orphans were adopted, so "no child" means that every process of the job is gone.
  EXPECT_TRUE(becomes_true([] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  })) << "a process is left";
  for (const std::string& name : shared_files()) {
    EXPECT_TRUE(files_before_.contains(name)) << "/dev/shm/" << name << " is left";
  }
  if (has_own_network_) {  // Else other jobs of the host show their sockets too.
    EXPECT_TRUE(becomes_true([] { return abstract_sockets().empty(); }))
        << abstract_sockets().front() << " is left";
  }
  // Other jobs come and go: only memory that stays counts.
  constexpr std::int64_t kOthersKib = 64 << 10;
  EXPECT_TRUE(becomes_true([&] { return shared_kib() <= shared_kib_before_ + kOthersKib; }))
      << "Shmem was " << shared_kib_before_ << " KiB, is " << shared_kib() << " KiB";
}

std::vector<std::string> abstract_sockets() {
  std::ifstream file("/proc/thread-self/net/unix");
  std::vector<std::string> names;
  std::string line;
  while (std::getline(file, line)) {
    if (const auto at = line.find("@xdock-"); at != std::string::npos) {
      names.push_back(line.substr(at));
    }
  }
  return names;
}

ChildProgram::ChildProgram(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::cout.flush();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  read_fd_ = ends[0];
  ::fcntl(read_fd_, F_SETFL, O_NONBLOCK);
}

ChildProgram::~ChildProgram() {
  if (exit_code_ < 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(read_fd_);
}

void ChildProgram::send_signal(int signal) const { ::kill(pid_, signal); }

const std::string& ChildProgram::read_available() {
  std::array<char, 4096> bytes;
  ssize_t count = 0;
  while ((count = ::read(read_fd_, bytes.data(), bytes.size())) > 0) {
    output_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return output_;
}

bool ChildProgram::wait_for_text(const std::string& text, int count) {
  bool is_there = false;
  const bool ended_well = becomes_true([&] {
    int status = 0;
    const bool ended = exit_code_ < 0 && ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (ended) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    is_there = occurrences(read_available(), text) >= count;
    return is_there || exit_code_ >= 0;
  });
  return ended_well && is_there;
}

int ChildProgram::wait_exit() {
  const bool ended = becomes_true(
      [&] {
        read_available();
        int status = 0;
        if (exit_code_ < 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
          exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        return exit_code_ >= 0;
      },
      std::chrono::seconds(90));
  EXPECT_TRUE(ended) << "pid " << pid_ << " does not end; it wrote:\n" << output_;
  read_available();
  return exit_code_;
}

std::vector<std::int64_t> numbers_after(const std::string& text, const std::string& label) {
  std::vector<std::int64_t> numbers;
  for (auto at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
    const char* begin = text.data() + at + label.size();
    std::int64_t number = 0;
    if (std::from_chars(begin, text.data() + text.size(), number).ec == std::errc{}) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(part) != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::uint64_t test_seed() {
  const char* given = std::getenv("TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "repeat with TEST_SEED=" << seed << "\n";
  return seed;
}

}  // namespace crossdock::testing
