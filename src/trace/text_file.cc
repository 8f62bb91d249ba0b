// SPDX-License-Identifier: Apache-2.0
#include "trace/text_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>

#include "base/parse.h"

namespace crossdock::trace {
namespace {

namespace fs = std::filesystem;

Status io_error(const std::string& path, const std::error_code& reason) {
  return {StatusKind::kIo, Scope::kOperation,
          fmt::format("cannot write {}: {}", quote(path), reason.message())};
}

Status write_directly(const std::string& path, std::string_view text, const std::string& shown) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    const int reason = errno == 0 ? EIO : errno;
    return io_error(shown, {reason, std::generic_category()});
  }
  return {};
}

}  // namespace

Status write_text_file(const std::string& path, std::string_view text) {
  std::error_code error;
  const fs::file_status present = fs::status(path, error);
  if (fs::exists(present) && !fs::is_regular_file(present)) {
    return write_directly(path, text, path);
  }
  const std::string beside = fmt::format("{}.{}.part", path, ::getpid());
  Status status = write_directly(beside, text, path);
  if (status.ok()) {
    fs::rename(beside, path, error);
    if (!error) {
      return {};
    }
    status = io_error(path, error);
  }
  fs::remove(beside, error);
  return status;
}

}  // namespace crossdock::trace
