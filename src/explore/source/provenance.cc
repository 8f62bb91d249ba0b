// SPDX-License-Identifier: Apache-2.0
#include "explore/source/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "explore/source/sha256.h"

namespace crossdock::explore {

namespace {

/// Asked first, because git complains on stderr.
bool is_in_repository(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::path at = folder; !at.empty(); at = at.parent_path()) {
    if (std::filesystem::exists(at / ".git", error)) {
      return true;
    }
    if (at == at.root_path()) {
      break;
    }
  }
  return false;
}

}  // namespace

std::string hash_of_files(const Project& project) {
  std::string lines;
  for (const auto& file : project.files) {
    lines += fmt::format("{}  {}\n", file->sha256, file->path);
  }
  return sha256_hex(lines);
}

void set_provenance(Project& project, const std::string& command, const RunProgram& run_git) {
  Provenance& provenance = project.provenance;
  provenance.command = command;
  provenance.sha256 = hash_of_files(project);
  if (!run_git || project.files.empty()) {
    return;
  }
  std::string folder = project.files.front()->absolute;
  folder.resize(folder.size() - project.files.front()->path.size());
  if (!is_in_repository(folder)) {
    return;
  }
  const auto head = run_git({"git", "-C", folder, "rev-parse", "HEAD"});
  if (!head.ok()) {
    return;
  }
  provenance.commit = std::string(trimmed(*head));
  const auto changes = run_git({"git", "-C", folder, "status", "--porcelain", "--", "."});
  if (changes.ok()) {
    provenance.dirty = !trimmed(*changes).empty();
  }
}

}  // namespace crossdock::explore
