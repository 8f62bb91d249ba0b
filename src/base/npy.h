// SPDX-License-Identifier: Apache-2.0
// Strict reader and writer of NumPy's .npy files, versions 1 and 2: little-endian, C order, at most
// four dimensions. Files are input from strangers: no size in a header is believed before the
// length of the file confirms it.
//
//   file    = magic version length header data
//   magic   = 93 'N' 'U' 'M' 'P' 'Y'
//   version = 01 00 | 02 00
//   length  = 2 bytes (version 1) or 4 bytes (version 2), little-endian: bytes of header
//   header  = a Python dict of exactly 'descr', 'fortran_order' and 'shape', then spaces and '\n'
//   data    = product(shape) elements, nothing after them
//
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// Thread rule: pure functions, but for the file that load and save touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"

namespace crossdock {

/// NumPy has no bf16; by convention kU2 holds its raw bits.
enum class NpyType : std::uint8_t { kF2, kF4, kF8, kI4, kI8, kU1, kU2 };

/// "<f4" and the like.
[[nodiscard]] std::string_view to_string(NpyType type);
[[nodiscard]] std::size_t element_bytes(NpyType type);

inline constexpr std::size_t kNpyDimensionsMax = 4;
inline constexpr std::size_t kNpyHeaderBytesMax = std::size_t{64} << 10;
/// Default limit of the data, so that a sparse file cannot take a machine's memory.
inline constexpr std::uint64_t kNpyDataBytesMax = std::uint64_t{16} << 30;

struct NpyArray {
  NpyType type = NpyType::kF4;
  std::vector<std::uint64_t> shape;  // empty: one scalar
  std::vector<std::byte> bytes;      // row-major; aligned for every NpyType

  [[nodiscard]] std::uint64_t element_count() const { return bytes.size() / element_bytes(type); }
  /// The elements as T; sizeof(T) must be the element's (checked).
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    require_element_size(sizeof(T));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  void require_element_size(std::size_t wanted) const;
};

/// What a header says, and where the data begin. Checked against the length of the whole file.
struct NpyHeader {
  NpyType type = NpyType::kF4;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
};

/// `begin` is the file's first bytes: all of it, or at least 12 + kNpyHeaderBytesMax. Errors are
/// one kInvalidArgument line with `name`, what was found and what is allowed.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> begin, std::uint64_t file_bytes,
                                   std::string_view name);
Result<NpyArray> parse_npy(std::span<const std::byte> file, std::string_view name);
/// kIo when the system refuses, kCapacity when the data exceed `data_bytes_max`.
Result<NpyArray> load_npy(const std::string& path, std::uint64_t data_bytes_max = kNpyDataBytesMax);

/// The bytes before the data, padded so that the data are aligned to 64.
[[nodiscard]] std::string make_npy_header(NpyType type, std::span<const std::uint64_t> shape);
/// Replaces `path` as a whole or leaves it as it was. The bytes must be those of the shape.
Status save_npy(const std::string& path, NpyType type, std::span<const std::uint64_t> shape,
                std::span<const std::byte> bytes);

}  // namespace crossdock
