// SPDX-License-Identifier: Apache-2.0
// What a rank does to itself in the middle of its rounds, by name, for tables of faults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crossdock/elastic_buffer.h"

namespace crossdock::testing {

/// "WHAT@RANK:ROUND", e.g. "segv@2:10"; an empty text is no fault.
struct SelfFault {
  std::string what;
  int rank = -1;
  std::int64_t round = -1;
};
/// Ends the program with code 2 when `text` is none.
SelfFault parse_self_fault(std::string_view text);

/// Does it, in the middle of a round: after its dispatch, before its combine. Known: exit, _exit,
/// throw, abort, segv, interrupt, terminate, sleep2, memory (touches memory until it is killed),
/// fork (two children end, one by exit()), fork_use (a child dispatches and reports), descriptors
/// (takes 20,000), scribble (random bytes into the first 64 KiB of its own window).
void hurt_self(std::string_view what, ElasticBuffer& buffer, const Dispatched& dispatched,
               const DispatchInput& input);

}  // namespace crossdock::testing
