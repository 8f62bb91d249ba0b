// SPDX-License-Identifier: Apache-2.0
#include "explore/source/file_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "explore/source/sha256.h"

namespace crossdock::explore {
namespace {

namespace fs = std::filesystem;

bool is_left_out(const std::string& folder) {
  constexpr std::array<std::string_view, 6> kNames = {"node_modules", "__pycache__", "build",
                                                      "dist",         "third_party", "third-party"};
  return folder.starts_with('.') || std::find(kNames.begin(), kNames.end(), folder) != kNames.end();
}

bool has_suffix(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

bool is_source(std::string_view path) {
  return has_suffix(path, {".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".cu", ".cuh",
                           ".asc", ".inl", ".inc", ".py"});
}

class Collector {
 public:
  Collector(const LoadLimits& limits, Project& project) : limits_(limits), project_(project) {}

  std::vector<fs::path> collect(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      visit(fs::path(path), true);
    }
    return std::move(files_);
  }

 private:
  void warn(std::string_view kind, const fs::path& path, std::string text) {
    project_.warnings.push_back({std::string(kind), path.string(), 0, std::move(text)});
  }

  void visit(const fs::path& path, bool is_named) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error) {
      warn("unreadable", path, error.message());
      return;
    }
    if (fs::is_directory(status)) {
      visit_folder(path);
    } else if (fs::is_regular_file(status)) {
      add_file(path, is_named);
    } else if (is_named) {
      warn("unreadable", path, "neither a file nor a folder");
    }
  }

  void add_file(const fs::path& path, bool is_named) {
    if (!is_named && !is_source(path.filename().string())) {
      return;
    }
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (!seen_.insert(error ? path : real).second) {
      return;  // Another link to the same file.
    }
    if (files_.size() >= limits_.files_max) {
      ++project_.files_skipped;
      return;
    }
    files_.push_back(error ? path : real);
  }

  void visit_folder(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error || !seen_.insert(real).second) {
      if (fs::is_symlink(path)) {
        warn("link", path, "a link to a folder that was already visited");
      }
      return;
    }
    std::vector<fs::path> children;
    fs::directory_iterator it(real, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      children.push_back(it->path());
    }
    if (error) {
      warn("unreadable", path, error.message());
    }
    std::sort(children.begin(), children.end());
    for (const fs::path& child : children) {
      const std::string name = child.filename().string();
      if (!is_left_out(name)) {
        visit(child, false);
      } else if (!name.starts_with('.')) {
        warn("left-out", child, "folders of this name are not read unless they are named");
      }
    }
  }

  const LoadLimits& limits_;
  Project& project_;
  std::set<fs::path> seen_;
  std::vector<fs::path> files_;
};

fs::path common_folder(const std::vector<fs::path>& files) {
  fs::path common = files.front().parent_path();
  for (const fs::path& file : files) {
    const auto [in_common, in_file] =
        std::mismatch(common.begin(), common.end(), file.begin(), file.end());
    if (in_common != common.end()) {
      fs::path shorter;
      std::for_each(common.begin(), in_common, [&](const fs::path& part) { shorter /= part; });
      common = shorter;
    }
  }
  return common;
}

/// The folder that was named alone, else what all files have in common.
fs::path base_folder(const std::vector<std::string>& paths, const std::vector<fs::path>& files) {
  std::error_code error;
  const fs::path only = fs::canonical(paths.front(), error);
  return paths.size() == 1 && !error && fs::is_directory(only) ? only : common_folder(files);
}

bool read_file(const fs::path& path, std::string& into) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return false;
  }
  into.assign(std::istreambuf_iterator<char>(stream), {});
  return !stream.bad();
}

void set_text(SourceFile& file, std::string_view bytes) {
  file.byte_count = bytes.size();
  file.sha256 = sha256_hex(bytes);
  DecodedText decoded = decode_text(bytes);
  file.encoding = decoded.encoding;
  file.language = language_of(file.path, decoded.text);
  file.text = SourceText(std::move(decoded.text));
}

/// Folders above a Python file count when they are packages.
void set_modules(Project& project) {
  std::set<std::string> packages;
  for (const auto& file : project.files) {
    const fs::path path(file->path);
    if (path.filename() == "__init__.py") {
      packages.insert(path.parent_path().generic_string());
    }
  }
  for (const auto& file : project.files) {
    const fs::path path(file->path);
    std::string module = path.stem().string();
    fs::path folder = path.parent_path();
    if (module == "__init__" && !folder.empty()) {
      module = folder.filename().string();
      folder = folder.parent_path();
    }
    while (packages.contains(folder.generic_string()) && !folder.empty()) {
      module = folder.filename().string() + "." + module;
      folder = folder.parent_path();
    }
    file->module = module;
  }
}

}  // namespace

Language language_of(std::string_view path, std::string_view text) {
  const auto uses = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return text.find(word) != std::string_view::npos;
    });
  };
  if (path.ends_with(".py")) {
    return Language::kPython;
  }
  if (path.ends_with(".cu") || path.ends_with(".cuh")) {
    return Language::kCuda;
  }
  if (path.ends_with(".asc") ||
      uses({"__aicore__", "__simt_vf__", "AscendC::", "__simt_callee__"})) {
    return Language::kAscendC;
  }
  if (path.ends_with(".c")) {
    return Language::kC;
  }
  if (uses({"__global__", "__device__"})) {
    return Language::kCuda;
  }
  return is_source(path) ? Language::kCpp : Language::kText;
}

Status load_files(const std::vector<std::string>& paths, const LoadLimits& limits,
                  Project& project) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return {StatusKind::kInvalidArgument, Scope::kOperation,
              fmt::format("{}: no such file or folder", quote(path))};
    }
  }
  const std::vector<fs::path> found = Collector(limits, project).collect(paths);
  if (found.empty()) {
    return {StatusKind::kInvalidArgument, Scope::kOperation,
            fmt::format("{}: nothing to read; allowed: C, C++, CUDA, Ascend C and Python sources",
                        quote(paths.front()))};
  }
  const fs::path base = base_folder(paths, found);
  project.provenance.name = base.filename().string();
  project.provenance.paths = paths;
  std::uint64_t total = 0;
  for (const fs::path& path : found) {
    auto file = std::make_unique<SourceFile>();
    file->absolute = path.string();
    file->path = path.lexically_relative(base).generic_string();
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    std::string bytes;
    if (!error && (size > limits.file_bytes_max || total + size > limits.tree_bytes_max)) {
      project.warnings.push_back({"too-large", file->path, 0, fmt::format("{} bytes", size)});
      ++project.files_skipped;
    } else if (error || !read_file(path, bytes)) {
      project.warnings.push_back({"unreadable", file->path, 0, "cannot be read"});
      ++project.files_skipped;
    } else {
      total += size;
      set_text(*file, bytes);
      if (file->encoding == "repaired") {
        project.warnings.push_back(
            {"encoding", file->path, 0, "bytes that are no UTF-8 are shown as U+FFFD"});
      }
      project.files.push_back(std::move(file));
    }
  }
  set_modules(project);
  if (project.files_skipped > 0 && found.size() >= limits.files_max) {
    project.warnings.push_back({"too-many", project.provenance.name, 0,
                                fmt::format("{} files were not read", project.files_skipped)});
  }
  return {};
}

}  // namespace crossdock::explore
