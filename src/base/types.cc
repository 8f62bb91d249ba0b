// SPDX-License-Identifier: Apache-2.0
#include "crossdock/types.h"

#include <string_view>

namespace crossdock {

std::string_view to_string(ElementType element) {
  switch (element) {
    case ElementType::kBf16:
      return "bf16";
    case ElementType::kFp32:
      return "fp32";
    case ElementType::kBytes:
      return "bytes";
  }
  return "unknown";
}

std::string_view to_string(RowLayout layout) {
  switch (layout) {
    case RowLayout::kPlain:
      return "plain";
    case RowLayout::kExpanded:
      return "expanded";
  }
  return "unknown";
}

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kAuto:
      return "auto";
    case Mode::kThroughput:
      return "throughput";
    case Mode::kLatency:
      return "latency";
  }
  return "unknown";
}

std::string_view to_string(Way way) {
  switch (way) {
    case Way::kAuto:
      return "auto";
    case Way::kDirect:
      return "direct";
    case Way::kQueued:
      return "queued";
  }
  return "unknown";
}

}  // namespace crossdock
