// SPDX-License-Identifier: Apache-2.0
// The shared fabric suite on the host backend, with ranks as threads and as processes.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <tuple>

#include "fabric/bootstrap/bootstrap.h"
#include "fabric/conformance_suite.h"
#include "fabric/shm/shm_fabric.h"

namespace crossdock::fabric {
namespace {

FabricOptions test_options(Way way) {
  FabricOptions options;
  options.timeout = std::chrono::seconds(20);
  options.way = way;
  options.queue_depth = 16;  // Small, so that rings wrap and fill all the time.
  return options;
}

void open_and_run(Bootstrap& bootstrap, Way way, const std::function<void(Fabric&)>& on_rank) {
  const Gather gather = [&](std::span<const std::byte> mine) {
    return bootstrap.all_gather(mine, Deadline::after(monotonic_clock(), std::chrono::seconds(20)));
  };
  auto fabric = ShmFabric::open(bootstrap.rank(), bootstrap.size(), gather, test_options(way));
  ASSERT_TRUE(fabric.ok()) << fabric.status().to_string();
  ASSERT_EQ((*fabric)->way(), to_string(way));
  on_rank(**fabric);
}

void run_threads(Way way, int rank_count, const std::function<void(Fabric&)>& on_rank) {
  const auto team = make_thread_team(rank_count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto bootstrap = make_thread_bootstrap(team, rank);
      open_and_run(*bootstrap, way, on_rank);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

struct Listener {
  int fd = -1;
  int port = 0;
};

Listener listen_on_loopback() {
  Listener listener;
  listener.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(listener.fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::listen(listener.fd, 64), 0);
  EXPECT_EQ(::getsockname(listener.fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  listener.port = ntohs(address.sin_port);
  return listener;
}

[[noreturn]] void run_child(TcpOptions options, const Listener& listener, Way way,
                            const std::function<void(Fabric&)>& on_rank) {
  options.port = listener.port;
  options.listener_fd = options.rank == 0 ? listener.fd : -1;
  {
    auto bootstrap =
        make_tcp_bootstrap(options, Deadline::after(monotonic_clock(), std::chrono::seconds(20)));
    EXPECT_TRUE(bootstrap.ok()) << bootstrap.status().to_string();
    if (bootstrap.ok()) {
      open_and_run(**bootstrap, way, on_rank);
    }
  }
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void run_processes(Way way, int rank_count, const std::function<void(Fabric&)>& on_rank) {
  const Listener listener = listen_on_loopback();
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (int rank = 0; rank < rank_count; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      TcpOptions options;
      options.rank = rank;
      options.size = rank_count;
      run_child(options, listener, way, on_rank);
    }
    children.push_back(pid);
  }
  ::close(listener.fd);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

using WayAndCase = std::tuple<Way, testing::ConformanceCase>;

class ShmConformance : public ::testing::TestWithParam<WayAndCase> {
 protected:
  template <typename Run>
  static void run_case(const Run& run) {
    const auto& [way, conformance_case] = GetParam();
    conformance_case.run([&](int rank_count, const std::function<void(Fabric&)>& on_rank) {
      run(way, rank_count, on_rank);
    });
  }
};

TEST_P(ShmConformance, HoldsWithRanksAsThreads) { run_case(run_threads); }
TEST_P(ShmConformance, HoldsWithRanksAsProcesses) { run_case(run_processes); }

INSTANTIATE_TEST_SUITE_P(Fabric, ShmConformance,
                         ::testing::Combine(::testing::Values(Way::kDirect, Way::kQueued),
                                            ::testing::ValuesIn(testing::conformance_cases())),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param) == Way::kDirect
                                                  ? "Direct"
                                                  : "Queued") +
                                  std::get<1>(instance.param).name;
                         });

}  // namespace
}  // namespace crossdock::fabric
