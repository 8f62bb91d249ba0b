// SPDX-License-Identifier: Apache-2.0
// Checks for programmer errors: always on, and they print the values. What the environment or a
// peer can cause is a Status, never a check. Thread rule: everything here may be called from any
// thread; the rank label is per thread, because ranks may be threads of one process.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace crossdock {

/// The rank that checks and log lines of this thread show; -1 (shown as "?") until set.
void set_check_rank(int rank);
[[nodiscard]] int check_rank();

namespace internal {

/// Prints "[rank N] file:line: check failed: expression: values" to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, std::string_view expression,
                               std::string_view values);

// Formatting is out of the way of the good path: the compiler keeps this call in a cold section.
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void check_failed_with(const char* file, int line,
                                                              std::string_view expression,
                                                              fmt::format_string<Args...> format,
                                                              Args&&... args) {
  check_failed(file, line, expression, fmt::format(format, static_cast<Args&&>(args)...));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void check_failed_with(const char* file, int line,
                                                                     std::string_view expression) {
  check_failed(file, line, expression, {});
}

}  // namespace internal
}  // namespace crossdock

/// CROSSDOCK_CHECK(a <= b) or CROSSDOCK_CHECK(a <= b, "tokens {} capacity {}", a, b).
#define CROSSDOCK_CHECK(expression, ...)                              \
  (__builtin_expect(static_cast<bool>(expression), 1)                 \
       ? static_cast<void>(0)                                         \
       : ::crossdock::internal::check_failed_with(__FILE__, __LINE__, \
                                                  #expression __VA_OPT__(, ) __VA_ARGS__))

/// For inner loops: gone when NDEBUG is defined, but still compiled so that it cannot rot.
#ifdef NDEBUG
#define CROSSDOCK_DCHECK(expression, ...) \
  static_cast<void>(sizeof(static_cast<bool>(expression) ? 1 : 0))
#else
#define CROSSDOCK_DCHECK(expression, ...) CROSSDOCK_CHECK(expression __VA_OPT__(, ) __VA_ARGS__)
#endif
