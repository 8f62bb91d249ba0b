// SPDX-License-Identifier: Apache-2.0
#include "cli/explore_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "base/parse.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

namespace fs = std::filesystem;

Status io_error(const std::string& path, std::string_view what) {
  return {StatusKind::kIo, Scope::kOperation, fmt::format("{}: {}", quote(path), what)};
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) {
    return io_error(path, "cannot be read");
  }
  return content;
}

Result<std::string> read_page_template() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed =
      program.parent_path().parent_path() / "share/crossdock/explore/index.html";
  for (const fs::path& candidate : {installed, fs::path(CROSSDOCK_EXPLORE_PAGE)}) {
    if (fs::is_regular_file(candidate, error)) {
      return read_whole_file(candidate.string());
    }
  }
  return Status(StatusKind::kUnsupported, Scope::kProcess,
                "the page was not built: npm was not there at build time; --json works without it");
}

Status write_whole_file(const std::string& path, std::string_view content) {
  const std::string part = path + ".part";
  {
    std::ofstream stream(part, std::ios::binary | std::ios::trunc);
    stream << content;
    stream.close();
    if (!stream) {
      std::error_code ignored;
      fs::remove(part, ignored);
      return io_error(path, "cannot be written");
    }
  }
  std::error_code error;
  fs::rename(part, path, error);
  return error ? io_error(path, error.message()) : Status();
}

}  // namespace crossdock::cli
