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

struct OpenFabric {
  std::weak_ptr<Segment> presence;
  std::weak_ptr<CopyEngine> engine;
};

struct OpenFabrics {
  std::mutex mutex;
  std::vector<OpenFabric> fabrics;
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
  for (const OpenFabric& fabric : all.fabrics) {
    if (const auto engine = fabric.engine.lock()) {
      engine->quiesce();
    }
    if (const auto presence = fabric.presence.lock()) {
      reinterpret_cast<Presence*>(presence->bytes().data())->close();
    }
  }
}

}  // namespace

void close_at_exit(const std::shared_ptr<Segment>& presence,
                   const std::shared_ptr<CopyEngine>& engine) {
  OpenFabrics& all = open_fabrics();
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(close_all); });
  const std::lock_guard lock(all.mutex);
  if (all.owner != ::getpid()) {
    all.fabrics.clear();
    all.owner = ::getpid();
  }
  std::erase_if(all.fabrics, [](const OpenFabric& fabric) { return fabric.presence.expired(); });
  all.fabrics.push_back({presence, engine});
}

}  // namespace crossdock::fabric
