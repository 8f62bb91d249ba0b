// SPDX-License-Identifier: Apache-2.0
// What the program's own rooms may reach behind a public buffer.
#pragma once

#include "crossdock/elastic_buffer.h"
#include "trace/recorder.h"

namespace crossdock::trace_access {
struct Access {
  static trace::Recorder& recorder(ElasticBuffer& buffer);
};
}  // namespace crossdock::trace_access

namespace crossdock::detail {

/// Records while enabled; see trace/recorder.h. Lives as long as the buffer.
[[nodiscard]] trace::Recorder& recorder(ElasticBuffer& buffer);

}  // namespace crossdock::detail
