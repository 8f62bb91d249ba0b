// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crossdock {
namespace {

/// What `question` answers in a forked child.
template <typename Question>
bool ask_child(Question question) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(question() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(ForkGuard, ChildrenAndTheirChildrenKnowAndTheParentIsNotOne) {
  const ForkGuard guard;
  EXPECT_TRUE(ask_child([&] { return guard.is_child(); }));
  EXPECT_TRUE(ask_child([&] { return ask_child([&] { return guard.is_child(); }); }));
  EXPECT_FALSE(guard.is_child());
}

TEST(ForkGuard, AChildsOwnGuardIsItsOwn) {
  EXPECT_FALSE(ask_child([] { return ForkGuard().is_child(); }));
}

TEST(ForkGuard, TheErrorSaysWhatAndWhatToDo) {
  const ForkGuard guard;
  EXPECT_TRUE(guard.check("a buffer").ok());
  EXPECT_TRUE(ask_child([&] {
    return guard.check("a buffer").message() ==
           "a buffer: used after fork; the child must make its own";
  }));
}

}  // namespace
}  // namespace crossdock
