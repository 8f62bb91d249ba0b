// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .npy file: no crash, no memory beyond the input's own size, and what is accepted
// can be written and read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "base/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  using namespace crossdock;
  const auto input = std::as_bytes(std::span(bytes, byte_count));
  const Result<NpyArray> first = parse_npy(input, "input");
  if (!first.ok()) {
    CROSSDOCK_CHECK(first.status().message().find('\n') == std::string_view::npos);
    return 0;
  }
  CROSSDOCK_CHECK(first->bytes.size() <= byte_count);
  std::string file = make_npy_header(first->type, first->shape);
  file.append(reinterpret_cast<const char*>(first->bytes.data()), first->bytes.size());
  const Result<NpyArray> second = parse_npy(std::as_bytes(std::span(file)), "again");
  CROSSDOCK_CHECK(second.ok(), "{}", second.status().to_string());
  CROSSDOCK_CHECK(second->bytes == first->bytes && second->shape == first->shape);
  return 0;
}
