// SPDX-License-Identifier: Apache-2.0
#include "ep/combine_path.h"

#include "base/check.h"

namespace crossdock::ep {
namespace {

using protocol::Question;

constexpr protocol::Contract kPull = {
    .name = "pull",
    .unit = "the expert rows of one rank in one combine",
    .proof = "the rank's announcement of the combine, and the data protocol's proof behind it",
    .needs = {},
    .answers =
        {{{Question::kWhatMakesPayloadVisible,
           "An owner announces after its experts have written; the announcement's tail, or a round "
           "of the data protocol, orders those stores before the readers' loads.",
           "ep/announce.cc:prove_announced"},
          {Question::kWhatTellsRoundsApart,
           "The announcement carries the operation's ordinal and the round of the handle, compared "
           "on all ranks before anything is read.",
           "ep/announce.cc:reconcile"},
          {Question::kWhoFreesTheReceiveSlot,
           "Nothing is received. Who frees the rows that were read: a readers-done credit of each "
           "reader, the ordinal of its last finished combine; an owner waits for all of them "
           "before "
           "anybody writes there.",
           "collective/credits.cc:wait_for_readers"},
          {Question::kWhenIsTheSendBufferFree,
           "Rows in the window: after wait_readers(). Rows elsewhere were copied into it: at once.",
           "ep/combine.cc:stage_output"},
          {Question::kHowAreQueuesJoined,
           "No queue carries rows; the announcement uses queue 0, the data protocol joins its own.",
           "ep/announce.cc:announce"}}},
    .rows_at_final_address = true,
    .explicit_epoch = true};

constexpr protocol::Contract kPush = {
    .name = "push",
    .unit = "the expert rows of one rank in one combine",
    .proof = "that of the data protocol, over the rows in the landing area; it comes last",
    .needs = {},
    .answers =
        {{{Question::kWhatMakesPayloadVisible,
           "Every row is a put of a round of the data protocol, and sums begin when the protocol "
           "says that all rows of all sources are there.",
           "ep/push.cc:push_combine"},
          {Question::kWhatTellsRoundsApart,
           "The data protocol's epoch. Places are fixed, one per route, so an old row can only lie "
           "where the same route's new one will be.",
           "ep/push.cc:push_row"},
          {Question::kWhoFreesTheReceiveSlot,
           "The tokens' rank, by its announcement of the combine, which it makes after the sums of "
           "the one before: rows are put only once all announcements are there, so one half is "
           "enough.",
           "ep/announce.cc:reconcile"},
          {Question::kWhenIsTheSendBufferFree,
           "As the data protocol says of its payload; with source_reusable_on_return when combine "
           "returns. No reader comes later, so no credit is needed.",
           "ep/push.cc:push_rows"},
          {Question::kHowAreQueuesJoined, "As the data protocol joins them.",
           "ep/push.cc:push_rows"}}},
    .rows_at_final_address = false,
    .explicit_epoch = true};

}  // namespace

CombinePath resolve_path(CombinePath wanted, const fabric::Guarantees& guarantees) {
  if (wanted != CombinePath::kAuto) {
    return wanted;
  }
  return guarantees.load_store_reach ? CombinePath::kPull : CombinePath::kPush;
}

Status check_path(CombinePath path, const fabric::Guarantees& guarantees) {
  if (path == CombinePath::kPush || guarantees.load_store_reach) {
    return {};
  }
  return {StatusKind::kUnsupported, Scope::kOperation,
          "path is pull, but peers' windows cannot be loaded here; allowed: auto, push"};
}

const protocol::Contract& combine_contract(CombinePath path) {
  CROSSDOCK_CHECK(path == CombinePath::kPull || path == CombinePath::kPush, "path {}",
                  static_cast<int>(path));
  return path == CombinePath::kPull ? kPull : kPush;
}

}  // namespace crossdock::ep
