// SPDX-License-Identifier: Apache-2.0
// Operating errors as values. A Status says what went wrong (kind), how much of the system is still
// usable (scope), and one line for a person. Programmer errors are not Status: they are checks.
// Thread rule: Status and Result are plain values; share them like an int.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace crossdock {

enum class StatusKind : std::uint8_t {
  kOk,
  kInvalidArgument,  // the caller's own value is out of range; nothing was sent
  kMismatch,         // ranks disagree about something that must be equal
  kCapacity,         // a declared capacity is too small: the message has needed and available
  kNoMemory,         // memory that cannot be had: needed, available, which limit
  kTimeout,          // the deadline passed; stuck() tells who waited for whom
  kPeerDead,         // a peer's process is gone
  kPeerRefused,      // a peer refused its part of this operation (its own argument was bad)
  kBusy,             // too many rounds open
  kClosed,           // used after close(), or a peer closed first
  kInterrupted,      // SIGINT or SIGTERM arrived while waiting
  kIo,               // the operating system said no
  kUnsupported,      // not available here; the message says what is
  kCancelled,        // a posted operation was cancelled before it began
  kInternal,         // an invariant between ranks was broken
};

/// What is no longer usable after the error, smallest first.
enum class Scope : std::uint8_t { kOperation, kPeer, kCommunicator, kProcess };

/// Who waited for whom, for what, and how long. Printed as one line; the input of diagnosis.
struct StuckWait {
  int waiter = -1;
  int peer = -1;
  std::string phase;
  std::uint64_t round = 0;
  std::uint64_t expected = 0;
  std::uint64_t observed = 0;
  std::chrono::nanoseconds waited{0};

  [[nodiscard]] std::string to_string() const;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusKind kind, Scope scope, std::string message);
  Status(StatusKind kind, Scope scope, std::string message, int culprit);
  /// A timeout with its evidence; the message is stuck.to_string().
  static Status stuck_wait(StuckWait stuck);

  [[nodiscard]] bool ok() const { return state_ == nullptr; }
  [[nodiscard]] StatusKind kind() const { return ok() ? StatusKind::kOk : state_->kind; }
  [[nodiscard]] Scope scope() const { return ok() ? Scope::kOperation : state_->scope; }
  /// One line, no trailing newline; empty when ok.
  [[nodiscard]] std::string_view message() const;
  /// The rank at fault, or -1 when none is known.
  [[nodiscard]] int culprit() const { return ok() ? -1 : state_->culprit; }
  /// Evidence of a kTimeout, else null.
  [[nodiscard]] const StuckWait* stuck() const;
  /// "timeout (communicator): ..." or "ok".
  [[nodiscard]] std::string to_string() const;

 private:
  struct State {
    StatusKind kind;
    Scope scope;
    int culprit = -1;
    std::string message;
    std::unique_ptr<StuckWait> stuck;
  };
  // Null means ok, so that the good path copies one pointer and allocates nothing.
  std::shared_ptr<const State> state_;
};

[[nodiscard]] std::string_view to_string(StatusKind kind);
[[nodiscard]] std::string_view to_string(Scope scope);

namespace internal {
/// Prints the error and aborts.
[[noreturn]] void value_of_error(const Status& status);
}  // namespace internal

/// A value or the reason why there is none. value() on an error is a programmer error (aborts).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : content_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(content_); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<Status>(content_); }
  [[nodiscard]] T& value() & {
    require_value();
    return *std::get_if<T>(&content_);
  }
  [[nodiscard]] const T& value() const& {
    require_value();
    return *std::get_if<T>(&content_);
  }
  [[nodiscard]] T&& value() && {
    require_value();
    return std::move(*std::get_if<T>(&content_));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  void require_value() const {
    if (!ok()) {
      internal::value_of_error(*std::get_if<Status>(&content_));
    }
  }

  std::variant<T, Status> content_;
};

}  // namespace crossdock
