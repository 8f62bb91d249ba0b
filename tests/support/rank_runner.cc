// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rank_runner.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

namespace crossdock::testing {
namespace {

constexpr std::size_t kBlobBytes = 4096;
constexpr std::size_t kMessageBytes = 512;
constexpr int kRanksMax = 64;

// Anonymous shared memory through which forked ranks meet and leave messages.
struct Board {
  std::atomic<std::uint64_t> arrived;
  std::array<std::array<std::size_t, kRanksMax>, 2> blob_bytes;
  std::array<std::array<std::array<std::byte, kBlobBytes>, kRanksMax>, 2> blobs;
  std::array<std::array<char, kMessageBytes>, kRanksMax> messages;
};

Board* current_board = nullptr;

// An all-gather over the board; two halves, since a fast rank may be one gather ahead.
Result<std::vector<std::vector<std::byte>>> gather(Board& board, int rank, int size,
                                                   std::uint64_t& generation,
                                                   std::span<const std::byte> mine) {
  const std::size_t half = generation % 2;
  if (mine.size() > kBlobBytes) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess, "blob too large for the board");
  }
  std::copy(mine.begin(), mine.end(), board.blobs[half][static_cast<std::size_t>(rank)].begin());
  board.blob_bytes[half][static_cast<std::size_t>(rank)] = mine.size();
  board.arrived.fetch_add(1);
  ++generation;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (board.arrived.load() < generation * static_cast<std::uint64_t>(size)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Status(StatusKind::kTimeout, Scope::kProcess, "ranks did not meet");
    }
    ::sched_yield();
  }
  std::vector<std::vector<std::byte>> all;
  for (std::size_t peer = 0; peer < static_cast<std::size_t>(size); ++peer) {
    const auto& blob = board.blobs[half][peer];
    all.emplace_back(blob.begin(),
                     blob.begin() + static_cast<std::ptrdiff_t>(board.blob_bytes[half][peer]));
  }
  return all;
}

[[noreturn]] void run_child(Board& board, int rank, int rank_count, const RankFunction& function,
                            const RunOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::uint64_t generation = 0;
  CommunicatorOptions chosen = options.communicator;
  chosen.rank = rank;
  chosen.size = rank_count;
  chosen.all_gather = [&](std::span<const std::byte> mine) {
    return gather(board, rank, rank_count, generation, mine);
  };
  int code = 0;
  {
    auto communicator = Communicator::open(chosen);
    EXPECT_TRUE(communicator.ok()) << communicator.status().to_string();
    if (communicator.ok()) {
      try {
        function(*communicator);
      } catch (const std::exception& error) {
        code = 3;
      }
    }
  }
  code = ::testing::Test::HasFailure() ? 1 : code;
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

RankProcesses::RankProcesses(int rank_count, const RankFunction& function,
                             const RunOptions& options) {
  board_bytes_ = sizeof(Board);
  board_ = ::mmap(nullptr, board_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(board_, MAP_FAILED);
  current_board = static_cast<Board*>(board_);
  std::fflush(nullptr);
  for (int rank = 0; rank < rank_count; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_child(*static_cast<Board*>(board_), rank, rank_count, function, options);
    }
    pids_.push_back(pid);
    exit_codes_.push_back(-1);
  }
}

RankProcesses::~RankProcesses() {
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
    if (exit_codes_[rank] < 0) {
      ::kill(pids_[rank], SIGKILL);
      ::waitpid(pids_[rank], nullptr, 0);
    }
  }
  ::munmap(board_, board_bytes_);
}

void RankProcesses::send_signal(int rank, int signal) const { ::kill(pid(rank), signal); }

int RankProcesses::wait_exit(int rank) {
  int& code = exit_codes_[static_cast<std::size_t>(rank)];
  if (code < 0) {
    int status = 0;
    ::waitpid(pid(rank), &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code;
}

std::string RankProcesses::said(int rank) const {
  const auto& message = static_cast<const Board*>(board_)->messages[static_cast<std::size_t>(rank)];
  return {message.data(), ::strnlen(message.data(), message.size())};
}

void RankProcesses::say(Communicator& communicator, const std::string& message) {
  say(communicator.rank(), message);
}

void RankProcesses::say(int rank, const std::string& message) {
  auto& room = current_board->messages[static_cast<std::size_t>(rank)];
  const std::size_t length = std::min(message.size(), room.size() - 1);
  std::copy_n(message.begin(), length, room.begin());
  room[length] = '\0';
}

namespace {

void run_threads(int rank_count, const RankFunction& function, const RunOptions& options) {
  const ThreadTeam team(rank_count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&, rank] {
      auto communicator = Communicator::open(team, rank, options.communicator);
      EXPECT_TRUE(communicator.ok()) << communicator.status().to_string();
      if (communicator.ok()) {
        function(*communicator);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace

void run_ranks(int rank_count, const RankFunction& function, const RunOptions& options) {
  if (options.kind == RankKind::kThreads) {
    run_threads(rank_count, function, options);
    return;
  }
  RankProcesses processes(rank_count, function, options);
  for (int rank = 0; rank < rank_count; ++rank) {
    EXPECT_EQ(processes.wait_exit(rank), 0) << "rank " << rank << ": " << processes.said(rank);
  }
}

}  // namespace crossdock::testing
