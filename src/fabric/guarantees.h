// SPDX-License-Identifier: Apache-2.0
// What a fabric promises. A protocol states what it needs in the same terms; the pair is checked
// before the first byte moves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crossdock::fabric {

enum class PutOrder : std::uint8_t { kNone, kAligned128, kWhole };  // inside one put
enum class QueueOrder : std::uint8_t { kNone, kStrongOnly, kAll };  // inside one queue
enum class CrossQueueOrder : std::uint8_t { kNone, kOneDomain };    // across queues of a pair

struct Guarantees {
  std::size_t atomic_bytes = 8;  // an aligned value of this size is never seen torn
  PutOrder put_order = PutOrder::kNone;
  QueueOrder queue_order = QueueOrder::kStrongOnly;
  CrossQueueOrder cross_queue_order = CrossQueueOrder::kNone;
  bool event_after_data = true;           // a notify is never visible before its put's data
  bool delivered_once = true;             // no operation is performed twice
  bool remote_completion = true;          // flush() means performed at the target
  bool source_reusable_on_return = true;  // post_put copied (or consumed) its source
  bool load_store_reach = true;           // every peer is in the LSA team
};

}  // namespace crossdock::fabric
