// SPDX-License-Identifier: Apache-2.0
// A completion protocol's contract: what it needs of a fabric, and its answers to the five
// questions that every protocol must answer, each naming the function that implements the answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric/guarantees.h"

namespace crossdock::protocol {

enum class Question : std::uint8_t {
  kWhatMakesPayloadVisible,  // before its proof
  kWhatTellsRoundsApart,     // this round's proof from an older one
  kWhoFreesTheReceiveSlot,   // lets the sender overwrite it
  kWhenIsTheSendBufferFree,
  kHowAreQueuesJoined,  // proofs of several queues
};

struct Answer {
  Question question;
  std::string_view words;           // one or two sentences
  std::string_view implemented_by;  // "file:function", checked by a test
};

/// The least a fabric must promise.
struct Needs {
  std::size_t atomic_bytes = 8;
  fabric::QueueOrder queue_order = fabric::QueueOrder::kNone;
  bool remote_completion = false;
  bool delivered_once = false;
  bool event_after_data = false;  // of a put and the event fused with it
};

struct Contract {
  std::string_view name;
  std::string_view unit;   // smallest piece that carries its own proof
  std::string_view proof;  // what the receiver looks at
  Needs needs;
  std::array<Answer, 5> answers;
  bool rows_at_final_address = true;  // false: rows land in a staging area and are unpacked
  bool explicit_epoch = true;         // the proof names its round
};

}  // namespace crossdock::protocol
