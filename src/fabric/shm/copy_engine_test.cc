// SPDX-License-Identifier: Apache-2.0
// The copy engine alone: errors with status, its end, idleness, forked children.
#include "fabric/shm/copy_engine.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace crossdock::fabric {
namespace {

// A window of one rank in plain memory.
class PlainWindow final : public Window {
 public:
  explicit PlainWindow(std::size_t size) : words_(size / 8) {}
  [[nodiscard]] std::size_t byte_count() const override { return words_.size() * 8; }
  [[nodiscard]] std::span<std::byte> local() override {
    return std::as_writable_bytes(std::span(words_));
  }
  [[nodiscard]] std::span<std::byte> peer(RankId /*rank*/) override { return local(); }
  [[nodiscard]] std::string describe() const override { return "plain"; }
  [[nodiscard]] std::uint64_t word(std::size_t index) const { return words_[index]; }

 private:
  std::vector<std::uint64_t> words_;
};

std::shared_ptr<CopyEngine> start_engine(std::uint64_t depth = 8) {
  auto engine = CopyEngine::start({.rank = 0, .queue_count = 2, .queue_depth = depth});
  EXPECT_TRUE(engine.ok()) << engine.status().to_string();
  return std::move(engine).value();
}

void post(CopyEngine::Lane& lane, const Request& request) {
  const auto taken = lane.ring().try_reserve(1);
  ASSERT_TRUE(taken);
  lane.ring().write(taken->begin, request);
  lane.ring().mark_done(taken->begin);
}

Request value_request(Window& window, std::uint64_t offset, std::uint64_t value) {
  return {.to = {&window, offset}, .value = value, .kind = RequestKind::kValue};
}

std::string task_of(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::ifstream(task.path() / "comm") >> found;
    if (found == name) {
      return task.path();
    }
  }
  return {};
}

TEST(CopyEngine, ARequestOutsideItsWindowFailsItsQueueAndNoOther) {
  const auto engine = start_engine();
  PlainWindow window(64);
  CopyEngine::Lane& bad = engine->lane(RankId{0});
  CopyEngine::Lane& good = engine->lane(RankId{1});
  post(bad, value_request(window, 0, 1));
  post(bad, value_request(window, 64, 2));
  post(bad, value_request(window, 8, 3));
  post(good, value_request(window, 16, 4));
  engine->quiesce();
  EXPECT_EQ(window.word(0), 1U);
  EXPECT_EQ(window.word(1), 0U) << "nothing is performed behind a failure";
  EXPECT_EQ(window.word(2), 4U);
  EXPECT_EQ(bad.ring().completed(), 3U) << "nobody may wait for a slot";
  EXPECT_TRUE(good.failure().ok());
  const Status failure = bad.failure();
  EXPECT_EQ(failure.kind(), StatusKind::kInternal);
  EXPECT_EQ(failure.message(),
            "request 1 to rank 0: value of 8 bytes at 64 in a window of 64; allowed: inside, a "
            "multiple of 8");
}

TEST(CopyEngine, OddAddressesAndMissingWindowsAreErrorsToo) {
  std::array<std::byte, 16> source{};
  PlainWindow window(64);
  const std::vector<Request> requests = {
      value_request(window, 4, 1),
      {.value = 1, .kind = RequestKind::kSignal},
      {.to = {&window, ~std::uint64_t{7}}, .value = 1, .kind = RequestKind::kSignal},
      {.to = {&window, 56}, .from = source.data(), .byte_count = 16, .kind = RequestKind::kPut}};
  for (const Request& request : requests) {
    const auto engine = start_engine();
    post(engine->lane(RankId{0}), request);
    engine->quiesce();
    EXPECT_FALSE(engine->lane(RankId{0}).failure().ok());
  }
}

TEST(CopyEngine, StopPerformsWhatWasPostedAndMayBeCalledAgain) {
  const auto engine = start_engine();
  PlainWindow window(64);
  post(engine->lane(RankId{0}), value_request(window, 0, 7));  // The doorbell was not rung.
  engine->stop();
  engine->stop();
  EXPECT_EQ(window.word(0), 7U);
}

// Idle, the thread is asleep in the kernel: it earns no processor time and no wake-ups.
TEST(CopyEngine, AnIdleEngineTakesNoProcessorTime) {
  const auto engine = start_engine();
  PlainWindow window(64);
  post(engine->lane(RankId{0}), value_request(window, 0, 7));
  engine->quiesce();
  const std::string task = task_of("xd-copy-0");
  ASSERT_FALSE(task.empty());
  const auto switches = [&] {
    std::ifstream status(task + "/status");
    std::string line;
    std::string sum;
    while (std::getline(status, line)) {
      if (line.find("ctxt_switches") != std::string::npos || line.starts_with("State")) {
        sum += line + "\n";
      }
    }
    return sum;
  };
  const Deadline asleep_by = Deadline::after(monotonic_clock(), std::chrono::seconds(10));
  while (switches().find("S (sleeping)") == std::string::npos) {
    ASSERT_FALSE(asleep_by.expired(monotonic_clock().now())) << switches();
    std::this_thread::yield();
  }
  const std::string before = switches();
  const Deadline until = Deadline::after(monotonic_clock(), std::chrono::milliseconds(50));
  while (!until.expired(monotonic_clock().now())) {
    std::this_thread::yield();
  }
  EXPECT_EQ(switches(), before);
}

TEST(CopyEngine, LeavesSignalsToTheProgramsThreads) {
  const auto engine = start_engine();
  engine->quiesce();
  std::ifstream status(task_of("xd-copy-0") + "/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("SigBlk:")) {
  }
  const std::uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
    EXPECT_NE(blocked >> (signal - 1) & 1, 0U) << signal;
  }
}

// A child has the ring but not the thread. Nothing in it may wait for the thread.
TEST(CopyEngine, AForkedChildNeverWaitsForTheParentsThread) {
  auto engine = start_engine();
  PlainWindow window(64);
  post(engine->lane(RankId{0}), value_request(window, 0, 7));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // A hang is death by SIGALRM.
    const bool knows = engine->is_orphan();
    engine->quiesce();
    engine->stop();
    engine.reset();
    ::_exit(knows ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(engine->is_orphan());
  engine->quiesce();
  EXPECT_EQ(window.word(0), 7U) << "the child did not disturb its parent";
}

}  // namespace
}  // namespace crossdock::fabric
