// SPDX-License-Identifier: Apache-2.0
// report_sample PATH [failed]: writes the sample report, for the browser test and for people who
// change the page. With "failed" it is a run that went wrong: failed, awkward text, dropped spans,
// clocks that differ.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "crossdock/status.h"
#include "report/report.h"
#include "report/testing/sample_report.h"

namespace {

void make_failed(crossdock::report::Report& report) {
  using namespace crossdock::report;
  report.title = "Failed </script><script>document.title='escaped'</script> & \"quoted\"";
  report.verdict = Verdict::kFailed;
  report.verdict_text = "rank 3, token 12, element 7: 0.5 expected, 0.25 found <!-- <b>";
  report.facts.push_back({"awkward <i>", "]]> </script> \xff", Origin::kSimulated, "<img src=x>"});
  report.traces.pop_back();
  report.traces.front().dropped_span_count = 12;
  report.traces.front().spans.front().stage = 900;
  report.traces.back().clock_domain ^= 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: report_sample PATH [failed]\n");
    return 2;
  }
  auto report = crossdock::report::testing::sample_report();
  if (argc > 2 && std::string_view(argv[2]) == "failed") {
    make_failed(report);
  }
  const crossdock::Status status = crossdock::report::write_report(report, argv[1]);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.to_string());
    return 3;
  }
  return 0;
}
