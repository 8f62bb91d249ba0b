// SPDX-License-Identifier: Apache-2.0
// Any text through every parser and as the value and the name of a setting: no crash, and every
// error is one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/parse.h"
#include "base/settings.h"

namespace crossdock {
namespace {

void expect_one_line(const Status& status) {
  CROSSDOCK_CHECK(status.ok() || !status.message().empty());
  CROSSDOCK_CHECK(status.message().find('\n') == std::string_view::npos, "{}", status.message());
}

void fuzz_parsers(std::string_view text) {
  expect_one_line(parse_int64(text).status());
  expect_one_line(parse_uint64(text).status());
  expect_one_line(parse_double(text).status());
  expect_one_line(parse_bool(text).status());
  expect_one_line(parse_seconds(text).status());
  expect_one_line(parse_byte_size(text).status());
  expect_one_line(parse_rank_token(text).status());
  expect_one_line(parse_host_port(text).status());
  expect_one_line(parse_int64_list(text).status());
}

void fuzz_settings(std::string_view text) {
  for (const char* const name :
       {"CROSSDOCK_TIMEOUT", "CROSSDOCK_SPINS", "CROSSDOCK_MEMORY_BUDGET", "CROSSDOCK_HUGE_PAGES",
        "CROSSDOCK_TRACE", "CROSSDOCK_RANK", "CROSSDOCK_BOOTSTRAP"}) {
    const Environment environment = {{name, std::string(text)}};
    expect_one_line(parse_settings(environment).status());
    CROSSDOCK_CHECK(!render_settings(environment).empty());
  }
  const Environment unknown = {{"CROSSDOCK_" + std::string(text), ""}};
  for (const std::string& warning : unknown_setting_warnings(unknown)) {
    CROSSDOCK_CHECK(warning.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), byte_count);
  crossdock::fuzz_parsers(text);
  crossdock::fuzz_settings(text);
  return 0;
}
