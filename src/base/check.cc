// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock {
namespace {

thread_local int check_rank_of_thread = -1;

}  // namespace

void set_check_rank(int rank) { check_rank_of_thread = rank; }

int check_rank() { return check_rank_of_thread; }

namespace internal {

void check_failed(const char* file, int line, std::string_view expression,
                  std::string_view values) {
  const std::string rank = check_rank() < 0 ? "?" : std::to_string(check_rank());
  const std::string text = fmt::format("[rank {}] {}:{}: check failed: {}{}{}\n", rank, file, line,
                                       expression, values.empty() ? "" : ": ", values);
  // One write, so that lines of several ranks do not mix.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::abort();
}

void value_of_error(const Status& status) {
  check_failed("crossdock/status.h", 0, "Result::value() of a Result that holds an error",
               status.to_string());
}

}  // namespace internal
}  // namespace crossdock
