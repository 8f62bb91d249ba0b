// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hurt_self.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace crossdock::testing {
namespace {

/// What a fault may use.
struct Scene {
  ElasticBuffer& buffer;
  const Dispatched& dispatched;
  const DispatchInput& input;
};

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void take_memory(Scene& /*scene*/) {
  constexpr std::size_t kBlock = std::size_t{16} << 20;
  for (int block = 0; block < 64; ++block) {  // 1 GiB at most: its cgroup has far less.
    std::memset(std::malloc(kBlock), 1, kBlock);
  }
}

void end_in_children(Scene& /*scene*/) {
  for (const bool by_exit : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) {
      by_exit ? std::exit(0) : ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
}

void use_in_child(Scene& scene) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Status status = scene.buffer.dispatch(scene.input).status();
    say(fmt::format("child: {} {}", to_string(status.kind()), status.message()));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void take_descriptors(Scene& /*scene*/) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  int taken = 0;
  while (taken < 20000 && ::open("/dev/null", O_RDONLY) >= 0) {
    ++taken;
  }
  say(fmt::format("took {} descriptors", taken));
}

/// The mapping that `address` lies in.
std::pair<std::byte*, std::size_t> mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && begin <= wanted &&
        wanted < end) {
      return {reinterpret_cast<std::byte*>(begin), end - begin};
    }
  }
  return {nullptr, 0};
}

void scribble(Scene& scene) {
  const auto [begin, byte_count] = mapping_of(scene.dispatched.rows);
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  const std::size_t limit = std::min<std::size_t>(byte_count, std::size_t{64} << 10);
  for (std::size_t offset = 0; offset < limit; ++offset) {
    begin[offset] = static_cast<std::byte>(random());
  }
}

const std::map<std::string_view, std::function<void(Scene&)>>& all_faults() {
  static const std::map<std::string_view, std::function<void(Scene&)>> faults = {
      {"exit", [](Scene&) { std::exit(0); }},
      {"_exit", [](Scene&) { ::_exit(0); }},
      {"throw", [](Scene&) { throw std::runtime_error("a fault of the test"); }},
      {"abort", [](Scene&) { std::abort(); }},
      {"segv", [](Scene&) { ::raise(SIGSEGV); }},
      {"interrupt", [](Scene&) { ::raise(SIGINT); }},
      {"terminate", [](Scene&) { ::raise(SIGTERM); }},
      {"sleep2", [](Scene&) { ::usleep(2'000'000); }},
      {"memory", take_memory},
      {"fork", end_in_children},
      {"fork_use", use_in_child},
      {"descriptors", take_descriptors},
      {"scribble", scribble}};
  return faults;
}

}  // namespace

SelfFault parse_self_fault(std::string_view text) {
  SelfFault fault;
  if (text.empty()) {
    return fault;
  }
  const std::size_t at = text.find('@');
  const std::size_t colon = text.find(':');
  if (at != std::string_view::npos && colon != std::string_view::npos &&
      all_faults().contains(text.substr(0, at))) {
    fault.what = text.substr(0, at);
    std::from_chars(text.data() + at + 1, text.data() + colon, fault.rank);
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), fault.round);
    return fault;
  }
  say(fmt::format("fault {} is none; allowed: WHAT@RANK:ROUND", text));
  std::exit(2);
}

void hurt_self(std::string_view what, ElasticBuffer& buffer, const Dispatched& dispatched,
               const DispatchInput& input) {
  say(fmt::format("hurts itself at_ns {}",
                  std::chrono::steady_clock::now().time_since_epoch().count()));
  Scene scene{buffer, dispatched, input};
  all_faults().at(what)(scene);
}

}  // namespace crossdock::testing
