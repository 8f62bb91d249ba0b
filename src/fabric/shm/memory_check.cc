// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/memory_check.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/bytes.h"

namespace crossdock::fabric {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) {
    return std::nullopt;
  }
  if (text == "max") {
    return kUnlimited;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// The value after `key` in files of "key value" or "key: value kB" lines.
std::optional<std::uint64_t> read_field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  std::uint64_t value = 0;
  std::string rest;
  while (file >> name >> value) {
    std::getline(file, rest);
    if (name == key) {
      return value;
    }
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache_field;
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

void tighten(MemoryRoom& room, const fs::path& group, const GroupFiles& files) {
  const auto limit = read_number(group / files.limit);
  const auto usage = read_number(group / files.usage);
  if (!limit || !usage || *limit == kUnlimited) {
    return;
  }
  const std::uint64_t cache = read_field(group / "memory.stat", files.cache_field).value_or(0);
  const std::uint64_t used = *usage > cache ? *usage - cache : 0;
  const std::uint64_t left = *limit > used ? *limit - used : 0;
  if (left < room.available_bytes) {
    room = {left, (group / files.limit).string()};
  }
}

// A limit anywhere between the group and the root binds.
void tighten_upwards(MemoryRoom& room, const fs::path& mount, std::string_view group,
                     const GroupFiles& files) {
  fs::path relative = fs::path(group).relative_path();
  while (true) {
    tighten(room, mount / relative, files);
    if (relative.empty()) {
      return;
    }
    relative = relative.parent_path();
  }
}

}  // namespace

MemoryRoom memory_room(const std::string& proc_root, const std::string& cgroup_root) {
  MemoryRoom room{kUnlimited, "MemAvailable"};
  if (const auto kib = read_field(fs::path(proc_root) / "meminfo", "MemAvailable:")) {
    room.available_bytes = *kib * 1024;
  }
  std::ifstream groups(fs::path(proc_root) / "self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // "0::/path" (v2) or "7:memory:/path" (v1)
    std::istringstream fields(line);
    std::string number;
    std::string controllers;
    std::string path;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (controllers.empty()) {
      tighten_upwards(room, cgroup_root, path, kVersion2);
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      tighten_upwards(room, fs::path(cgroup_root) / "memory", path, kVersion1);
    }
  }
  return room;
}

Status check_memory(std::uint64_t needed_bytes, const MemoryRoom& room) {
  if (needed_bytes <= room.available_bytes) {
    return {};
  }
  return {
      StatusKind::kNoMemory, Scope::kOperation,
      fmt::format("shared memory: needed {} ({} bytes, all ranks of this host), available {} ({} "
                  "bytes), limited by {}; nothing was touched",
                  format_bytes(needed_bytes), needed_bytes, format_bytes(room.available_bytes),
                  room.available_bytes, room.limit)};
}

}  // namespace crossdock::fabric
