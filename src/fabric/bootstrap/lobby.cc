// SPDX-License-Identifier: Apache-2.0
// The root's side of the handshake. Everybody who connects is a visitor first: served with a time
// limit, in bounded number, with small frames only. A visitor becomes a leaf by proving that it
// knows the job secret; only what a leaf says or does can fail the job.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fabric/bootstrap/handshake.h"

namespace crossdock::fabric {
namespace {

constexpr auto kVisitTime = std::chrono::seconds(5);
constexpr auto kLatecomerTime = std::chrono::seconds(1);
// Room for strangers beside all ranks knocking at once; beyond it the oldest visitor has to go.
constexpr std::size_t kStrangersMax = 64;

struct Visitor {
  Connection connection;
  SocketAddress address;
  Nonce root_nonce;
  Deadline deadline;
};

Status size_mismatch(int root_size, std::uint32_t rank, std::uint32_t size) {
  return Status(
      StatusKind::kMismatch, Scope::kCommunicator,
      fmt::format("bootstrap: ranks disagree about the size: rank 0 has {}, rank {} has {}",
                  root_size, rank, size),
      static_cast<int>(rank));
}

Status claimed_twice(int rank, std::uint32_t process, std::uint32_t other_process) {
  return Status(StatusKind::kMismatch, Scope::kCommunicator,
                fmt::format("bootstrap: rank {} is claimed twice, by process {} and by process {}",
                            rank, process, other_process),
                rank);
}

class Lobby {
 public:
  Lobby(const TcpPlan& plan, FileDescriptor listener)
      : size_(plan.options.size),
        job_key_(derive_job_key(plan.options.job_secret)),
        listener_(std::move(listener)),
        leaves_(static_cast<std::size_t>(size_)),
        process_ids_(static_cast<std::size_t>(size_), 0) {
    process_ids_[0] = static_cast<std::uint32_t>(::getpid());
  }

  Result<std::vector<std::optional<Connection>>> run(Deadline deadline);

 private:
  enum class Verdict : std::uint8_t { kStay, kLeave };

  Status serve_events(Deadline deadline);
  Status accept_visitors();
  Verdict serve_visitor(Visitor& visitor);
  Verdict admit(Visitor& visitor, const FrameView& frame);
  Status serve_leaf(int rank);
  Status send_start();
  [[nodiscard]] std::vector<int> missing_ranks() const;
  [[nodiscard]] Status timed_out() const;
  void note_stranger(const Visitor& visitor, std::string_view problem);
  Verdict refuse_job(Visitor& visitor, const Status& reason);
  void note_failure(const Status& status);
  void fail_all();

  int size_;
  Key job_key_;
  FileDescriptor listener_;
  std::deque<Visitor> visitors_;                   // oldest first
  std::vector<std::optional<Connection>> leaves_;  // [rank]
  std::vector<std::uint32_t> process_ids_;         // [rank], 0 until joined
  int joined_count_ = 1;                           // the root itself; then also those refused
  int stranger_count_ = 0;
  std::string last_stranger_;
  std::string wrong_secret_;
  Status failure_;  // what an admitted leaf made impossible
  StillWaiting still_waiting_;
};

Result<std::vector<std::optional<Connection>>> Lobby::run(Deadline deadline) {
  while (failure_.ok() && joined_count_ < size_) {
    note_failure(deadline.expired(monotonic_clock().now()) ? timed_out() : serve_events(deadline));
  }
  if (failure_.ok()) {
    note_failure(send_start());
  }
  if (failure_.ok()) {
    return std::move(leaves_);
  }
  fail_all();
  return failure_;
}

/// Ranks that joined learn the reason at once. Those that are still on their way may come for a
/// short while: else they would wait for a root that is gone until their own deadline.
void Lobby::fail_all() {
  std::vector<std::optional<Connection>> told = std::exchange(leaves_, {});
  leaves_.resize(told.size());
  std::vector<Connection*> joined;
  for (auto& leaf : told) {
    if (leaf) {
      joined.push_back(&*leaf);
    }
  }
  announce_failure(joined, failure_);
  if (failure_.kind() == StatusKind::kTimeout) {
    return;  // They had their time.
  }
  const Deadline deadline = Deadline::after(monotonic_clock(), kLatecomerTime);
  while (joined_count_ < size_ && !deadline.expired(monotonic_clock().now())) {
    if (!serve_events(deadline).ok()) {
      return;
    }
  }
}

Status Lobby::serve_events(Deadline deadline) {
  std::vector<pollfd> events{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
  Deadline wake_up = still_waiting_.wake_up(deadline);
  for (const Visitor& visitor : visitors_) {
    events.push_back(visitor.connection.wanted_events());
    wake_up = std::min(wake_up, visitor.deadline);
  }
  std::vector<int> ranks;
  for (int rank = 1; rank < size_; ++rank) {
    if (const auto& leaf = leaves_[static_cast<std::size_t>(rank)]) {
      events.push_back(leaf->wanted_events());
      ranks.push_back(rank);
    }
  }
  CROSSDOCK_RETURN_IF_ERROR(poll_until(events, wake_up));

  const Instant now = monotonic_clock().now();
  std::deque<Visitor> staying;
  auto event = events.begin() + 1;
  for (Visitor& visitor : visitors_) {
    const bool ready = (event++)->revents != 0;
    if (ready && serve_visitor(visitor) == Verdict::kLeave) {
      continue;
    }
    if (visitor.deadline.expired(now)) {
      note_stranger(visitor, "said nothing in time");
      continue;
    }
    staying.push_back(std::move(visitor));
  }
  visitors_ = std::move(staying);
  for (const int rank : ranks) {
    if ((event++)->revents != 0) {
      CROSSDOCK_RETURN_IF_ERROR(serve_leaf(rank));
    }
  }
  still_waiting_.report([&] { return list_ranks(missing_ranks(), size_) + " to join"; });
  return events.front().revents != 0 ? accept_visitors() : Status();
}

Status Lobby::accept_visitors() {
  for (;;) {
    SocketAddress address;
    auto socket = accept_from(listener_.get(), &address);
    if (!socket.ok()) {
      if (visitors_.empty()) {
        return socket.status();
      }
      visitors_.pop_front();  // Out of descriptors: a stranger may have to go for a rank.
      return {};
    }
    if (!socket->valid()) {
      return {};
    }
    if (visitors_.size() >= kStrangersMax + static_cast<std::size_t>(size_)) {
      note_stranger(visitors_.front(), "too many connections at once");
      visitors_.pop_front();
    }
    visitors_.push_back({.connection = Connection(std::move(socket).value()),
                         .address = address,
                         .root_nonce = make_nonce(),
                         .deadline = Deadline::after(monotonic_clock(), kVisitTime)});
    Visitor& visitor = visitors_.back();
    visitor.connection.post_signed_with(job_key_, FrameKind::kChallenge, visitor.root_nonce);
    // A failure shows when the visitor is served.
    static_cast<void>(visitor.connection.flush_some());
  }
}

Lobby::Verdict Lobby::serve_visitor(Visitor& visitor) {
  static_cast<void>(visitor.connection.flush_some());
  const Status received = visitor.connection.receive_some();
  const ParsedFrame parsed = visitor.connection.peek(kHandshakeBytesMax);
  switch (parsed.outcome) {
    case ParseOutcome::kComplete:
      return admit(visitor, parsed.frame);
    case ParseOutcome::kMalformed:
      note_stranger(visitor, parsed.problem);
      return Verdict::kLeave;
    case ParseOutcome::kIncomplete:
      break;
  }
  if (!received.ok()) {
    note_stranger(visitor, "left in the middle of the handshake");
    return Verdict::kLeave;
  }
  return Verdict::kStay;
}

Lobby::Verdict Lobby::admit(Visitor& visitor, const FrameView& frame) {
  const auto join = decode_join(frame.payload);
  if (frame.head.kind != FrameKind::kJoin || !join) {
    note_stranger(visitor, "an unexpected frame");
    return Verdict::kLeave;
  }
  const std::uint32_t claimed = frame.head.rank;
  const auto keys = derive_session_keys(job_key_, visitor.root_nonce, join->leaf_nonce);
  visitor.connection.start_session(keys.to_leaf, keys.to_root);
  if (!visitor.connection.take(kHandshakeBytesMax).ok()) {
    wrong_secret_ = fmt::format("a process at {} that calls itself rank {} has another job secret",
                                visitor.address.to_string(), claimed);
    return Verdict::kLeave;
  }
  if (!failure_.ok()) {
    ++joined_count_;
    return refuse_job(visitor, failure_);
  }
  const int rank = claimed < static_cast<std::uint32_t>(size_) ? static_cast<int>(claimed) : -1;
  if (join->size != static_cast<std::uint32_t>(size_) || rank < 0) {
    ++joined_count_;
    return refuse_job(visitor, size_mismatch(size_, claimed, join->size));
  }
  auto& process_id = process_ids_[static_cast<std::size_t>(rank)];
  if (process_id != 0) {
    return refuse_job(visitor, claimed_twice(rank, process_id, join->process_id));
  }
  process_id = join->process_id;
  visitor.connection.post(FrameKind::kAccepted, claimed, {});
  static_cast<void>(visitor.connection.flush_some());
  leaves_[static_cast<std::size_t>(rank)].emplace(std::move(visitor.connection));
  ++joined_count_;
  return Verdict::kLeave;  // as a visitor
}

Lobby::Verdict Lobby::refuse_job(Visitor& visitor, const Status& reason) {
  Connection* const connection = &visitor.connection;
  announce_failure(std::span(&connection, 1), reason);
  note_failure(reason);
  return Verdict::kLeave;
}

/// The first reason wins, for all ranks have to hear the same.
void Lobby::note_failure(const Status& status) {
  if (failure_.ok()) {
    failure_ = status;
  }
}

Status Lobby::serve_leaf(int rank) {
  Connection& leaf = *leaves_[static_cast<std::size_t>(rank)];
  static_cast<void>(leaf.flush_some());
  const Status received = leaf.receive_some();
  CROSSDOCK_ASSIGN_OR_RETURN(const auto message, leaf.take(kPayloadBytesMax));
  if (message && message->kind == FrameKind::kError) {
    return decode_error(message->payload);
  }
  if (message || !received.ok()) {
    return Status(StatusKind::kPeerDead, Scope::kCommunicator,
                  fmt::format("bootstrap: rank {} {} before the job started", rank,
                              message ? "broke the protocol" : "left"),
                  rank);
  }
  return {};
}

Status Lobby::send_start() {
  // A frame of 56 bytes after one of the same size: the socket buffers have room for it.
  for (int rank = 1; rank < size_; ++rank) {
    Connection& leaf = *leaves_[static_cast<std::size_t>(rank)];
    leaf.post(FrameKind::kStart, 0, {});
    if (!leaf.flush_some().ok()) {
      return Status(StatusKind::kPeerDead, Scope::kCommunicator,
                    fmt::format("bootstrap: rank {} left before the job started", rank), rank);
    }
  }
  return {};
}

std::vector<int> Lobby::missing_ranks() const {
  std::vector<int> missing;
  for (int rank = 1; rank < size_; ++rank) {
    if (!leaves_[static_cast<std::size_t>(rank)]) {
      missing.push_back(rank);
    }
  }
  return missing;
}

Status Lobby::timed_out() const {
  const auto missing = missing_ranks();
  std::string message =
      fmt::format("bootstrap: timed out waiting for {} to join", list_ranks(missing, size_));
  if (!wrong_secret_.empty()) {
    message += "; " + wrong_secret_;
  }
  if (stranger_count_ > 0) {
    message += fmt::format("; {} other connections were dropped, the last one {}", stranger_count_,
                           last_stranger_);
  }
  return Status(StatusKind::kTimeout, Scope::kCommunicator, std::move(message), missing.front());
}

void Lobby::note_stranger(const Visitor& visitor, std::string_view problem) {
  ++stranger_count_;
  last_stranger_ = fmt::format("from {}: {}", visitor.address.to_string(), problem);
}

}  // namespace

Result<std::vector<std::optional<Connection>>> admit_leaves(const TcpPlan& plan,
                                                            Deadline deadline) {
  CROSSDOCK_ASSIGN_OR_RETURN(auto listener, plan.options.listener_fd >= 0
                                                ? adopt_listener(plan.options.listener_fd)
                                                : listen_on(plan.addresses));
  return Lobby(plan, std::move(listener)).run(deadline);
}

}  // namespace crossdock::fabric
