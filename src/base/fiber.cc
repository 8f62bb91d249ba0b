// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.h"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/sanitizers.h"

#if defined(CROSSDOCK_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CROSSDOCK_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace crossdock {
namespace {

// One side of a change of stacks, as the sanitizers want to know it.
#if defined(CROSSDOCK_ADDRESS_SANITIZER)
struct StackNote {
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
};
// `from` is left for good when null.
void before_switch(StackNote* from, const StackNote& to) {
  __sanitizer_start_switch_fiber(from == nullptr ? nullptr : &from->fake_stack, to.bottom, to.size);
}
void after_switch(StackNote& here, StackNote& came_from) {
  __sanitizer_finish_switch_fiber(here.fake_stack, &came_from.bottom, &came_from.size);
}
#else
struct StackNote {
  const void* bottom = nullptr;
  std::size_t size = 0;
};
void before_switch(StackNote* /*from*/, const StackNote& /*to*/) {}
void after_switch(StackNote& /*here*/, StackNote& /*came_from*/) {}
#endif

#if defined(CROSSDOCK_THREAD_SANITIZER)
class ThreadNote {
 public:
  ThreadNote() : inside_(__tsan_create_fiber(0)) {}
  ~ThreadNote() { __tsan_destroy_fiber(inside_); }
  ThreadNote(const ThreadNote&) = delete;
  ThreadNote& operator=(const ThreadNote&) = delete;
  void enter() {
    outside_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inside_, 0);
  }
  void leave() { __tsan_switch_to_fiber(outside_, 0); }

 private:
  void* inside_;
  void* outside_ = nullptr;
};
#else
struct ThreadNote {
  void enter() {}
  void leave() {}
};
#endif

// The frame that a stack ends in never returns. What AddressSanitizer knows of it must not outlive
// the stack: other memory comes to lie there.
void forget_stack([[maybe_unused]] const boost::context::stack_context& made) {
#if defined(CROSSDOCK_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(static_cast<char*>(made.sp) - made.size, made.size);
#endif
}

// Tells where the stack lies, which the allocator alone knows.
struct NotedStack {
  StackNote* note;
  boost::context::protected_fixedsize_stack stack{Fiber::kStackBytes};
  boost::context::stack_context allocate() {
    const auto made = stack.allocate();
    note->size = made.size;
    note->bottom = static_cast<const std::byte*>(made.sp) - made.size;
    return made;
  }
  void deallocate(boost::context::stack_context& made) {
    forget_stack(made);
    stack.deallocate(made);
  }
};

}  // namespace

struct Fiber::Impl {
  std::function<void()> body;
  StackNote inside;
  StackNote outside;
  ThreadNote thread;
  boost::context::fiber other;  // inside: the resumer; outside: the body
  bool has_begun = false;
  bool is_inside = false;
  bool is_over = false;
};

Fiber::Fiber(std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  impl_->body = std::move(body);
}

Fiber::~Fiber() { CROSSDOCK_CHECK(!impl_->has_begun || impl_->is_over); }

bool Fiber::is_over() const { return impl_->is_over; }

void Fiber::resume() {
  Impl& impl = *impl_;
  CROSSDOCK_CHECK(!impl.is_over && !impl.is_inside);
  if (!impl.has_begun) {
    impl.has_begun = true;
    impl.other = boost::context::fiber(std::allocator_arg, NotedStack{&impl.inside},
                                       [&impl](boost::context::fiber&& resumer) {
                                         after_switch(impl.inside, impl.outside);
                                         impl.other = std::move(resumer);
                                         impl.body();
                                         impl.is_over = true;
                                         before_switch(nullptr, impl.outside);
                                         impl.thread.leave();
                                         return std::move(impl.other);
                                       });
  }
  impl.is_inside = true;
  before_switch(&impl.outside, impl.inside);
  impl.thread.enter();
  impl.other = std::move(impl.other).resume();
  StackNote ignored;
  after_switch(impl.outside, ignored);
  impl.is_inside = false;
}

void Fiber::suspend() {
  Impl& impl = *impl_;
  CROSSDOCK_CHECK(impl.is_inside);
  before_switch(&impl.inside, impl.outside);
  impl.thread.leave();
  impl.other = std::move(impl.other).resume();
  after_switch(impl.inside, impl.outside);
}

}  // namespace crossdock
