// SPDX-License-Identifier: Apache-2.0
// A thread that works for the library beside the program's own: named, and deaf to signals, so that
// handlers run where the program expects them. In a forked child it is not there; nothing here
// waits for it then. Thread rule: one thread at a time, is_orphan() any.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "crossdock/status.h"

namespace crossdock {

class HelperThread {
 public:
  HelperThread();
  ~HelperThread();  // joins
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  /// kIo when the system has no thread left. `name`: what ps shows, up to 15 characters.
  Status start(const std::string& name, std::function<void()> body);
  [[nodiscard]] bool is_started() const { return thread_.joinable(); }
  /// Blocks until the body has returned; lets go of it in a child. Idempotent.
  void join();
  /// True in a child of the process that made this.
  [[nodiscard]] bool is_orphan() const;

 private:
  const int owner_;  // process
  std::thread thread_;
};

}  // namespace crossdock
