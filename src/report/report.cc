// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/parse.h"
#include "base/status_macros.h"
#include "report/assets.h"
#include "report/report_json.h"
#include "trace/check_traces.h"
#include "trace/text_file.h"

namespace crossdock::report {
namespace {

Status refuse(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kOperation, "report: " + std::move(message)};
}

Status check_routes(const RouteMap& routes) {
  const std::size_t expert_count = routes.expert_rank.size();
  if (routes.rank_count <= 0 || expert_count == 0 ||
      routes.routes.size() != static_cast<std::size_t>(routes.rank_count) * expert_count) {
    return refuse(fmt::format("{} route counts for {} ranks x {} experts", routes.routes.size(),
                              routes.rank_count, expert_count));
  }
  for (std::size_t expert = 0; expert < expert_count; ++expert) {
    const int owner = routes.expert_rank[expert];
    if (owner < 0 || owner >= routes.rank_count) {
      return refuse(fmt::format("expert {} is owned by rank {}; ranks are 0..{}", expert, owner,
                                routes.rank_count - 1));
    }
  }
  return {};
}

Status check_bars(const BarGroup& group) {
  for (const Bar& bar : group.bars) {
    if (!std::isfinite(bar.value) || bar.value < 0) {
      return refuse(
          fmt::format("bar {} of {} is {}", quote(bar.name), quote(group.title), bar.value));
    }
  }
  return {};
}

Status check_plot(const Plot& plot) {
  std::size_t point_count = 0;
  for (const PlotLine& line : plot.lines) {
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y) || x <= 0 || y <= 0) {
        return refuse(fmt::format("point ({}, {}) of {} in {}; allowed: above 0", x, y,
                                  quote(line.name), quote(plot.title)));
      }
    }
    point_count += line.points.size();
  }
  return point_count > 0 ? Status() : refuse(fmt::format("{} has no points", quote(plot.title)));
}

Status check_report(const Report& report) {
  if (report.routes) {
    CROSSDOCK_RETURN_IF_ERROR(check_routes(*report.routes));
  }
  if (!report.traces.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(trace::check_traces(report.traces));
  }
  for (const BarGroup& group : report.bars) {
    CROSSDOCK_RETURN_IF_ERROR(check_bars(group));
  }
  for (const Plot& plot : report.plots) {
    CROSSDOCK_RETURN_IF_ERROR(check_plot(plot));
  }
  return {};
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

// Inside a script element only "<" can end it or open a comment; JSON allows it as an escape.
std::string escape_script_data(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (const char character : json) {
    if (character == '<') {
      escaped += "\\u003c";
    } else {
      escaped += character;
    }
  }
  return escaped;
}

// One pass over the template, so that inserted text is never searched for marks.
std::string fill_template(std::string_view page, std::string_view title, std::string_view data) {
  const std::pair<std::string_view, std::string_view> parts[] = {{"{{title}}", title},
                                                                 {"{{style}}", assets::kStyle},
                                                                 {"{{data}}", data},
                                                                 {"{{script}}", assets::kScript}};
  std::string html;
  while (!page.empty()) {
    std::size_t nearest = page.size();
    const std::pair<std::string_view, std::string_view>* part = nullptr;
    for (const auto& candidate : parts) {
      const std::size_t at = page.find(candidate.first);
      if (at < nearest) {
        nearest = at;
        part = &candidate;
      }
    }
    html += page.substr(0, nearest);
    page.remove_prefix(nearest);
    if (part != nullptr) {
      html += part->second;
      page.remove_prefix(part->first.size());
    }
  }
  return html;
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kSimulated:
      return "simulated";
    case Origin::kDerived:
      return "derived";
    case Origin::kPublished:
      return "published";
    case Origin::kAssumed:
      return "assumed";
  }
  return "?";
}

Result<std::string> make_html(const Report& report) {
  CROSSDOCK_RETURN_IF_ERROR(check_report(report));
  return fill_template(assets::kPage, escape_html(report.title),
                       escape_script_data(make_report_json(report)));
}

Status write_report(const Report& report, const std::string& path) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string html, make_html(report));
  return trace::write_text_file(path, html);
}

}  // namespace crossdock::report
