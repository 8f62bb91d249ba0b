// SPDX-License-Identifier: Apache-2.0
#include "ep/workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

namespace crossdock::ep {
namespace {

TEST(Workers, EveryItemIsDoneOnceAndSeenByTheCaller) {
  for (const int thread_count : {1, 2, 3, 7}) {
    Workers workers(thread_count, 1);
    for (const std::size_t item_count : {0U, 1U, 2U, 5U, 1000U}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<int> done(item_count);
        workers.run(item_count, 1000, [&](std::size_t first, std::size_t end) {
          for (std::size_t item = first; item < end; ++item) {
            ++done[item];
          }
        });
        EXPECT_EQ(done, std::vector<int>(item_count, 1));
      }
    }
  }
}

TEST(Workers, LittleWorkStaysWithTheCaller) {
  Workers workers(4, 100);
  EXPECT_FALSE(workers.is_worth(199));
  EXPECT_TRUE(workers.is_worth(200));
  std::vector<std::thread::id> who;
  workers.run(10, 199,
              [&](std::size_t, std::size_t) { who.push_back(std::this_thread::get_id()); });
  EXPECT_EQ(who, std::vector{std::this_thread::get_id()});
}

TEST(Workers, AForkedChildWorksAlone) {
  Workers workers(3, 1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::size_t done = 0;
    workers.run(10, 1000, [&](std::size_t first, std::size_t end) { done += end - first; });
    _exit(done == 10 && !workers.is_worth(1000) ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

TEST(Workers, UnusedOnesEndAtOnce) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Workers unused(3, 1);
  }
}

}  // namespace
}  // namespace crossdock::ep
