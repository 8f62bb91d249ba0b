// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_arena.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "crossdock/communicator.h"
#include "crossdock/status.h"
#include "fabric/shm/memory_check.h"

namespace crossdock::cli {

Result<bench::Arena> make_checked_arena(const bench::ArenaShape& shape) {
  CROSSDOCK_RETURN_IF_ERROR(fabric::check_memory(bench::arena_bytes(shape), fabric::memory_room()));
  return bench::Arena::make(shape);
}

Result<bench::Arena> open_shared_arena(Communicator& communicator, const bench::ArenaShape& shape) {
  std::optional<bench::Arena> made;
  if (communicator.rank() == 0) {
    CROSSDOCK_ASSIGN_OR_RETURN(made, make_checked_arena(shape));
  }
  const std::string mine = made ? made->path() : "";
  CROSSDOCK_ASSIGN_OR_RETURN(const auto paths,
                             communicator.all_gather(std::as_bytes(std::span(mine))));
  if (made) {
    CROSSDOCK_RETURN_IF_ERROR(communicator.barrier());  // The others have opened it.
    return std::move(*made);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(
      bench::Arena opened,
      bench::Arena::open(
          std::string(reinterpret_cast<const char*>(paths[0].data()), paths[0].size()), shape));
  CROSSDOCK_RETURN_IF_ERROR(communicator.barrier());
  return opened;
}

}  // namespace crossdock::cli
