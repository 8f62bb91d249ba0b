// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "crossdock/status.h"

namespace crossdock {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreambleBytesV1 = 10;
constexpr std::size_t kPreambleBytesV2 = 12;

struct TypeRow {
  NpyType type;
  std::string_view descr;
  std::size_t bytes;
};
constexpr std::array<TypeRow, 7> kTypes = {{{NpyType::kF2, "<f2", 2},
                                            {NpyType::kF4, "<f4", 4},
                                            {NpyType::kF8, "<f8", 8},
                                            {NpyType::kI4, "<i4", 4},
                                            {NpyType::kI8, "<i8", 8},
                                            {NpyType::kU1, "|u1", 1},
                                            {NpyType::kU2, "<u2", 2}}};
constexpr std::string_view kTypesAllowed = "<f2, <f4, <f8, <i4, <i8, |u1, <u2";
static_assert(kTypes[static_cast<std::size_t>(NpyType::kU2)].type == NpyType::kU2);

const TypeRow& row_of(NpyType type) { return kTypes.at(static_cast<std::size_t>(type)); }

/// Reads the dict of a header, left to right. Every function returns nothing at the first byte that
/// the grammar does not allow, and `at` then stands there.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t at() const { return at_; }

  /// Skips spaces, then takes `letter` if it is next.
  bool take(char letter) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == letter) {
      ++at_;
      return true;
    }
    return false;
  }

  std::optional<std::string_view> take_string() {
    skip_spaces();
    for (const char quote : {'\'', '"'}) {
      if (at_ < text_.size() && text_[at_] == quote) {
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) {
          return std::nullopt;
        }
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return inside;
      }
    }
    return std::nullopt;
  }

  std::optional<bool> take_bool() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>("True", true),
                                      std::pair<std::string_view, bool>("False", false)}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    return std::nullopt;
  }

  /// "()", "(3,)", "(3, 4)", "(3, 4,)"; a sole number needs its comma, as in Python. At most one
  /// dimension more than allowed is read, so that the caller can tell.
  std::optional<std::vector<std::uint64_t>> take_shape() {
    if (!take('(')) {
      return std::nullopt;
    }
    std::vector<std::uint64_t> shape;
    bool comma = true;
    while (!take(')')) {
      std::uint64_t dimension = 0;
      if (!comma || shape.size() > kNpyDimensionsMax || !take_number(dimension)) {
        return std::nullopt;
      }
      shape.push_back(dimension);
      comma = take(',');
    }
    if (shape.size() == 1 && !comma) {
      return std::nullopt;
    }
    return shape;
  }

  /// Only spaces and one final line break are left.
  [[nodiscard]] bool at_end() {
    skip_spaces();
    return at_ + 1 == text_.size() && text_[at_] == '\n';
  }

 private:
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }

  bool take_number(std::uint64_t& into) {
    skip_spaces();
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), into);
    if (error != std::errc()) {
      return false;
    }
    at_ += static_cast<std::size_t>(stop - begin);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Status bad_file(std::string_view name, std::string_view found, std::string_view allowed) {
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("{}: {}; allowed: {}", quote(name), found, allowed)};
}

/// The header's text and where the data begin.
struct HeaderText {
  std::string_view dict;
  std::uint64_t data_offset = 0;
};

Result<HeaderText> find_header(std::span<const std::byte> begin, std::uint64_t file_bytes,
                               std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  if (!text.starts_with(kMagic) || text.size() < kPreambleBytesV2) {
    return bad_file(name, "no .npy file", "files that begin with \\x93NUMPY");
  }
  const auto byte_at = [&](std::size_t at) { return std::to_integer<std::uint32_t>(begin[at]); };
  const std::uint32_t major = byte_at(6);
  if ((major != 1 && major != 2) || byte_at(7) != 0) {
    return bad_file(name, fmt::format("format version {}.{}", major, byte_at(7)), "1.0 and 2.0");
  }
  const std::size_t preamble = major == 1 ? kPreambleBytesV1 : kPreambleBytesV2;
  std::uint64_t length = byte_at(8) | (byte_at(9) << 8);
  if (major == 2) {
    length |= (byte_at(10) << 16) | (byte_at(11) << 24);
  }
  if (length > kNpyHeaderBytesMax || preamble + length > file_bytes ||
      preamble + length > begin.size()) {
    return bad_file(name, fmt::format("a header of {} bytes", length),
                    fmt::format("at most {} and not beyond the file's {} bytes", kNpyHeaderBytesMax,
                                file_bytes));
  }
  return HeaderText{text.substr(preamble, static_cast<std::size_t>(length)), preamble + length};
}

struct Described {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

/// One key and its value; false when the grammar or a repeated or unknown key forbids it.
bool take_entry(DictReader& reader, Described& into) {
  const auto key = reader.take_string();
  if (!key || !reader.take(':')) {
    return false;
  }
  if (*key == "descr" && !into.descr) {
    into.descr = reader.take_string();
    return into.descr.has_value();
  }
  if (*key == "fortran_order" && !into.fortran_order) {
    into.fortran_order = reader.take_bool();
    return into.fortran_order.has_value();
  }
  if (*key == "shape" && !into.shape) {
    into.shape = reader.take_shape();
    return into.shape.has_value();
  }
  return false;
}

Result<Described> parse_dict(std::string_view dict, std::string_view name) {
  DictReader reader(dict);
  Described described;
  bool good = reader.take('{');
  bool comma = true;
  while (good && !reader.take('}')) {
    good = comma && take_entry(reader, described);
    comma = reader.take(',');
  }
  good = good && described.descr && described.fortran_order && described.shape && reader.at_end();
  if (!good) {
    return bad_file(name, fmt::format("header {} wrong at byte {}", quote(dict), reader.at()),
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } with at most 4 "
                    "dimensions, spaces, a line break");
  }
  return described;
}

}  // namespace

std::string_view to_string(NpyType type) { return row_of(type).descr; }

std::size_t element_bytes(NpyType type) { return row_of(type).bytes; }

void NpyArray::require_element_size(std::size_t wanted) const {
  CROSSDOCK_CHECK(wanted == element_bytes(type), "wanted {} bytes, element {} has {}", wanted,
                  to_string(type), element_bytes(type));
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> begin, std::uint64_t file_bytes,
                                   std::string_view name) {
  CROSSDOCK_ASSIGN_OR_RETURN(const HeaderText text, find_header(begin, file_bytes, name));
  CROSSDOCK_ASSIGN_OR_RETURN(Described described, parse_dict(text.dict, name));
  const auto* const row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& each) {
    return each.descr == *described.descr;
  });
  if (row == kTypes.end()) {
    return bad_file(name, fmt::format("element type {}", quote(*described.descr)), kTypesAllowed);
  }
  if (*described.fortran_order) {
    return bad_file(name, "fortran_order True", "False (numpy.ascontiguousarray helps)");
  }
  NpyHeader header{.type = row->type,
                   .shape = std::move(*described.shape),
                   .data_offset = text.data_offset,
                   .data_bytes = row->bytes};
  if (header.shape.size() > kNpyDimensionsMax) {
    return bad_file(name, fmt::format("{} dimensions", header.shape.size()),
                    fmt::format("at most {}", kNpyDimensionsMax));
  }
  std::optional<std::uint64_t> size = header.data_bytes;
  for (const std::uint64_t dimension : header.shape) {
    size = size ? checked_mul(*size, dimension) : size;
  }
  const std::uint64_t present = file_bytes - text.data_offset;
  if (!size || *size != present) {
    return bad_file(name, fmt::format("{} bytes of data", present),
                    fmt::format("{} for shape ({}) of {}",
                                size ? std::to_string(*size) : "more than 64 bits hold",
                                fmt::join(header.shape, ", "), row->descr));
  }
  header.data_bytes = *size;
  return header;
}

Result<NpyArray> parse_npy(std::span<const std::byte> file, std::string_view name) {
  CROSSDOCK_ASSIGN_OR_RETURN(NpyHeader header, parse_npy_header(file, file.size(), name));
  const auto data = file.subspan(static_cast<std::size_t>(header.data_offset));
  NpyArray array;
  array.type = header.type;
  array.shape = std::move(header.shape);
  array.bytes.assign(data.begin(), data.end());
  return array;
}

std::string make_npy_header(NpyType type, std::span<const std::uint64_t> shape) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", to_string(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t end = kPreambleBytesV1 + dict.size() + 1;
  dict.append(static_cast<std::size_t>(align_up(end, 64)) - end, ' ');
  dict += '\n';
  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace crossdock
