// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace crossdock::cli {
namespace {

constexpr std::size_t kQueueBytesMax = std::size_t{8} << 20;
constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;  // Longer lines go out in parts.
constexpr auto kPartialLineTime = std::chrono::milliseconds(100);

/// What one write() may have without blocking once poll() said POLLOUT.
std::size_t piece_bytes_of(int fd) {
  struct stat status{};
  const bool is_file = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? kQueueBytesMax : PIPE_BUF;
}

}  // namespace

OutputSink::OutputSink(int fd) : fd_(fd), piece_bytes_(piece_bytes_of(fd)) {}

void OutputSink::append(std::string_view text) {
  if (!is_broken_) {
    queue_ += text;
  }
}

bool OutputSink::is_full() const { return queue_.size() - sent_ > kQueueBytesMax; }

void OutputSink::write_some() {
  const auto piece = std::string_view(queue_).substr(sent_, piece_bytes_);
  const ssize_t count = ::write(fd_, piece.data(), piece.size());
  if (count < 0) {
    if (errno != EINTR && errno != EAGAIN) {
      is_broken_ = true;
      discard();
    }
    return;
  }
  sent_ += static_cast<std::size_t>(count);
  if (sent_ == queue_.size() || sent_ > kQueueBytesMax) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

void OutputSink::discard() {
  queue_.clear();
  sent_ = 0;
}

LineMerger::LineMerger(int rank_count, Emit emit)
    : rests_(static_cast<std::size_t>(rank_count)), emit_(std::move(emit)) {}

void LineMerger::add(int rank, std::string_view bytes, Instant now) {
  Rest& rest = rests_[static_cast<std::size_t>(rank)];
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (rest.text.empty()) {
      emit_(rank, bytes.substr(0, end + 1));
    } else {
      rest.text += bytes.substr(0, end + 1);
      flush(rest, rank);
    }
    bytes.remove_prefix(end + 1);
  }
  if (bytes.empty()) {
    return;
  }
  if (rest.text.empty()) {
    rest.since = now;
  }
  rest.text += bytes;
  if (rest.text.size() > kLineBytesMax && !keeps_lines_whole_) {
    flush(rest, rank);
  }
}

void LineMerger::finish(int rank) { flush(rests_[static_cast<std::size_t>(rank)], rank); }

void LineMerger::flush_old(Instant now) {
  for (std::size_t rank = 0; rank < rests_.size() && !keeps_lines_whole_; ++rank) {
    if (!rests_[rank].text.empty() && now - rests_[rank].since >= kPartialLineTime) {
      flush(rests_[rank], static_cast<int>(rank));
    }
  }
}

Deadline LineMerger::next_flush() const {
  Deadline next;
  for (const Rest& rest : rests_) {
    if (!rest.text.empty() && !keeps_lines_whole_) {
      next = std::min(next, Deadline::after(rest.since, kPartialLineTime));
    }
  }
  return next;
}

void LineMerger::flush(Rest& rest, int rank) {
  if (!rest.text.empty()) {
    emit_(rank, rest.text);
    rest.text.clear();
  }
}

void LineWriter::write(int rank, std::string_view text) {
  if (open_rank_ != rank) {
    close_line();
    if (format_ == RankOutput::kPrefixed) {
      sink_.append(fmt::format("[{}] ", rank));
    }
  }
  sink_.append(text);
  open_rank_ = text.ends_with('\n') ? std::nullopt : std::optional(rank);
}

void LineWriter::note(std::string_view line) {
  close_line();
  sink_.append(line);
  sink_.append("\n");
}

void LineWriter::close_line() {
  if (open_rank_) {
    sink_.append("\n");
    open_rank_.reset();
  }
}

}  // namespace crossdock::cli
