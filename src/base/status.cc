// SPDX-License-Identifier: Apache-2.0
#include "crossdock/status.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace crossdock {

std::string_view to_string(StatusKind kind) {
  switch (kind) {
    case StatusKind::kOk:
      return "ok";
    case StatusKind::kInvalidArgument:
      return "invalid argument";
    case StatusKind::kMismatch:
      return "mismatch";
    case StatusKind::kCapacity:
      return "capacity";
    case StatusKind::kNoMemory:
      return "no memory";
    case StatusKind::kTimeout:
      return "timeout";
    case StatusKind::kPeerDead:
      return "peer dead";
    case StatusKind::kPeerRefused:
      return "peer refused";
    case StatusKind::kBusy:
      return "busy";
    case StatusKind::kClosed:
      return "closed";
    case StatusKind::kInterrupted:
      return "interrupted";
    case StatusKind::kIo:
      return "io";
    case StatusKind::kUnsupported:
      return "unsupported";
    case StatusKind::kCancelled:
      return "cancelled";
    case StatusKind::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::kOperation:
      return "operation";
    case Scope::kPeer:
      return "peer";
    case Scope::kCommunicator:
      return "communicator";
    case Scope::kProcess:
      return "process";
  }
  return "unknown";
}

std::string StuckWait::to_string() const {
  const std::string who = peer < 0 ? "several ranks" : fmt::format("rank {}", peer);
  const double seconds = std::chrono::duration<double>(waited).count();
  return fmt::format(
      "rank {} waited {:.3f} s for {} in phase {} of round {}: expected {}, observed {}", waiter,
      seconds, who, phase.empty() ? "?" : phase, round, expected, observed);
}

Status::Status(StatusKind kind, Scope scope, std::string message)
    : Status(kind, scope, std::move(message), -1) {}

Status::Status(StatusKind kind, Scope scope, std::string message, int culprit) {
  CROSSDOCK_CHECK(kind != StatusKind::kOk, "an error needs a kind; message: {}", message);
  state_ = std::make_shared<const State>(State{.kind = kind,
                                               .scope = scope,
                                               .culprit = culprit,
                                               .message = std::move(message),
                                               .stuck = nullptr});
}

Status Status::stuck_wait(StuckWait stuck) {
  Status status;
  const int culprit = stuck.peer;
  std::string message = stuck.to_string();
  // One rank that does not answer makes every later collective step wrong, hence the scope.
  status.state_ =
      std::make_shared<const State>(State{.kind = StatusKind::kTimeout,
                                          .scope = Scope::kCommunicator,
                                          .culprit = culprit,
                                          .message = std::move(message),
                                          .stuck = std::make_unique<StuckWait>(std::move(stuck))});
  return status;
}

std::string_view Status::message() const {
  return ok() ? std::string_view() : std::string_view(state_->message);
}

const StuckWait* Status::stuck() const { return ok() ? nullptr : state_->stuck.get(); }

std::string Status::to_string() const {
  if (ok()) {
    return "ok";
  }
  return fmt::format("{} ({}): {}", crossdock::to_string(kind()), crossdock::to_string(scope()),
                     message());
}

}  // namespace crossdock
