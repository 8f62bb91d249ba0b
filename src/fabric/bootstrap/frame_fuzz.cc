// SPDX-License-Identifier: Apache-2.0
// Everything that reads bytes of an unproven peer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fabric/bootstrap/connection.h"
#include "fabric/bootstrap/frame.h"
#include "fabric/bootstrap/handshake.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  using namespace crossdock::fabric;
  const auto input = std::as_bytes(std::span(bytes, byte_count));
  const ParsedFrame parsed = parse_frame(input, kHandshakeBytesMax);
  if (parsed.outcome == ParseOutcome::kComplete) {
    const FrameView& frame = parsed.frame;
    const bool inside = frame.byte_count() <= input.size() &&
                        frame.payload.size() <= kHandshakeBytesMax &&
                        frame.tag.size() == kFrameTagBytes;
    // A signature by chance is as good as impossible: it means that nothing was checked.
    if (!inside || verify_frame(frame, derive_job_key("fuzz"))) {
      std::abort();
    }
    static_cast<void>(decode_join(frame.payload));
  }
  if (decode_error(input).ok()) {
    std::abort();
  }
  return 0;
}
