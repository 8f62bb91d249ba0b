// SPDX-License-Identifier: Apache-2.0
// A private, zeroed, page-aligned block of memory, touched when it is made.
// Thread rule: as a vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace crossdock {

class PageBuffer {
 public:
  static constexpr std::align_val_t kAlignment{4096};

  PageBuffer() : PageBuffer(0) {}
  explicit PageBuffer(std::size_t byte_count)
      : bytes_(static_cast<std::byte*>(
            ::operator new(std::max<std::size_t>(byte_count, 1), kAlignment))),
        byte_count_(byte_count) {
    std::memset(bytes_.get(), 0, byte_count);
  }
  [[nodiscard]] std::byte* data() { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::size_t byte_count() const { return byte_count_; }
  [[nodiscard]] std::span<std::byte> span() { return {bytes_.get(), byte_count_}; }
  [[nodiscard]] std::span<const std::byte> span() const { return {bytes_.get(), byte_count_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t byte_count_ = 0;
};

}  // namespace crossdock
