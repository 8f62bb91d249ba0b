// SPDX-License-Identifier: Apache-2.0
// One work request, as it lies in a send ring: what an operation of the seam's Queue becomes when
// somebody else carries it out later. A notify is two requests of one reservation: its put, and a
// strong signal behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy.h"
#include "fabric/fabric.h"

namespace crossdock::fabric {

enum class RequestKind : std::uint8_t { kPut, kValue, kSignal, kFence };

struct Request {
  RemoteAddress to = {};
  const std::byte* from = nullptr;  // kPut: read by the target until the request is completed
  std::uint64_t byte_count = 0;     // kPut
  std::uint64_t value = 0;          // kValue: what is written; kSignal: what is added
  RequestKind kind = RequestKind::kFence;
  Order order = Order::kStrong;
  StoreHint hint = StoreHint::kKeep;
};
// With its done mark a request is one cache line.
static_assert(sizeof(Request) == 48);

}  // namespace crossdock::fabric
