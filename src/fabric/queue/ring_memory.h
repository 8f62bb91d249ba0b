// SPDX-License-Identifier: Apache-2.0
// The memory of a send ring. The ring touches what its roles share through these types only, so
// that a test or a verifier can put its own in their place, stop before every access, and check
// that plain data is ordered by the words around it.
//
// A memory has: Word, 64 bits with the operations of std::atomic that the ring uses (load, store,
// fetch_add, fetch_sub, compare_exchange_weak, each with its order named); Cell<T>, plain data with
// read() and write(); Bytes, plain bytes with write() and view().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace crossdock::fabric {

struct HostMemory {
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);

  template <typename T>
  class Cell {
   public:
    [[nodiscard]] const T& read() const { return value_; }
    void write(const T& value) { value_ = value; }

   private:
    T value_{};
  };

  class Bytes {
   public:
    explicit Bytes(std::size_t byte_count) : bytes_(new std::byte[byte_count]) {}
    /// `from` is not empty.
    void write(std::size_t offset, std::span<const std::byte> from) {
      std::memcpy(bytes_.get() + offset, from.data(), from.size());
    }
    [[nodiscard]] std::span<const std::byte> view(std::size_t offset, std::size_t size) const {
      return {bytes_.get() + offset, size};
    }

   private:
    std::unique_ptr<std::byte[]> bytes_;  // not touched before its first use
  };
};

}  // namespace crossdock::fabric
