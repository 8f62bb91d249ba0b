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
    case ElementType::kFp16:
      return "fp16";
    case ElementType::kFp8E4m3:
      return "fp8_e4m3";
    case ElementType::kInt8:
      return "int8";
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
    case Mode::kRacing:
      return "racing";
  }
  return "unknown";
}

std::string_view to_string(CombinePath path) {
  switch (path) {
    case CombinePath::kAuto:
      return "auto";
    case CombinePath::kPull:
      return "pull";
    case CombinePath::kPush:
      return "push";
  }
  return "unknown";
}

std::string_view to_string(ReductionPlan plan) {
  switch (plan) {
    case ReductionPlan::kSingle:
      return "single";
    case ReductionPlan::kDeepEp:
      return "deepep";
  }
  return "unknown";
}

std::string_view to_string(Progress progress) {
  return progress == Progress::kThread ? "thread" : "caller";
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
