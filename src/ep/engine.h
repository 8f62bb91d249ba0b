// SPDX-License-Identifier: Apache-2.0
// The engine behind ElasticBuffer. Two recipes own all branching: dispatch() in dispatch.cc and
// combine() in combine.cc; their phases follow in call order, in the file that their name says.
//
// Every operation starts with one exchange of announcements (announce.cc). What every rank knows
// after it is equal, so all ranks go on or none does.
// Thread rule: its communicator's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/copy.h"
#include "collective/credits.h"
#include "collective/proof_channel.h"
#include "crossdock/elastic_buffer.h"
#include "ep/announcement.h"
#include "ep/layout.h"
#include "ep/round.h"
#include "ep/workers.h"
#include "fabric/fabric.h"
#include "protocol/counts_and_blocks.h"
#include "routing/landed.h"
#include "routing/layout.h"
#include "routing/routes.h"
#include "routing/split.h"
#include "schedule/schedule.h"
#include "trace/recorder.h"

namespace crossdock::ep {

using detail::Round;

class Engine {
 public:
  static Result<std::shared_ptr<Engine>> open(std::shared_ptr<fabric::Fabric> fabric,
                                              const BufferOptions& options);
  ~Engine();

  Result<std::shared_ptr<Round>> dispatch(const DispatchInput& input,
                                          const DispatchOptions& options);
  /// Along the routes of `plan`, a copy of a round of any engine.
  Result<std::shared_ptr<Round>> dispatch_again(const DispatchInput& input, const Round& plan,
                                                const RepeatOptions& options);
  Status combine(const CombineInput& input, Round& round, const CombineOutput& output,
                 const CombineOptions& options);
  /// After a streamed dispatch, see stream.cc; at once for any other round.
  Status wait_expert(const Round& round, int local_expert);
  Status wait_source(const Round& round, int source);
  Status wait_rows(const Round& round);
  /// This rank's part of an operation as a refusal: the peers hear of it, the engine works on.
  Status decline(OperationCode code, const Status& reason);
  /// Blocks until no peer reads this round's rows or outputs any more.
  Status wait_readers(const Round& round);
  [[nodiscard]] Dispatched view(const Round& round) const;

  [[nodiscard]] const BufferOptions& options() const { return options_; }
  [[nodiscard]] const MemoryPlan& memory() const { return memory_; }
  [[nodiscard]] const routing::ExpertSplit& split() const { return split_; }
  [[nodiscard]] trace::Recorder& recorder() { return recorder_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// The peers hear of it in their next operation; nobody is waited for.
  void close();
  /// An error beyond its own operation ends this engine: later operations return it at once.
  void remember(const Status& status);

 private:
  /// One operation in progress.
  struct Call {
    CollectiveOptions options;
    std::uint64_t ordinal = 0;
    std::uint64_t round = 0;
    trace::Operation operation = trace::Operation::kNone;
    Deadline deadline;
    std::uint32_t region = 0;  // combine: where this rank's expert rows are
    Weights weights = Weights::kAny;
    int weights_rank = 0;  // whose `weights` are
    std::shared_ptr<Round> slot_round;
  };
  /// A round whose rows are still being sent or awaited; none: round is null.
  struct Stream {
    std::shared_ptr<Round> round;
    const std::byte* tokens = nullptr;  // the caller's
    StoreHint hint = StoreHint::kKeep;
    int next_step = 0;  // steps are local experts
  };
  enum Region : std::uint32_t { kNoRegion, kRowsRegion, kOutputsRegion };

  Engine(std::shared_ptr<fabric::Fabric> fabric, const BufferOptions& options,
         PlannedWindow planned, const routing::ExpertSplit& split);
  Status connect();
  Status agree_on_landing();
  [[nodiscard]] bool prefers_landing(std::int64_t token_count) const;
  Status usable() const;
  /// What this rank posted is performed: the caller's rows and the scratch below may change, and
  /// what it posted to itself, which no proof covers, is there. Free where puts are performed at
  /// once.
  Status settle(Deadline deadline);
  Call begin(OperationCode code);

  // dispatch.cc
  Result<std::shared_ptr<Round>> carry_out(const DispatchInput& input, Call& call,
                                           const Status& own);
  Status validate_dispatch(const DispatchInput& input, const DispatchOptions& options, Call& call);
  Status resolve_options(const DispatchInput& input, const DispatchOptions& options, Call& call);
  Status claim_slot(Call& call);
  Status resolve_names(std::string_view protocol, std::string_view schedule,
                       CollectiveOptions& agreed) const;
  Status check_input(const DispatchInput& input, Call& call) const;
  Status normalise_ids(const DispatchInput& input, Call& call);
  Status validate_repeat(const DispatchInput& input, const Round& plan,
                         const RepeatOptions& options, Call& call);
  static void follow(const Round& plan, Round& round);
  void commit(Call& call);
  Status exchange_rows(const DispatchInput& input, Call& call);
  Status await_rows(Call& call);

  // announce.cc
  Status announce(Call& call, const Status& own);
  Status reconcile(Call& call, const Status& own);
  static bool announces_counts(const Call& call);
  void write_counts(const Round& round);
  void write_announcement(const Call& call, const Status& own);
  Status prove_announced(const Call& call, const trace::Stage& stage, const char* phase);
  static Status merge_weights(Weights theirs, int source, Call& call);
  [[nodiscard]] AnnouncementHead read_head(int source) const;
  [[nodiscard]] std::string_view read_refusal(int source, const AnnouncementHead& head) const;
  [[nodiscard]] routing::CountMatrix expert_matrix() const;  // [R, E], as announced
  [[nodiscard]] routing::CountMatrix token_matrix() const;   // [R, R], as announced

  // throughput.cc
  Status locate_rows(Call& call);
  Status check_counts(const Call& call) const;
  void locate_expanded(Round& round);
  void locate_plain(Round& round);
  void count_sources(Round& round) const;
  void post_rows(const DispatchInput& input, Call& call, StoreHint hint);
  void post_step(const DispatchInput& input, const Round& round, StoreHint hint);
  bool post_step_shared(const DispatchInput& input, const Round& round, StoreHint hint);
  template <typename PostRow>
  void for_each_row(const Round& round, std::size_t first_token, std::size_t end_token,
                    const PostRow& post_row) const;
  void close_peer(int peer, const Round& round, collective::ProofChannel& proof);
  [[nodiscard]] std::uint64_t rows_for(int peer, const Round& round) const;

  // metadata.cc
  void pack_metadata(const DispatchInput& input, const Round& round);
  void pack_expanded(const DispatchInput& input, const Round& round);
  void pack_plain(const DispatchInput& input, const Round& round);
  void pack_scale(const DispatchInput& input, std::size_t token, std::uint64_t place);
  [[nodiscard]] std::uint64_t packed_place(const Round& round, std::size_t group,
                                           std::int64_t row) const {
    return packed_begin_[group] + static_cast<std::uint64_t>(row - round.first_row[group]);
  }
  void post_metadata(int peer, const Round& round);
  void post_group_metadata(int peer, std::size_t group, const Round& round);
  void finish_metadata(const Round& round);
  void zero_gaps(Call& call);
  void define_suffix(Round& round);

  // stream.cc (streamed arrival)
  Status begin_stream(const DispatchInput& input, Call& call);
  [[nodiscard]] bool all_sent() const;
  Status send_step();
  void send_group(int peer, int local);
  Status send_rest();
  Status finish_stream();
  [[nodiscard]] bool expert_arrived(int local, fabric::WaitFor& what) const;
  Status wait_sources_of(const Round& round, int local);

  // landing.cc (latency mode)
  void land_rows(const DispatchInput& input, Call& call);
  Status place_landed(Call& call);
  Status count_landed(Call& call);
  void place_source(int source, Round& round);
  void place_row(std::int64_t row, const std::byte* from, const RoundSlotLayout& slot);
  [[nodiscard]] routing::LandedSource landed_source(int source) const;
  [[nodiscard]] std::uint64_t landed_scale_at() const;

  // race.cc (racing mode)
  void race_rows(const DispatchInput& input, Call& call);
  void race_counts(const Round& round);
  void race_route(const DispatchInput& input, std::size_t route, const Round& round);
  Status settle_race(Call& call);
  [[nodiscard]] bool poll_race(Call& call, Status& fault, fabric::WaitFor& what);
  bool look_for_counts(Status& fault, fabric::WaitFor& what);
  Status locate_raced(Call& call);
  bool take_blocks(Round& round, Status& fault, fabric::WaitFor& what);
  Status take_block(int source, int local, Round& round, std::uint64_t flag);
  [[nodiscard]] std::int64_t raced_row(std::size_t route, const Round& round);

  // push.cc (combine by pushing)
  Status push_combine(const CombineInput& input, Round& round, const CombineOutput& output,
                      const Call& call);
  Status await_pushed(const Call& call);
  Status push_rows(const CombineInput& input, const Round& round, const Call& call);
  void push_row(std::int64_t row, const CombineInput& input, const Round& round, const Call& call);
  void take_pushed_weights(const Round& round, std::span<float> weights) const;

  // combine.cc
  Status pull_combine(const CombineInput& input, Round& round, const CombineOutput& output,
                      const Call& call);
  Status choose_path(const CombineOptions& options, Call& call) const;
  Status validate_combine(const CombineInput& input, const Round& round,
                          const CombineOutput& output, Call& call) const;
  [[nodiscard]] Status check_weights(const CombineInput& input, const Round& round,
                                     const CombineOutput& output, const Call& call) const;
  Status stage_output(const CombineInput& input, const Round& round, Call& call);
  Status read_rows(const CombineInput& input, Round& round, const CombineOutput& output,
                   const Call& call);
  Status find_region(int owner, const Round& round);
  Status learn_rows(Round& round);
  /// `pushed`: where this rank's routes landed, or null when rows are read in their owners'
  /// regions.
  void reduce_tokens(const CombineInput& input, const Round& round, void* tokens, const Call& call,
                     const std::byte* pushed = nullptr);
  void gather_weights(const Round& round, std::span<float> weights);
  static bool wants_weights(const CollectiveOptions& options) {
    return options.topk_weights == static_cast<std::uint8_t>(TopkWeights::kGather);
  }
  [[nodiscard]] StoreHint choose_hint(std::uint64_t row_count) const;

  [[nodiscard]] std::byte* local_at(std::uint64_t offset) const {
    return window_->local().data() + offset;
  }
  template <typename T>
  [[nodiscard]] T* local_array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(local_at(offset));
  }
  [[nodiscard]] const RoundSlotLayout& slot_of(const Round& round) const {
    return layout_.slots[static_cast<std::size_t>(round.slot)];
  }
  [[nodiscard]] routing::Routes routes_of(const Round& round) const {
    return {round.experts, round.owners, options_.topk};
  }
  [[nodiscard]] static routing::ExpandedLayout groups_of(Round& round) {
    return {round.expert_begin, round.rows_per_expert, round.aligned_rows_per_expert, {}};
  }
  void put(int peer, std::uint64_t offset, std::span<const std::byte> from,
           StoreHint hint = StoreHint::kKeep) {
    queues_[static_cast<std::size_t>(peer)]->post_put({window_.get(), offset}, from,
                                                      fabric::Order::kRelaxed, hint);
  }

  const std::shared_ptr<fabric::Fabric> fabric_;
  const BufferOptions options_;
  const WindowLayout layout_;
  const MemoryPlan memory_;
  const ElementType output_element_;
  const routing::ExpertSplit split_;
  const int rank_;
  const int rank_count_;
  std::vector<std::int32_t> owner_of_;  // [expert]
  trace::Recorder recorder_;
  std::unique_ptr<fabric::Window> window_;
  std::vector<fabric::Queue*> queues_;  // [rank], lane 0
  std::unique_ptr<collective::ProofChannel> announce_;
  std::vector<std::unique_ptr<collective::ProofChannel>> row_proofs_;  // [protocol]
  std::vector<std::unique_ptr<schedule::Schedule>> schedules_;         // [schedule]
  std::unique_ptr<protocol::CountsAndBlocks> race_;
  Workers workers_;
  std::unique_ptr<collective::Credits> credits_;
  std::vector<std::shared_ptr<Round>> rounds_;  // [slot]
  std::uint64_t ordinal_ = 0;                   // operations begun
  std::uint64_t round_count_ = 0;               // dispatches that went through
  std::uint64_t combine_count_ = 0;             // combines that were decided, refused ones too
  bool ranks_share_cores_ = false;              // on any rank
  Stream stream_;
  Status fate_;  // not ok once closed, or once an operation was left half done

  // Scratch, sized once.
  std::vector<std::int64_t> next_start_;   // [E] expanded, [R] plain: next row of mine
  std::vector<std::int64_t> all_rows_;     // [E]: rows of all sources
  std::vector<std::int64_t> needed_rows_;  // [R]: rows that each rank receives
  std::vector<std::byte> announcement_;
  std::vector<AnnouncementHead> heads_;      // [R]: each peer's own, unchanged until settle()
  std::vector<std::uint32_t> landed_count_;  // [R]
  std::vector<std::uint8_t> in_group_;       // [R]
  std::vector<std::int32_t> packed_token_;   // send order: by expert or by rank
  std::vector<float> packed_weight_;
  std::vector<std::int32_t> packed_expert_;  // plain: [.., K]
  std::vector<std::byte> packed_scale_;
  std::vector<std::int32_t> packed_lane_;      // push combine, expanded
  std::vector<std::uint64_t> packed_begin_;    // [E] or [R], plus the end
  std::vector<const std::byte*> region_base_;  // [R]
  std::vector<std::int64_t> next_row_;         // [L], expanded: while landed rows are placed
  std::int64_t plain_row_ = 0;                 // plain: likewise
  std::vector<std::byte> landed_heads_;        // [latency_tokens], landed_row bytes each
  std::vector<std::byte> race_heads_;          // [routes], race_row bytes each
  std::vector<std::int32_t> next_block_;       // [E]: while blocks are sent
  bool race_is_located_ = false;
};

}  // namespace crossdock::ep
