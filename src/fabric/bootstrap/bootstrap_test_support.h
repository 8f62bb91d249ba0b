// SPDX-License-Identifier: Apache-2.0
// Ranks as threads on loopback sockets, for the tests of the TCP provider.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/bootstrap/socket.h"

namespace crossdock::fabric {

inline Deadline in(Duration time) { return Deadline::after(monotonic_clock(), time); }
inline Deadline soon() { return in(std::chrono::seconds(20)); }

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A listening loopback socket and options that lead to it.
struct Meeting {
  explicit Meeting(int size, const std::string& host = "127.0.0.1",
                   std::string secret = "a test secret") {
    auto addresses = resolve(host, 0);
    auto socket = listen_on(*addresses);
    EXPECT_TRUE(socket.ok()) << socket.status().to_string();
    listener = std::move(socket).value();
    const std::string text = local_address(listener.get()).to_string();
    options.size = size;
    options.host = host;
    options.port = std::stoi(text.substr(text.rfind(':') + 1));
    options.job_secret = std::move(secret);
  }
  [[nodiscard]] TcpOptions of(int rank) const {
    TcpOptions mine = options;
    mine.rank = rank;
    mine.listener_fd = rank == 0 ? listener.get() : -1;
    return mine;
  }
  [[nodiscard]] SocketAddress address() const { return local_address(listener.get()); }

  FileDescriptor listener;
  TcpOptions options;
};

/// Runs `body(rank)` on one thread for each of `ranks`; returns what they returned, in that order.
inline std::vector<Status> run_ranks(const std::vector<int>& ranks,
                                     const std::function<Status(int)>& body) {
  std::vector<Status> results(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = body(ranks[i]); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return results;
}

inline std::vector<int> ranks_below(int size) {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(rank);
  }
  return ranks;
}

/// Three all-gathers whose blobs differ by rank and round, some empty; checks every byte.
inline Status exchange(Bootstrap& bootstrap, Deadline deadline) {
  const auto blob = [](int rank, int round) {
    return bytes_of(std::string(static_cast<std::size_t>(rank * 1000 * round), 'x') +
                    (rank + round > 1 ? std::to_string(rank * 100 + round) : ""));
  };
  for (int round = 0; round < 3; ++round) {
    auto blobs = bootstrap.all_gather(blob(bootstrap.rank(), round), deadline);
    if (!blobs.ok()) {
      return blobs.status();
    }
    EXPECT_EQ(blobs->size(), static_cast<std::size_t>(bootstrap.size()));
    for (int rank = 0; rank < bootstrap.size(); ++rank) {
      EXPECT_EQ((*blobs)[static_cast<std::size_t>(rank)], blob(rank, round))
          << "rank " << rank << " round " << round;
    }
  }
  return {};
}

}  // namespace crossdock::fabric
