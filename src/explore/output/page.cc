// SPDX-License-Identifier: Apache-2.0
#include "explore/output/page.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock::explore {

Result<std::string> make_page(std::string_view page_template, std::string_view document) {
  constexpr std::string_view kOpen = R"(<script type="application/json" id="explore-data">)";
  constexpr std::string_view kPlace =
      R"(<script type="application/json" id="explore-data"></script>)";
  const std::size_t at = page_template.find(kPlace);
  if (at == std::string_view::npos || page_template.find(kPlace, at + 1) != page_template.npos) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  "the page's template has no place for the data; allowed: a template made by the "
                  "build of web/");
  }
  std::string page;
  page.reserve(page_template.size() + document.size() + document.size() / 16);
  page += page_template.substr(0, at + kOpen.size());
  for (const char c : document) {
    if (c == '<') {
      page += "\\u003c";  // No "</script>" and no "<!--" of the source ends the element.
    } else {
      page += c;
    }
  }
  page += page_template.substr(at + kOpen.size());
  return page;
}

}  // namespace crossdock::explore
