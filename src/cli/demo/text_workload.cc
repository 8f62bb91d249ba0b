// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/status_macros.h"
#include "cli/demo/dense.h"
#include "cli/demo/moe_layer.h"
#include "cli/demo/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::demo {
namespace {

constexpr std::array kUsualTexts = {"/usr/share/common-licenses/GPL-3",
                                    "/usr/share/common-licenses/GPL-2",
                                    "/usr/share/common-licenses/Apache-2.0"};
constexpr std::uintmax_t kTextBytesMax = std::uintmax_t{256} << 20;

Status bad_text(const std::string& path, const std::string& what) {
  return {StatusKind::kInvalidArgument, Scope::kProcess,
          fmt::format("text {}: {}", quote(path), what)};
}

Result<std::string> chosen_path(const std::string& path) {
  if (!path.empty()) {
    return path;
  }
  for (const char* usual : kUsualTexts) {
    std::error_code ignored;
    if (std::filesystem::exists(usual, ignored)) {
      return std::string(usual);
    }
  }
  return bad_text(kUsualTexts.front(), "not there; name another with --text FILE");
}

Result<std::vector<unsigned char>> read_text(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  std::ifstream file(path, std::ios::binary);
  if (!file || is_folder) {
    return bad_text(path, is_folder ? "a folder; allowed: a file" : std::strerror(errno));
  }
  std::vector<unsigned char> text;
  std::array<char, 65536> block;
  while (file.read(block.data(), block.size()), file.gcount() > 0) {
    text.insert(text.end(), block.begin(), block.begin() + file.gcount());
    if (text.size() > kTextBytesMax) {
      return bad_text(path, fmt::format("more than {} bytes", kTextBytesMax));
    }
  }
  if (text.empty()) {
    return bad_text(path, "0 bytes; allowed: at least 1");
  }
  return text;
}

class TextWorkload final : public Workload {
 public:
  TextWorkload(TextOptions options, std::string path, std::vector<unsigned char> text)
      : options_(std::move(options)),
        path_(std::move(path)),
        text_(std::move(text)),
        layer_(options_.layer) {}

  [[nodiscard]] std::int64_t hidden() const override { return options_.layer.hidden; }
  [[nodiscard]] int topk() const override { return options_.layer.topk; }
  [[nodiscard]] int experts() const override { return options_.layer.experts; }
  [[nodiscard]] ElementType element() const override { return ElementType::kBf16; }
  [[nodiscard]] std::int64_t tokens_of(int /*rank*/) const override {
    return options_.tokens_per_rank;
  }
  [[nodiscard]] std::int64_t max_tokens_per_rank() const override {
    return options_.tokens_per_rank;
  }
  [[nodiscard]] RankInput input(std::uint64_t round, int rank) override {
    const std::size_t hidden_size = options_.layer.hidden_size();
    const std::size_t row_bytes = hidden_size * element_bytes(ElementType::kBf16);
    RankInput input;
    input.token_count = options_.tokens_per_rank;
    input.tokens.resize(static_cast<std::size_t>(input.token_count) * row_bytes);
    std::vector<float> row(hidden_size);
    for (std::int64_t token = 0; token < input.token_count; ++token) {
      std::byte* const narrow_row =
          input.tokens.data() + static_cast<std::size_t>(token) * row_bytes;
      layer_.embed(text_, position(round, rank, token), row);
      narrow(ElementType::kBf16, row, narrow_row);
      widen(ElementType::kBf16, narrow_row, row);  // The gate sees what the experts will see.
      const Gate gate = layer_.gate(row);
      input.topk_ids.insert(input.topk_ids.end(), gate.experts.begin(), gate.experts.end());
      input.topk_weights.insert(input.topk_weights.end(), gate.weights.begin(), gate.weights.end());
    }
    return input;
  }
  void expert(int expert, std::span<const float> row, std::span<float> out) override {
    layer_.expert(expert, row, out);
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} ({} bytes)", path_, text_.size());
  }
  [[nodiscard]] std::string describe_token(std::uint64_t round, int rank,
                                           std::int64_t token) const override {
    const std::size_t at = position(round, rank, token);
    const std::size_t begin = at < 12 ? 0 : at - 12;
    const std::string before(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                             text_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::string here(1, static_cast<char>(text_[at]));
    return fmt::format("byte {} of the text, {} after {}", at, quote(here), quote(before));
  }

 private:
  [[nodiscard]] std::size_t position(std::uint64_t round, int rank, std::int64_t token) const {
    const auto per_rank = static_cast<std::uint64_t>(options_.tokens_per_rank);
    const std::uint64_t part =
        round * static_cast<std::uint64_t>(options_.ranks) + static_cast<std::uint64_t>(rank);
    return (part * per_rank + static_cast<std::uint64_t>(token)) % text_.size();
  }

  TextOptions options_;
  std::string path_;
  std::vector<unsigned char> text_;
  MoeLayer layer_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_text_workload(const TextOptions& options) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string path, chosen_path(options.path));
  CROSSDOCK_ASSIGN_OR_RETURN(std::vector<unsigned char> text, read_text(path));
  return std::unique_ptr<Workload>(std::make_unique<TextWorkload>(options, path, std::move(text)));
}

}  // namespace crossdock::demo
