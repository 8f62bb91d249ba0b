// SPDX-License-Identifier: Apache-2.0
// .npy files on disk; the format itself is in npy.cc.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/npy.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "crossdock/status.h"

namespace crossdock {
namespace {

Status io_error(std::string_view path, std::string_view what) {
  const std::string reason = std::error_code(errno, std::generic_category()).message();
  return {StatusKind::kIo, Scope::kOperation,
          fmt::format("{}: cannot {}: {}", quote(path), what, reason)};
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  [[nodiscard]] int get() const { return descriptor_; }
  /// Closes now, to hear of errors that only closing tells.
  [[nodiscard]] bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

/// Fills `into` from `offset` on; false also when the file ends early.
bool read_all(int descriptor, std::uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      errno = count == 0 ? ENODATA : errno;
      return false;
    }
    into = into.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<NpyArray> load_npy(const std::string& path, std::uint64_t data_bytes_max) {
  // Not blocking on a FIFO: it is refused below like every other thing without a length.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    return io_error(path, "open");
  }
  if (!S_ISREG(about.st_mode)) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("{}: not a regular file; allowed: .npy files", quote(path)));
  }
  const auto file_bytes = static_cast<std::uint64_t>(about.st_size);
  std::vector<std::byte> begin(
      static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kNpyHeaderBytesMax + 12)));
  if (!read_all(file.get(), 0, begin)) {
    return io_error(path, "read");
  }
  CROSSDOCK_ASSIGN_OR_RETURN(NpyHeader header, parse_npy_header(begin, file_bytes, path));
  if (header.data_bytes > data_bytes_max) {
    return Status(StatusKind::kCapacity, Scope::kOperation,
                  fmt::format("{}: {} bytes of data; allowed: at most {}", quote(path),
                              header.data_bytes, data_bytes_max));
  }
  NpyArray array;
  array.type = header.type;
  array.shape = std::move(header.shape);
  array.bytes.resize(static_cast<std::size_t>(header.data_bytes));
  if (!read_all(file.get(), header.data_offset, array.bytes)) {
    return io_error(path, "read");
  }
  return array;
}

Status save_npy(const std::string& path, NpyType type, std::span<const std::uint64_t> shape,
                std::span<const std::byte> bytes) {
  CROSSDOCK_CHECK(shape.size() <= kNpyDimensionsMax, "{} dimensions", shape.size());
  std::uint64_t wanted = element_bytes(type);
  for (const std::uint64_t dimension : shape) {
    wanted = checked_mul(wanted, dimension).value_or(~std::uint64_t{0});
  }
  CROSSDOCK_CHECK(wanted == bytes.size(), "shape wants {} bytes, got {}", wanted, bytes.size());

  const std::string partial = fmt::format("{}.partial-{}", path, ::getpid());
  File file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) {
    return io_error(path, "create");
  }
  const std::string header = make_npy_header(type, shape);
  const bool written = write_all(file.get(), std::as_bytes(std::span(header))) &&
                       write_all(file.get(), bytes) && file.close() &&
                       std::rename(partial.c_str(), path.c_str()) == 0;
  if (!written) {
    Status status = io_error(path, "write");  // Before unlink changes errno.
    ::unlink(partial.c_str());
    return status;
  }
  return {};
}

}  // namespace crossdock
