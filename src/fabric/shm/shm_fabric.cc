// SPDX-License-Identifier: Apache-2.0
// Opening, windows, splitting and closing. Waiting is in shm_wait.cc.
#include "fabric/shm/shm_fabric.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fabric/shm/memory_check.h"
#include "fabric/shm/open_fabrics.h"
#include "fabric/shm/queued_queue.h"
#include "fabric/shm/shm_window.h"

namespace crossdock::fabric {
namespace {

// Purposes of set-up exchanges: two ranks in different calls find out at once.
enum Purpose : std::uint32_t {
  kOfferSegment = 1,
  kAttachVerdict,
  kMemoryNeeds,
  kMemoryVerdict,
  kAllGather,
  kSplit,
};

// The way of moving bytes: a queued put reads its source later.
constexpr Guarantees shm_guarantees(Way way) {
  return {
      .atomic_bytes = 8,
      .put_order = PutOrder::kNone,  // a 512-byte memcpy shows its end first now and then
      .queue_order = QueueOrder::kStrongOnly,
      .cross_queue_order = CrossQueueOrder::kOneDomain,
      .event_after_data = true,
      .delivered_once = true,
      .remote_completion = true,
      .source_reusable_on_return = way != Way::kQueued,
      .load_store_reach = true,
  };
}

int allowed_core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return 1;
  }
  return std::max(1, CPU_COUNT(&set));
}

// Measured with 8 ranks on 2 cores: 100 polls before yielding are 2.5x better than 2,000, because
// the awaited peer needs the core that a spinning rank holds.
int choose_spin_count(int size, const FabricOptions& options) {
  if (options.spin_count >= 0) {
    return options.spin_count;
  }
  constexpr int kFew = 100;
  constexpr int kMany = 4000;
  return size > allowed_core_count() ? kFew : kMany;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void close_fds(const std::vector<MeshMessage>& messages) {
  for (const MeshMessage& message : messages) {
    if (message.fd >= 0) {
      ::close(message.fd);
    }
  }
}

}  // namespace

ShmFabric::ShmFabric(int rank, int size, const FabricOptions& options)
    : rank_(rank),
      size_(size),
      options_(options),
      guarantees_(shm_guarantees(options.way)),
      spin_count_(choose_spin_count(size, options)),
      is_gone_(static_cast<std::size_t>(size), false),
      board_(rank) {}

Result<std::unique_ptr<Fabric>> ShmFabric::open(int rank, int size, const Gather& gather,
                                                const FabricOptions& options) {
  std::unique_ptr<ShmFabric> fabric(new ShmFabric(rank, size, options));
  install_wait_dump();
  CROSSDOCK_RETURN_IF_ERROR(fabric->connect(gather));
  return std::unique_ptr<Fabric>(std::move(fabric));
}

Status ShmFabric::connect(const Gather& gather) {
  CROSSDOCK_ASSIGN_OR_RETURN(mesh_, Mesh::open(rank_, size_, gather, make_deadline()));
  CROSSDOCK_RETURN_IF_ERROR(watch_peers());
  mesh_->set_watch([this] { return look_at_peers(Duration::zero(), -1); });
  CROSSDOCK_ASSIGN_OR_RETURN(const auto own, Segment::create(sizeof(Presence), PageKind::kBase));
  bool everybody_made = false;
  CROSSDOCK_ASSIGN_OR_RETURN(auto segments, offer(own, sizeof(Presence), everybody_made));
  presences_ = std::move(segments);
  CROSSDOCK_RETURN_IF_ERROR(make_queues());
  close_at_exit(own, engine_);
  return {};
}

Status ShmFabric::make_queues() {
  if (options_.way == Way::kQueued) {
    // Spinning for a doorbell pays only where the core is not another rank's.
    constexpr int kDoorbellSpins = 1000;
    CROSSDOCK_ASSIGN_OR_RETURN(
        engine_, CopyEngine::start({.rank = rank_,
                                    .queue_count = size_,
                                    .queue_depth = std::bit_ceil(
                                        static_cast<std::uint64_t>(options_.queue_depth)),
                                    .spin_count = ranks_share_cores() ? 0 : kDoorbellSpins}));
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (engine_) {
      queues_.push_back(std::make_unique<QueuedQueue>(RankId{peer}, *engine_, *this));
    } else {
      queues_.push_back(std::make_unique<ShmQueue>(RankId{peer}, streams_));
    }
  }
  return {};
}

Status ShmFabric::watch_peers() {
  CROSSDOCK_RETURN_IF_ERROR(watch_.open());
  for (int peer = 0; peer < size_; ++peer) {
    if (!mesh_->same_process(peer)) {
      CROSSDOCK_RETURN_IF_ERROR(watch_.add(peer, mesh_->pid(peer)));
    }
  }
  return {};
}

ShmFabric::~ShmFabric() { close(); }

void ShmFabric::close() {
  if (is_closed_) {
    return;
  }
  is_closed_ = true;
  if (engine_) {
    engine_->stop();  // Before the page says closed: the peers get what was posted.
  }
  if (!presences_.empty() && !fork_guard_.is_child()) {
    presence(rank_).close();
  }
  if (mesh_) {
    mesh_->close();
  }
  watch_.close();
  if (fate_.ok()) {
    fate_ = Status(StatusKind::kClosed, Scope::kCommunicator, "used after close");
  }
}

Status ShmFabric::health() {
  if (fate_.ok()) {
    fate_ = fork_guard_.check("communicator");
  }
  return fate_;
}

Presence& ShmFabric::presence(int peer) const {
  return *reinterpret_cast<Presence*>(presences_[static_cast<std::size_t>(peer)]->bytes().data());
}

bool ShmFabric::ranks_share_cores() const { return size_ > allowed_core_count(); }

Queue& ShmFabric::queue(RankId peer, int lane) {
  CROSSDOCK_DCHECK(lane == 0 && peer.value >= 0 && peer.value < size_, "peer {} lane {}",
                   peer.value, lane);
  return *queues_[static_cast<std::size_t>(peer.value)];
}

// --- windows -------------------------------------------------------------------------------------

struct ShmFabric::SegmentOffer {
  std::uint64_t byte_count;
  std::uint64_t segment_id;
  std::uint32_t made;  // 1: the descriptor (or the registry) has it
  std::uint32_t pages;
};

// Offers descriptors, attaches what came, and hears from everybody how that went: all ranks get all
// segments or none does, and nobody's segment goes away before its peers have it.
Result<std::vector<std::shared_ptr<Segment>>> ShmFabric::offer(const std::shared_ptr<Segment>& own,
                                                               std::size_t byte_count,
                                                               bool& everybody_made) {
  const SegmentOffer mine{byte_count, own ? own->id() : 0, own ? 1U : 0U, 0U};
  CROSSDOCK_ASSIGN_OR_RETURN(const auto messages,
                             exchange(kOfferSegment, bytes_of(mine), own ? own->fd() : -1));
  std::vector<std::shared_ptr<Segment>> segments(messages.size());
  Status attached;
  everybody_made = true;
  for (std::size_t peer = 0; peer < messages.size() && attached.ok(); ++peer) {
    SegmentOffer theirs{};
    std::memcpy(&theirs, messages[peer].bytes.data(),
                std::min(messages[peer].bytes.size(), sizeof theirs));
    everybody_made = everybody_made && theirs.made == 1;
    segments[peer] = own;
    if (static_cast<int>(peer) != rank_) {
      attached =
          attach(static_cast<int>(peer), theirs, messages[peer].fd, byte_count, segments[peer]);
    }
  }
  close_fds(messages);
  CROSSDOCK_RETURN_IF_ERROR(share_verdict(kAttachVerdict, attached));
  return segments;
}

Status ShmFabric::attach(int peer, const SegmentOffer& offer, int fd, std::size_t byte_count,
                         std::shared_ptr<Segment>& segment) {
  segment = nullptr;
  if (offer.byte_count != byte_count) {
    return {StatusKind::kMismatch, Scope::kOperation,
            fmt::format("window bytes differ: rank {} has {}, rank {} has {}", rank_, byte_count,
                        peer, offer.byte_count),
            peer};
  }
  if (offer.made == 0) {
    return {};
  }
  if (mesh_->same_process(peer)) {
    segment = Segment::find(offer.segment_id);
  } else if (fd >= 0) {
    CROSSDOCK_ASSIGN_OR_RETURN(segment, Segment::attach(::dup(fd), byte_count));
  }
  if (segment == nullptr) {
    return {StatusKind::kIo, Scope::kOperation,
            fmt::format("rank {}'s shared memory did not arrive", peer), peer};
  }
  return {};
}

// Every rank's verdict reaches every rank. Own trouble first, then the lowest other rank's.
Status ShmFabric::share_verdict(std::uint32_t purpose, const Status& own) {
  std::string text;
  if (!own.ok()) {
    text = static_cast<char>(own.kind());
    text += own.message().substr(0, 400);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const auto verdicts, exchange(purpose, text_bytes(text), -1));
  CROSSDOCK_RETURN_IF_ERROR(own);
  for (std::size_t peer = 0; peer < verdicts.size(); ++peer) {
    const auto& bytes = verdicts[peer].bytes;
    if (bytes.empty()) {
      continue;
    }
    const auto kind = std::min(static_cast<std::uint8_t>(bytes[0]),
                               static_cast<std::uint8_t>(StatusKind::kInternal));
    const std::string_view words(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
    return {static_cast<StatusKind>(kind), Scope::kOperation,
            fmt::format("rank {}: {}", peer, words), static_cast<int>(peer)};
  }
  return {};
}

Status ShmFabric::check_host_memory(std::size_t byte_count) {
  const std::uint64_t needed = byte_count;
  CROSSDOCK_ASSIGN_OR_RETURN(const auto needs, exchange(kMemoryNeeds, bytes_of(needed), -1));
  std::uint64_t sum = 0;
  for (const MeshMessage& message : needs) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, message.bytes.data(), std::min(message.bytes.size(), sizeof theirs));
    sum = checked_add(sum, theirs).value_or(~std::uint64_t{0});
  }
  // Ranks may live in different cgroups: each judges by its own limits, all hear every verdict.
  return share_verdict(kMemoryVerdict, check_memory(sum, memory_room()));
}

// Huge pages only when every rank got them: equal paths on all ranks.
Result<std::vector<std::shared_ptr<Segment>>> ShmFabric::make_segments(std::size_t byte_count) {
  for (const PageKind pages : {PageKind::kHuge, PageKind::kBase}) {
    if (pages == PageKind::kHuge && options_.huge_pages == HugePages::kOff) {
      continue;
    }
    auto own = Segment::create(byte_count, pages);
    bool everybody_made = false;
    CROSSDOCK_ASSIGN_OR_RETURN(auto segments,
                               offer(own.ok() ? own.value() : nullptr, byte_count, everybody_made));
    if (everybody_made) {
      return segments;
    }
    if (pages == PageKind::kBase) {
      return own.ok() ? Status(StatusKind::kIo, Scope::kOperation,
                               "another rank could not make its shared memory")
                      : own.status();
    }
    if (options_.huge_pages == HugePages::kRequire) {
      return Status(StatusKind::kNoMemory, Scope::kOperation,
                    fmt::format("CROSSDOCK_HUGE_PAGES=require: no room for {} in every rank's huge "
                                "page pool; allowed: auto, off",
                                format_bytes(byte_count)));
    }
  }
  return Status(StatusKind::kInternal, Scope::kOperation, "no page size left to try");
}

Result<std::unique_ptr<Window>> ShmFabric::make_window(std::size_t byte_count) {
  CROSSDOCK_RETURN_IF_ERROR(health());
  CROSSDOCK_RETURN_IF_ERROR(check_host_memory(byte_count));
  CROSSDOCK_ASSIGN_OR_RETURN(auto segments, make_segments(byte_count));
  return std::unique_ptr<Window>(std::make_unique<ShmWindow>(rank_, std::move(segments), engine_));
}

// --- collectives of the set-up -------------------------------------------------------------------

Result<std::vector<MeshMessage>> ShmFabric::exchange(std::uint32_t purpose,
                                                     std::span<const std::byte> mine, int fd) {
  auto messages = mesh_->exchange(purpose, mine, fd, make_deadline());
  if (messages.ok()) {
    return messages;
  }
  // A peer may have hung up because it knows of another's end: its page says so. A dead process's
  // sockets close a little before its descriptor tells, so look for a while.
  constexpr int kLooks = 20;
  for (int look = 0; look < kLooks && messages.status().kind() == StatusKind::kPeerDead; ++look) {
    CROSSDOCK_RETURN_IF_ERROR(look_at_peers(std::chrono::milliseconds(10), -1));
  }
  return fail(messages.status());
}

Result<Blobs> ShmFabric::all_gather(std::span<const std::byte> mine) {
  CROSSDOCK_RETURN_IF_ERROR(health());
  CROSSDOCK_ASSIGN_OR_RETURN(auto messages, exchange(kAllGather, mine, -1));
  Blobs blobs;
  for (MeshMessage& message : messages) {
    blobs.push_back(std::move(message.bytes));
  }
  return blobs;
}

Result<std::unique_ptr<Fabric>> ShmFabric::split(int colour) {
  CROSSDOCK_RETURN_IF_ERROR(health());
  CROSSDOCK_ASSIGN_OR_RETURN(const auto colours, exchange(kSplit, bytes_of(colour), -1));
  std::vector<std::size_t> members;  // ranks here, ascending
  int child_rank = 0;
  for (std::size_t peer = 0; peer < colours.size(); ++peer) {
    int theirs = 0;
    std::memcpy(&theirs, colours[peer].bytes.data(),
                std::min(colours[peer].bytes.size(), sizeof theirs));
    if (theirs == colour) {
      child_rank = static_cast<int>(peer) == rank_ ? static_cast<int>(members.size()) : child_rank;
      members.push_back(peer);
    }
  }
  // The child gathers through its parent: every rank is in some child, so all take part.
  const Gather gather = [&](std::span<const std::byte> mine) -> Result<Blobs> {
    CROSSDOCK_ASSIGN_OR_RETURN(auto all, all_gather(mine));
    Blobs chosen;
    for (const std::size_t member : members) {
      chosen.push_back(std::move(all[member]));
    }
    return chosen;
  };
  return open(child_rank, static_cast<int>(members.size()), gather, options_);
}

}  // namespace crossdock::fabric
