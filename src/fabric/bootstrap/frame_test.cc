// SPDX-License-Identifier: Apache-2.0
#include "fabric/bootstrap/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "fabric/bootstrap/connection.h"
#include "fabric/bootstrap/handshake.h"

namespace crossdock::fabric {
namespace {

using Bytes = std::vector<std::byte>;

const FrameHead kHead{.kind = FrameKind::kBlob, .rank = 0x01020304, .sequence = 0x1122334455667788};
const Key kKey = derive_job_key("secret");

Bytes sample_frame(std::size_t payload_bytes = 5) {
  Bytes frame;
  append_frame(frame, kHead, Bytes(payload_bytes, std::byte{0xab}), kKey);
  return frame;
}

TEST(Frame, HasTheDocumentedBytes) {
  const Bytes frame = sample_frame(2);
  const unsigned char header[] = {'X',  'C',  'D',  'K',  1,    0,    5,    0,
                                  4,    3,    2,    1,    2,    0,    0,    0,
                                  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  ASSERT_EQ(frame.size(), kFrameHeaderBytes + 2 + kFrameTagBytes);
  EXPECT_TRUE(std::equal(std::begin(header), std::end(header), frame.begin(),
                         [](unsigned char a, std::byte b) { return std::byte{a} == b; }));
}

TEST(Frame, WhatIsWrittenIsReadBack) {
  Bytes stream = sample_frame();
  const std::size_t first_bytes = stream.size();
  append_frame(stream, {.kind = FrameKind::kError, .rank = 1, .sequence = 2}, {}, kKey);
  const ParsedFrame first = parse_frame(stream, 5);
  ASSERT_EQ(first.outcome, ParseOutcome::kComplete);
  EXPECT_EQ(first.frame.head.kind, kHead.kind);
  EXPECT_EQ(first.frame.head.rank, kHead.rank);
  EXPECT_EQ(first.frame.head.sequence, kHead.sequence);
  EXPECT_EQ(first.frame.payload.size(), 5U);
  EXPECT_EQ(first.frame.byte_count(), first_bytes);
  EXPECT_TRUE(verify_frame(first.frame, kKey));
  EXPECT_FALSE(verify_frame(first.frame, derive_job_key("other")));
  const ParsedFrame second = parse_frame(std::span(stream).subspan(first_bytes), 0);
  ASSERT_EQ(second.outcome, ParseOutcome::kComplete);
  EXPECT_EQ(second.frame.head.kind, FrameKind::kError);
}

TEST(Frame, EveryProperPrefixIsIncomplete) {
  const Bytes frame = sample_frame();
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(parse_frame(std::span(frame).first(size), 5).outcome, ParseOutcome::kIncomplete)
        << size;
  }
}

TEST(Frame, EveryFlippedBitIsNoticed) {
  const Bytes frame = sample_frame();
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    Bytes damaged = frame;
    damaged[bit / 8] ^= std::byte(1U << (bit % 8));
    const ParsedFrame parsed = parse_frame(damaged, 1024);
    const bool accepted =
        parsed.outcome == ParseOutcome::kComplete && verify_frame(parsed.frame, kKey);
    EXPECT_FALSE(accepted) << "bit " << bit;
  }
}

TEST(Frame, APayloadOverTheLimitIsMalformedBeforeItArrives) {
  const Bytes frame = sample_frame(6);
  const ParsedFrame parsed = parse_frame(std::span(frame).first(kFrameHeaderBytes), 5);
  EXPECT_EQ(parsed.outcome, ParseOutcome::kMalformed);
  EXPECT_EQ(parsed.problem, "a frame larger than allowed here");
}

TEST(Frame, AForeignStartIsMalformedAfterFourBytes) {
  const std::string_view text = "GET ";
  EXPECT_EQ(parse_frame(std::as_bytes(std::span(text)), 5).outcome, ParseOutcome::kMalformed);
}

TEST(Frame, AnotherVersionSaysSo) {
  Bytes frame = sample_frame();
  frame[4] = std::byte{2};
  EXPECT_EQ(parse_frame(frame, 5).problem, "another version of the bootstrap protocol");
}

TEST(SessionKeys, DependOnSecretAndBothNoncesAndDirection) {
  const Nonce one = make_nonce();
  const Nonce two = make_nonce();
  const auto keys = derive_session_keys(kKey, one, two);
  EXPECT_NE(keys.to_root, keys.to_leaf);
  EXPECT_NE(keys.to_root, derive_session_keys(kKey, two, one).to_root);
  EXPECT_NE(keys.to_root, derive_session_keys(derive_job_key("other"), one, two).to_root);
  EXPECT_EQ(keys.to_root, derive_session_keys(kKey, one, two).to_root);
}

TEST(ErrorPayload, CarriesKindCulpritAndText) {
  const Status sent(StatusKind::kMismatch, Scope::kCommunicator, "rank 3 differs", 3);
  const Status received = decode_error(encode_error(sent));
  EXPECT_EQ(received.to_string(), sent.to_string());
  EXPECT_EQ(received.culprit(), 3);
  const Status nobody(StatusKind::kIo, Scope::kProcess, "text");
  EXPECT_EQ(decode_error(encode_error(nobody)).culprit(), -1);
}

TEST(ErrorPayload, AnUnreadableReasonIsStillAnError) {
  for (const std::size_t size : {0U, 7U, 8U, 9U}) {
    EXPECT_EQ(decode_error(Bytes(size)).kind(), StatusKind::kInternal) << size;
  }
  EXPECT_EQ(decode_error(Bytes(8, std::byte{0xff})).kind(), StatusKind::kInternal);
}

TEST(ErrorPayload, ALongTextIsCutAndStaysOnOneLine) {
  const Status sent(StatusKind::kIo, Scope::kProcess, std::string(5000, '\n'));
  const Status received = decode_error(encode_error(sent));
  EXPECT_LE(received.message().size(), 1024U);
  EXPECT_EQ(received.message().find('\n'), std::string_view::npos);
}

RC_GTEST_PROP(FrameProperty, AnyBytesAreParsedWithinTheirBounds,
              (const std::vector<std::uint8_t>& raw)) {
  Bytes bytes = sample_frame();
  for (std::size_t i = 0; i + 1 < raw.size(); i += 2) {
    bytes[raw[i] % bytes.size()] = std::byte{raw[i + 1]};
  }
  const ParsedFrame parsed = parse_frame(bytes, 64);
  if (parsed.outcome == ParseOutcome::kComplete) {
    RC_ASSERT(parsed.frame.byte_count() <= bytes.size());
    RC_ASSERT(parsed.frame.payload.size() <= 64U);
  } else {
    RC_ASSERT((parsed.outcome == ParseOutcome::kMalformed) == !parsed.problem.empty());
  }
}

}  // namespace
}  // namespace crossdock::fabric
