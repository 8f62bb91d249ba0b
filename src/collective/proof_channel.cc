// SPDX-License-Identifier: Apache-2.0
#include "collective/proof_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace crossdock::collective {

using protocol::Action;
using protocol::ActionKind;
using protocol::Event;
using protocol::EventKind;

std::uint64_t ProofChannel::byte_count(int word_count, int rank_count) {
  // A source's words share a line with nobody: each line has one writer.
  return align_up(static_cast<std::uint64_t>(word_count) * 8, kCacheLineBytes) *
         static_cast<std::uint64_t>(rank_count);
}

ProofChannel::ProofChannel(fabric::Fabric& fabric, fabric::Window& window, std::uint64_t offset,
                           std::unique_ptr<protocol::Protocol> protocol, trace::Recorder& recorder)
    : fabric_(fabric),
      window_(window),
      offset_(offset),
      block_bytes_(byte_count(protocol->word_count(), 1)),
      protocol_(std::move(protocol)),
      recorder_(recorder) {
  const auto word_count =
      static_cast<std::size_t>(fabric.size()) * static_cast<std::size_t>(protocol_->word_count());
  pending_.reserve(static_cast<std::size_t>(fabric.size()));
  put_counts_.resize(static_cast<std::size_t>(fabric.size()));
  for (int peer = 0; peer < fabric.size(); ++peer) {
    queues_.push_back(&fabric.queue(RankId{peer}, 0));
  }
  last_seen_.resize(word_count);
  is_seen_.resize(word_count);
}

std::uint64_t ProofChannel::word_offset(int owner, int word) const {
  return offset_ + block_bytes_ * static_cast<std::uint64_t>(owner) +
         static_cast<std::uint64_t>(word) * 8;
}

std::uint64_t ProofChannel::read_word(int source, int word) const {
  auto* bytes = window_.local().data() + word_offset(source, word);
  const std::atomic_ref value(*reinterpret_cast<std::uint64_t*>(bytes));
  // Pairs with the strong post_value / post_signal of the source's queue.
  return value.load(std::memory_order_acquire);
}

void ProofChannel::open_round() {
  ++epoch_;
  pending_.clear();
  for (int source = 0; source < fabric_.size(); ++source) {
    if (source != fabric_.rank().value) {
      pending_.push_back(source);
    }
  }
  std::fill(is_seen_.begin(), is_seen_.end(), std::uint8_t{0});
  const protocol::Actions actions =
      protocol_->step({.kind = EventKind::kRoundOpened, .epoch = epoch_});
  CROSSDOCK_CHECK(actions.empty());
  notify_word_ = protocol_->notify_word();
  if (notify_word_ >= 0) {
    std::fill(put_counts_.begin(), put_counts_.end(), std::uint64_t{0});
  }
}

void ProofChannel::post_put(RankId peer, std::uint64_t offset, std::span<const std::byte> from,
                            StoreHint hint) {
  const fabric::RemoteAddress to{&window_, offset};
  fabric::Queue& queue = *queues_[static_cast<std::size_t>(peer.value)];
  if (notify_word_ < 0 || peer == fabric_.rank()) {
    queue.post_put(to, from, fabric::Order::kRelaxed, hint);
    return;
  }
  const fabric::RemoteAddress event{&window_, word_offset(fabric_.rank().value, notify_word_)};
  queue.post_put_notify(to, from, hint, event, 1);
  ++put_counts_[static_cast<std::size_t>(peer.value)];
}

Status ProofChannel::take(EventKind kind, RankId peer) {
  return carry_out(protocol_->step({.kind = kind,
                                    .epoch = epoch_,
                                    .peer = peer,
                                    .value = put_counts_[static_cast<std::size_t>(peer.value)]}));
}

Status ProofChannel::carry_out(const protocol::Actions& actions) {
  for (const Action& action : actions) {
    const fabric::RemoteAddress word{&window_, word_offset(fabric_.rank().value, action.word)};
    switch (action.kind) {
      case ActionKind::kFlushAll:
        for (int peer = 0; peer < fabric_.size(); ++peer) {
          for (int lane = 0; lane < fabric_.lane_count(); ++lane) {
            CROSSDOCK_RETURN_IF_ERROR(
                fabric_.queue(RankId{peer}, lane).flush(fabric_.make_deadline()));
          }
        }
        break;
      case ActionKind::kPostValue:
        fabric_.queue(action.peer, action.lane).post_value(word, action.value, action.order);
        fabric_.queue(action.peer, action.lane).ring_doorbell();
        break;
      case ActionKind::kPostSignal:
        fabric_.queue(action.peer, action.lane).post_signal(word, action.value, action.order);
        fabric_.queue(action.peer, action.lane).ring_doorbell();
        break;
      case ActionKind::kRejected:
        fault_ =
            Status(StatusKind::kInternal, Scope::kCommunicator,
                   fmt::format("{}: word {} of rank {} holds {}, which belongs to no open round "
                               "(epoch {})",
                               protocol_->contract().name, action.word, action.peer.value,
                               action.value, epoch_),
                   action.peer.value);
        return fault_;
      case ActionKind::kSourceProven:
      case ActionKind::kRoundProven:
        break;  // Kept by the protocol; asked for by is_proven().
    }
  }
  return {};
}

// Hands every awaited word that changed to the protocol; true when the source is proven.
bool ProofChannel::look_at(int source) {
  const int word_count = protocol_->word_count();
  for (int word = 0; word < word_count; ++word) {
    if (!protocol_->awaits(RankId{source}, word)) {
      continue;
    }
    const std::uint64_t value = read_word(source, word);
    const auto index = static_cast<std::size_t>(source * word_count + word);
    if (is_seen_[index] != 0 && last_seen_[index] == value) {
      continue;
    }
    is_seen_[index] = 1;
    last_seen_[index] = value;
    const Event event{.kind = EventKind::kWordObserved,
                      .epoch = epoch_,
                      .peer = RankId{source},
                      .word = word,
                      .value = value};
    if (!carry_out(protocol_->step(event)).ok()) {
      return false;
    }
  }
  return protocol_->is_proven(RankId{source});
}

bool ProofChannel::poll() {
  for (std::size_t index = 0; index < pending_.size();) {
    if (!look_at(pending_[index])) {
      ++index;
      continue;
    }
    if (recorder_.enabled()) {
      // A wait is split at the arrivals: each source is charged the time since the one before it.
      const Instant now = monotonic_clock().now();
      recorder_.waited(pending_[index], now - wait_began_);
      wait_began_ = now;
    }
    pending_[index] = pending_.back();
    pending_.pop_back();
  }
  return protocol_->is_round_proven() || !fault_.ok();
}

void ProofChannel::describe_missing(fabric::WaitFor& what) const {
  what.peer = -1;
  for (const int source : pending_) {
    for (int word = 0; word < protocol_->word_count(); ++word) {
      if (protocol_->awaits(RankId{source}, word)) {
        what.peer = source;
        what.expected = protocol_->expected_value(RankId{source}, word);
        what.observed = read_word(source, word);
        return;
      }
    }
  }
}

Status ProofChannel::wait_source(RankId source, const char* phase, std::uint64_t round,
                                 Deadline deadline) {
  fabric::WaitSession session({.phase = phase, .peer = source.value, .round = round}, deadline);
  if (recorder_.enabled()) {
    wait_began_ = monotonic_clock().now();
  }
  const Status status =
      fabric::wait(fabric_, session, [&] { return poll() || protocol_->is_proven(source); });
  CROSSDOCK_RETURN_IF_ERROR(status);
  return fault_;
}

Status ProofChannel::wait_round(const char* phase, std::uint64_t round, Deadline deadline) {
  fabric::WaitSession session({.phase = phase, .round = round}, deadline);
  if (recorder_.enabled()) {
    wait_began_ = monotonic_clock().now();
  }
  std::uint32_t described_at = 0;
  const Status status = fabric::wait(fabric_, session, [&] {
    const bool is_done = poll();
    if (!is_done && session.idle_count != described_at) {
      described_at = session.idle_count;
      describe_missing(session.what);
    }
    return is_done;
  });
  CROSSDOCK_RETURN_IF_ERROR(status);
  return fault_;
}

}  // namespace crossdock::collective
