// SPDX-License-Identifier: Apache-2.0
// Dispatch and combine for mixture-of-experts layers: tokens go to the ranks of their experts,
// expert outputs come back and are summed. Symbols: R ranks, E experts, K = top-k, T tokens of this
// rank, H elements per token.
//
// Experts are split over the ranks in order; the first E % R ranks own one more.
// Thread rule: a buffer belongs to the thread of its communicator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crossdock/communicator.h"
#include "crossdock/status.h"
#include "crossdock/ticket.h"
#include "crossdock/types.h"

namespace crossdock {

/// What a buffer is made for. All fields but those about threads must be equal on all ranks: a
/// difference is kMismatch on every rank, naming the field, two ranks and both values.
struct BufferOptions {
  std::int64_t max_tokens_per_rank = 0;  // capacity; a dispatch may bring 0 .. this many tokens
  std::int64_t hidden = 0;  // elements per row; H * element size may be any whole bytes
  int topk = 0;             // lanes per token, 1 .. 128
  int experts = 0;          // E >= R, K <= E
  ElementType element = ElementType::kBf16;  // of tokens and dispatched rows
  /// Of expert outputs and combined tokens: a type that is_summable(). Empty: as `element`.
  std::optional<ElementType> output_element = {};
  /// Bytes that travel beside every row and are never looked at (the scales of fp8 or int8 rows),
  /// 0 .. 65536. 0: none.
  std::int64_t scale_bytes = 0;
  /// Rows a rank can receive in one round (expanded: alignment gaps included). 0: the smaller of
  /// the worst case and what `memory_budget` allows.
  std::int64_t row_capacity = 0;
  /// Largest expert alignment that a dispatch may ask for (used for the worst case), 1 .. 65536.
  std::int64_t max_expert_alignment = 1;
  /// Tokens per rank that the latency mode can carry: its landing area is made for them. 0: none.
  std::int64_t latency_tokens = 128;
  /// Tokens per rank that the racing mode can carry: its landing area has a block for each of them,
  /// each local expert and each source, twice. 0: none.
  std::int64_t racing_tokens = 0;
  /// Rounds whose handles may be alive at the same time, 1 .. 8; each has rows of its own.
  int open_rounds = 1;
  /// kPush: combines push unless they ask to pull, and the window has a landing area of
  /// max_tokens_per_rank x topk output rows for it.
  CombinePath combine_path = CombinePath::kAuto;
  /// Threads of this rank that move and sum rows, the caller's included, 1 .. 256; helpers sleep
  /// between calls. Results are the same bits for any number. May differ between ranks.
  int threads = 1;
  /// A thread is woken when there are at least so many bytes for each.
  std::uint64_t thread_bytes_min = 256 << 10;
  std::uint64_t memory_budget_bytes = 0;  // per rank; 0: setting CROSSDOCK_MEMORY_BUDGET
  std::string protocol = "auto";          // auto | tail_fence | counted | barrier
  std::string schedule = "auto";          // auto | direct | rotation
};

/// Bytes of one rank's windows, from the one formula that the allocator and the engine use.
struct MemoryPlan {
  std::int64_t row_capacity = 0;
  std::int64_t worst_case_rows = 0;
  std::uint64_t control_bytes = 0;    // counts, proofs, credits
  std::uint64_t landing_bytes = 0;    // latency mode: two halves x R sources
  std::uint64_t racing_bytes = 0;     // racing mode: two halves x R sources x L experts
  std::uint64_t push_bytes = 0;       // push combine: a row for each route of this rank's tokens
  std::uint64_t rows_bytes = 0;       // received rows, open_rounds x row_capacity
  std::uint64_t outputs_bytes = 0;    // expert outputs, likewise
  std::uint64_t metadata_bytes = 0;   // origins, ids, weights and scales of received rows
  std::uint64_t requested_bytes = 0;  // sum before page alignment
  std::uint64_t reserved_bytes = 0;   // after alignment: what is asked of the system
  std::uint64_t touched_bytes = 0;    // known to be written in every round; the rest on demand
};
/// Pure; allocates nothing; kAuto paths are those of one host. Errors as ElasticBuffer::open for
/// the same options.
Result<MemoryPlan> plan_memory(const BufferOptions& options, int rank_count);

/// Expert ids of this rank's tokens, [T, K] row-major, 32 or 64 bit. [t, k] means: lane k of token
/// t goes to that expert; -1: the lane is unused. An expert may not repeat inside a token.
class TopkIds {
 public:
  TopkIds() = default;
  TopkIds(std::span<const std::int32_t> ids) : narrow_(ids) {}                   // NOLINT
  TopkIds(std::span<const std::int64_t> ids) : wide_(ids), is_wide_(true) {}     // NOLINT
  TopkIds(const std::vector<std::int32_t>& ids) : narrow_(ids) {}                // NOLINT
  TopkIds(const std::vector<std::int64_t>& ids) : wide_(ids), is_wide_(true) {}  // NOLINT
  [[nodiscard]] bool is_wide() const { return is_wide_; }
  [[nodiscard]] std::span<const std::int32_t> narrow() const { return narrow_; }
  [[nodiscard]] std::span<const std::int64_t> wide() const { return wide_; }
  [[nodiscard]] std::size_t size() const { return is_wide_ ? wide_.size() : narrow_.size(); }

 private:
  std::span<const std::int32_t> narrow_;
  std::span<const std::int64_t> wide_;
  bool is_wide_ = false;
};

struct DispatchInput {
  const void* tokens = nullptr;              // [T, H], packed
  std::int64_t token_count = 0;              // T, may differ between ranks, may be 0
  TopkIds topk_ids = {};                     // [T, K]
  std::span<const float> topk_weights = {};  // [T, K] or empty
  const void* scales = nullptr;              // [T, scale_bytes]; null when scale_bytes is 0
  /// [L] or empty: the routes received per local expert, before alignment, are added to it.
  std::span<std::int64_t> receive_statistics = {};
};

/// Equal on all ranks (checked every round): layout, mode, alignment, padding, max_tokens, names,
/// and whether weights are given.
struct DispatchOptions {
  RowLayout layout = RowLayout::kPlain;
  Mode mode = Mode::kAuto;
  std::int64_t expert_alignment = 1;
  Padding padding = Padding::kUndefined;
  RowCount row_count = RowCount::kExact;
  Arrival arrival = Arrival::kComplete;
  std::int64_t max_tokens_per_rank = 0;  // bound of this call for kAuto; 0: the buffer's
  std::string_view protocol = {};        // empty: the buffer's
  std::string_view schedule = {};        // empty: the buffer's
};

/// Of a dispatch along a plan; equal on all ranks. The rest is the plan's.
struct RepeatOptions {
  Padding padding = Padding::kUndefined;
  Arrival arrival = Arrival::kComplete;
  std::string_view protocol = {};  // empty: the buffer's
  std::string_view schedule = {};  // empty: the buffer's
};

/// One lane of one of this rank's tokens: where its row went.
struct RouteStep {
  int lane = 0;
  int expert = -1;
  int rank = -1;                    // the expert's rank
  std::int64_t row = -1;            // row index there
  std::uint64_t window_offset = 0;  // byte offset of that row in the rank's window
  std::uint64_t row_bytes = 0;
};

namespace detail {
struct Round;
}

/// The routes of a dispatched round, without its rows, for ElasticBuffer::dispatch_again(). A copy:
/// it keeps no round open and outlives the handle.
class DispatchPlan {
 public:
  DispatchPlan() = default;
  [[nodiscard]] bool valid() const { return round_ != nullptr; }
  [[nodiscard]] std::int64_t token_count() const;

 private:
  friend class Handle;
  friend class ElasticBuffer;
  explicit DispatchPlan(std::shared_ptr<const detail::Round> round) : round_(std::move(round)) {}
  std::shared_ptr<const detail::Round> round_;
};

/// Names one dispatched round for its combine. Dropping it closes the round on this rank.
class Handle {
 public:
  Handle() = default;
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&&) noexcept = default;
  [[nodiscard]] bool valid() const { return round_ != nullptr; }
  [[nodiscard]] std::uint64_t round() const;
  [[nodiscard]] RowLayout layout() const;
  [[nodiscard]] Mode mode() const;
  [[nodiscard]] std::string_view protocol() const;
  [[nodiscard]] std::string_view schedule() const;
  [[nodiscard]] std::int64_t token_count() const;
  [[nodiscard]] std::int64_t row_count() const;
  /// The journey of one of this rank's tokens, one entry per used lane. In latency and racing
  /// mode rows are known after the first combine that pulls; before it they are -1.
  [[nodiscard]] std::vector<RouteStep> routes(std::int64_t token) const;
  [[nodiscard]] DispatchPlan plan() const;

 private:
  friend class ElasticBuffer;
  explicit Handle(std::shared_ptr<detail::Round> round) : round_(std::move(round)) {}
  std::shared_ptr<detail::Round> round_;
};

/// What a rank received. Spans are views into the buffer: valid until the handle is dropped or the
/// round's slot is reused. N = row_count, L = local experts.
struct Dispatched {
  Handle handle;
  std::int64_t row_count = 0;         // expanded: alignment gaps included
  std::int64_t filled_row_count = 0;  // without the suffix of RowCount::kWorstCase
  std::byte* rows = nullptr;          // [N, H], writable: experts may work in place
  std::byte* outputs =
      nullptr;  // [N, H], in the window: experts may write here, combine copies nothing
  /// Plain: [N, K], local expert id (global - first) of each lane, -1 for lanes not here.
  std::span<const std::int32_t> topk_ids;
  /// Plain: [N, K], the sender's whole row, not masked. Expanded: [N], the route's own weight, 0 in
  /// gaps. Empty when no weights were sent.
  std::span<const float> topk_weights;
  /// [N, scale_bytes], writable; null when the buffer has none. Undefined in gaps unless padded.
  std::byte* scales = nullptr;
  /// [N]: source rank and source token of each row; -1 in gaps.
  std::span<const std::int32_t> source_rank;
  std::span<const std::int32_t> source_token;
  /// [L]: routes received per local expert, before and after alignment.
  std::span<const std::int64_t> rows_per_expert;
  std::span<const std::int64_t> aligned_rows_per_expert;
  /// Expanded: [L], first row of each local expert (aligned start).
  std::span<const std::int64_t> expert_begin;
  /// [R]: plain: rows per source. Expanded: routes per source.
  std::span<const std::int64_t> rows_per_source;
};

struct CombineInput {
  /// Expert outputs, [N, H] in the layout of the round, of the output element type.
  /// Dispatched::rows (when both types are equal) or ::outputs are read in place by the peers;
  /// anything else is copied into the window first. Rows behind the filled ones are never read.
  const void* rows = nullptr;
  std::int64_t row_count = 0;
  /// Up to two biases, [T, H] of the output element type; null: none. They begin each sum, in
  /// order.
  std::array<const void*, 2> biases = {};
  /// [T, K] or empty: each route's row is multiplied by its weight (fp32, one rounding each) before
  /// it is added. Expanded layout only; in the plain one a row stands for several lanes.
  std::span<const float> gate_weights = {};
  /// With CombineOptions::topk_weights = kGather: one weight per route of this rank's rows, plain
  /// [N, K] (only lanes that are here count), expanded [N].
  std::span<const float> topk_weights = {};
};

/// What a combine writes. A pointer to tokens alone is enough.
struct CombineOutput {
  CombineOutput(void* combined) : tokens(combined) {}  // NOLINT(google-explicit-constructor)
  CombineOutput(void* combined, std::span<float> weights)
      : tokens(combined), topk_weights(weights) {}

  void* tokens;                        // [T, H]
  std::span<float> topk_weights = {};  /// [T, K] with kGather: from the rank of each lane's expert
};

/// kGather: the weights that the ranks of the experts hold come back to their tokens, unchanged (a
/// round trip is a copy); unused lanes become 0.
enum class TopkWeights : std::uint8_t { kNone, kGather };

/// Equal on all ranks (checked every time).
struct CombineOptions {
  ReductionPlan plan = ReductionPlan::kSingle;
  TopkWeights topk_weights = TopkWeights::kNone;
  CombinePath path = CombinePath::kAuto;  // kAuto: the buffer's; kPush needs a buffer made for it
};

namespace detail {
class DispatchJob;
}

/// A posted dispatch.
class DispatchTicket : public Ticket {
 public:
  DispatchTicket() = default;
  /// What dispatch() would have returned; waits for it. Once: a second call is kInvalidArgument.
  Result<Dispatched> take();

 private:
  friend class ElasticBuffer;
  DispatchTicket(std::shared_ptr<detail::Executor> executor,
                 std::shared_ptr<detail::DispatchJob> job);
};

namespace trace {
class Recorder;
}
namespace trace_access {
struct Access;
}

class ElasticBuffer {
 public:
  /// Collective. Errors on every rank: kMismatch, kInvalidArgument (value and what is allowed),
  /// kNoMemory (needed, available, which limit; nothing was touched), kTimeout, kPeerDead.
  static Result<ElasticBuffer> open(Communicator& communicator, const BufferOptions& options);

  ElasticBuffer(ElasticBuffer&&) noexcept;
  ElasticBuffer& operator=(ElasticBuffer&&) noexcept;
  ~ElasticBuffer();

  /// Collective, blocking. A bad argument (kInvalidArgument, kCapacity) is reported by its rank
  /// before anything is sent; the others get kPeerRefused naming that rank; the buffer then works
  /// on. kCapacity on all ranks when a rank would receive more than row_capacity rows. kBusy when
  /// the handle of round n - open_rounds is still alive.
  Result<Dispatched> dispatch(const DispatchInput& input, const DispatchOptions& options = {});

  /// Collective, blocking: other tokens along the routes of an earlier dispatch, as many as then,
  /// into the same rows. No ids are given and no counts are exchanged; weights may be given or not.
  /// All ranks use the plans of one round. Errors as dispatch.
  Result<Dispatched> dispatch_again(const DispatchInput& input, const DispatchPlan& plan,
                                    const RepeatOptions& options = {});

  /// Collective, blocking: the tokens [T, H] of this rank become the sums of their expert rows, in
  /// fp32 and in ascending lane order (plain layout: a rank's row sits at the token's highest lane
  /// there): biases, then rows, starting from the first that there is, rounded as the plan says. A
  /// token without routes becomes its bias, or zero. A handle may be combined again. Errors as
  /// dispatch; kUnsupported for output elements that cannot be summed.
  Status combine(const CombineInput& input, Handle& handle, const CombineOutput& output,
                 const CombineOptions& options = {});

  /// After a streamed dispatch; both blocking. The rows of a local expert (0 .. L - 1), or of a
  /// source rank, are here when they return, others may still be on their way. These calls,
  /// wait_rows() and every later operation also send this rank's own rows, expert by expert: until
  /// all are sent the tokens must stay as they are. At once when the rows have arrived before.
  Status wait_expert(const Handle& handle, int local_expert);
  Status wait_source(const Handle& handle, int source_rank);
  /// Blocks until all rows of the round are here and this rank's tokens are free.
  Status wait_rows(const Handle& handle);

  /// Blocks until no peer reads this round's rows or outputs any more. Call it before writing into
  /// those views again after a combine of the same handle; dispatch and combine wait by themselves.
  Status wait_readers(const Handle& handle);

  /// As dispatch(), but returns at once (ticket.h): what `input` names must stay as it is until the
  /// ticket has ended. Operations of a communicator run in the order of their posts; all ranks post
  /// in the same order. Blocking calls first wait for everything posted.
  DispatchTicket post_dispatch(const DispatchInput& input, const DispatchOptions& options = {});

  /// As combine(), likewise. The handle may be dropped meanwhile.
  Ticket post_combine(const CombineInput& input, const Handle& handle, const CombineOutput& output,
                      const CombineOptions& options = {});

  [[nodiscard]] const BufferOptions& options() const;
  [[nodiscard]] const MemoryPlan& memory() const;
  [[nodiscard]] int first_local_expert() const;
  [[nodiscard]] int local_expert_count() const;
  /// Idempotent; never waits for peers. Their next operation gets kClosed naming this rank.
  void close();

 private:
  friend struct trace_access::Access;
  struct Impl;
  explicit ElasticBuffer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace crossdock
