// SPDX-License-Identifier: Apache-2.0
#include "base/helper_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace crossdock {
namespace {

TEST(HelperThread, RunsItsBodyWithAllSignalsBlocked) {
  sigset_t inside;
  ::sigemptyset(&inside);
  HelperThread thread;
  EXPECT_FALSE(thread.is_started());
  ASSERT_TRUE(
      thread.start("xd-test", [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).ok());
  EXPECT_TRUE(thread.is_started());
  thread.join();
  thread.join();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    EXPECT_EQ(::sigismember(&inside, signal), 1) << signal;
  }
  sigset_t here;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
  EXPECT_EQ(::sigismember(&here, SIGINT), 0) << "the maker's mask is as it was";
}

TEST(HelperThread, AForkedChildLetsGoOfIt) {
  std::atomic<bool> may_end{false};
  HelperThread thread;
  ASSERT_TRUE(thread.start("xd-test", [&] { may_end.wait(false); }).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // A hang is death by SIGALRM.
    const bool knows = thread.is_orphan();
    thread.join();
    ::_exit(knows && !thread.is_started() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(thread.is_orphan());
  may_end = true;
  may_end.notify_all();
}

}  // namespace
}  // namespace crossdock
