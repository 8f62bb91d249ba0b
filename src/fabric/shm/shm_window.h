// SPDX-License-Identifier: Apache-2.0
// Symmetric memory of the host backend: one segment per rank, all mapped here.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/shm/copy_engine.h"
#include "fabric/shm/segment.h"

namespace crossdock::fabric {

class ShmWindow final : public Window {
 public:
  /// `engine`: who may still be writing when the window goes; null with the direct way.
  ShmWindow(int rank, std::vector<std::shared_ptr<Segment>> segments,
            std::shared_ptr<CopyEngine> engine)
      : rank_(static_cast<std::size_t>(rank)),
        segments_(std::move(segments)),
        engine_(std::move(engine)) {
    for (const auto& segment : segments_) {
      spans_.push_back(segment->bytes());
    }
  }
  ~ShmWindow() override {
    if (engine_) {
      engine_->quiesce();
    }
  }
  ShmWindow(const ShmWindow&) = delete;
  ShmWindow& operator=(const ShmWindow&) = delete;
  [[nodiscard]] std::size_t byte_count() const override { return spans_[rank_].size(); }
  [[nodiscard]] std::span<std::byte> local() override { return spans_[rank_]; }
  [[nodiscard]] std::span<std::byte> peer(RankId rank) override {
    return spans_[static_cast<std::size_t>(rank.value)];
  }
  [[nodiscard]] std::string describe() const override {
    return segments_[rank_]->pages() == PageKind::kHuge ? "memfd, 2 MiB pages"
                                                        : "memfd, 4 KiB pages";
  }

 private:
  std::size_t rank_;
  std::vector<std::shared_ptr<Segment>> segments_;  // [rank]
  std::vector<std::span<std::byte>> spans_;         // [rank]
  std::shared_ptr<CopyEngine> engine_;
};

}  // namespace crossdock::fabric
