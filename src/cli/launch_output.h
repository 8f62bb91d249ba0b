// SPDX-License-Identifier: Apache-2.0
// Output of many ranks on one stream: whole lines, never mixed, never blocking.
#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/launch.h"

namespace crossdock::cli {

/// Our own stdout or stderr with a queue before it. The descriptor stays in blocking mode, for it
/// is shared with whoever started us; so it is only written to when poll() says that there is room.
class OutputSink {
 public:
  explicit OutputSink(int fd);

  void append(std::string_view text);
  [[nodiscard]] bool has_pending() const { return sent_ < queue_.size(); }
  /// The reader is too slow: take no more from the ranks for now.
  [[nodiscard]] bool is_full() const;
  /// Nobody reads any more.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] int fd() const { return fd_; }
  /// Call when poll() says POLLOUT (or an error).
  void write_some();
  void discard();

 private:
  int fd_;
  std::size_t piece_bytes_;
  std::string queue_;
  std::size_t sent_ = 0;
  bool is_broken_ = false;
};

/// Cuts what ranks write into lines. A line that stays unfinished is passed on after a short
/// while (a prompt, a progress bar); when another rank writes meanwhile, it is broken visibly.
class LineMerger {
 public:
  /// Gets a piece of a line: with its line break at the end, or the unfinished rest of one.
  using Emit = std::function<void(int rank, std::string_view text)>;

  LineMerger(int rank_count, Emit emit);

  void add(int rank, std::string_view bytes, Instant now);
  /// The rank writes no more: its unfinished line goes out.
  void finish(int rank);
  /// Passes on unfinished lines that waited long enough.
  void flush_old(Instant now);
  /// When flush_old() has something to do next.
  [[nodiscard]] Deadline next_flush() const;
  /// Unfinished lines wait for their end or finish() only.
  void keep_lines_whole() { keeps_lines_whole_ = true; }

 private:
  struct Rest {
    std::string text;
    Instant since{};
  };
  void flush(Rest& rest, int rank);

  std::vector<Rest> rests_;  // [rank]
  Emit emit_;
  bool keeps_lines_whole_ = false;
};

/// Writes pieces of lines to a sink so that each line belongs to one rank.
class LineWriter {
 public:
  LineWriter(OutputSink& sink, RankOutput format) : sink_(sink), format_(format) {}

  void write(int rank, std::string_view text);
  /// A line of our own.
  void note(std::string_view line);

 private:
  void close_line();

  OutputSink& sink_;
  RankOutput format_;
  std::optional<int> open_rank_;  // whose unfinished line is the last thing on the sink
};

}  // namespace crossdock::cli
