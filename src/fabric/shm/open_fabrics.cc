// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/open_fabrics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "fabric/shm/presence.h"

namespace crossdock::fabric {
namespace {

struct OpenFabrics {
  std::mutex mutex;
  std::vector<std::weak_ptr<Segment>> presences;
  pid_t owner = ::getpid();
};

OpenFabrics& open_fabrics() {
  static auto* instance = new OpenFabrics;  // Never destroyed: the exit handler runs late.
  return *instance;
}

void close_all() {
  OpenFabrics& all = open_fabrics();
  const std::lock_guard lock(all.mutex);
  if (all.owner != ::getpid()) {
    return;  // A forked child's exit says nothing about its parent.
  }
  for (const auto& weak : all.presences) {
    if (const auto presence = weak.lock()) {
      reinterpret_cast<Presence*>(presence->bytes().data())->close();
    }
  }
}

}  // namespace

void close_at_exit(const std::shared_ptr<Segment>& presence) {
  OpenFabrics& all = open_fabrics();
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(close_all); });
  const std::lock_guard lock(all.mutex);
  if (all.owner != ::getpid()) {
    all.presences.clear();
    all.owner = ::getpid();
  }
  std::erase_if(all.presences, [](const auto& weak) { return weak.expired(); });
  all.presences.push_back(presence);
}

}  // namespace crossdock::fabric
