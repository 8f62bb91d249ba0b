// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/ctags.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace crossdock::explore {
namespace {

constexpr std::size_t kFilesPerRun = 200;  // Keeps the command line short.

void add_line(std::string_view line, std::map<std::string, std::vector<CtagsFunction>>& out) {
  const nlohmann::json tag = nlohmann::json::parse(line, nullptr, false);
  if (!tag.is_object() || tag.value("_type", "") != "tag" || !tag.contains("path")) {
    return;
  }
  const std::string kind = tag.value("kind", "");
  if (kind == "function" || kind == "member" || kind == "method") {
    out[tag.value("path", "")].push_back(
        {tag.value("name", ""), tag.value("scope", ""), tag.value("line", 0)});
  }
}

}  // namespace

Result<std::map<std::string, std::vector<CtagsFunction>>> run_ctags(
    const RunProgram& run, const std::vector<std::string>& files) {
  std::map<std::string, std::vector<CtagsFunction>> out;
  for (std::size_t begin = 0; begin < files.size(); begin += kFilesPerRun) {
    std::vector<std::string> argv = {"ctags",
                                     "--quiet=yes",
                                     "--options=NONE",
                                     "--output-format=json",
                                     "--fields=+nsK",
                                     "--languages=C,C++,Python",
                                     "--map-C++=+.cu",
                                     "--map-C++=+.cuh",
                                     "--map-C++=+.asc",
                                     "--map-C++=+.h",
                                     "--kinds-C=f",
                                     "--kinds-C++=f",
                                     "--kinds-Python=fm",
                                     "-f",
                                     "-"};
    const std::size_t end = std::min(files.size(), begin + kFilesPerRun);
    argv.insert(argv.end(), files.begin() + static_cast<std::ptrdiff_t>(begin),
                files.begin() + static_cast<std::ptrdiff_t>(end));
    CROSSDOCK_ASSIGN_OR_RETURN(const std::string tags, run(argv));
    for (std::size_t at = 0; at < tags.size();) {
      const std::size_t newline = std::min(tags.find('\n', at), tags.size());
      add_line(std::string_view(tags).substr(at, newline - at), out);
      at = newline + 1;
    }
  }
  return out;
}

}  // namespace crossdock::explore
