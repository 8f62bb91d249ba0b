// SPDX-License-Identifier: Apache-2.0
// Words by people, kept in a file of their own and tied to stable ids. What no longer fits is told,
// never dropped. The format is in docs/explorer-schema.md. Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"
#include "explore/model.h"

namespace crossdock::explore {

class Overlay {
 public:
  /// kInvalidArgument names the path and what is wrong.
  static Result<Overlay> parse(std::string_view text, const std::string& path);
  ~Overlay();
  Overlay(Overlay&&) noexcept;
  Overlay& operator=(Overlay&&) noexcept;

  /// Names of functions that are to be roots.
  [[nodiscard]] std::vector<std::string> roots() const;
  /// Verdicts on edges, before reachability is computed from them.
  void apply_to_edges(Project& project);
  /// Names, merges and summaries of stages, after they were proposed; calls finish_stages().
  void apply_to_stages(Project& project);
  /// Notes on functions and segments, verdicts on marks; fills project.overlay. Last.
  void apply_notes(Project& project);

 private:
  struct Content;
  explicit Overlay(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace crossdock::explore
