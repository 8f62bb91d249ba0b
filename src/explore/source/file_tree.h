// SPDX-License-Identifier: Apache-2.0
// Which files of a tree are read, and their content. Folders are visited in order of their names;
// hidden ones, build outputs and installed packages are left out; a link is followed once.
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "crossdock/status.h"
#include "explore/model.h"

namespace crossdock::explore {

struct LoadLimits {
  std::uint64_t file_bytes_max = std::uint64_t{16} << 20;   // larger ones are listed, not read
  std::uint64_t tree_bytes_max = std::uint64_t{512} << 20;  // of all files together
  std::size_t files_max = 20000;
};

/// Fills files (text, language, hash), provenance.name and warnings of `project`. kInvalidArgument
/// when a path does not exist or nothing in it can be read.
Status load_files(const std::vector<std::string>& paths, const LoadLimits& limits,
                  Project& project);

/// By the file's name; C headers count as C++, and what uses device words is CUDA or Ascend C.
[[nodiscard]] Language language_of(std::string_view path, std::string_view text);

}  // namespace crossdock::explore
