// SPDX-License-Identifier: Apache-2.0
#include "base/helper_thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace crossdock {
namespace {

// A thread inherits the mask of its maker.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

HelperThread::HelperThread() : owner_(::getpid()) {}

HelperThread::~HelperThread() { join(); }

bool HelperThread::is_orphan() const { return ::getpid() != owner_; }

Status HelperThread::start(const std::string& name, std::function<void()> body) {
  const AllSignalsBlocked blocked;
  try {
    thread_ = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return {StatusKind::kIo, Scope::kCommunicator,
            fmt::format("thread {}: {}; allowed: one more thread", name, error.what())};
  }
  ::pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
  return {};
}

void HelperThread::join() {
  if (!thread_.joinable()) {
    return;
  }
  if (is_orphan()) {
    // It names a thread of the parent: it can neither be joined nor detached here, only forgotten.
    static_cast<void>(
        new std::thread(std::move(thread_)));  // NOLINT(cppcoreguidelines-owning-memory)
  } else {
    thread_.join();
  }
}

}  // namespace crossdock
