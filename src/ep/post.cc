// SPDX-License-Identifier: Apache-2.0
// Posting: the same operations as the blocking calls, run by the communicator's executor.
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "ep/buffer_impl.h"
#include "ep/posted.h"

namespace crossdock {

DispatchTicket ElasticBuffer::post_dispatch(const DispatchInput& input,
                                            const DispatchOptions& options) {
  // Names are views into the caller's memory, which need not last.
  auto job = std::make_shared<detail::DispatchJob>(
      [engine = impl_->engine, input, options, protocol = std::string(options.protocol),
       schedule = std::string(options.schedule)] {
        DispatchOptions lasting = options;
        lasting.protocol = protocol;
        lasting.schedule = schedule;
        return Impl::show(*engine, engine->dispatch(input, lasting));
      },
      [engine = impl_->engine](const Status& reason) {
        return Impl::keep(*engine, engine->decline(ep::OperationCode::kDispatch, reason));
      });
  impl_->executor->post(job);
  return {impl_->executor, std::move(job)};
}

Ticket ElasticBuffer::post_combine(const CombineInput& input, const Handle& handle,
                                   const CombineOutput& output, const CombineOptions& options) {
  CROSSDOCK_CHECK(handle.valid(), "post_combine needs the handle of a dispatch");
  auto job = std::make_shared<detail::CombineJob>(
      [engine = impl_->engine, input, round = handle.round_, output, options] {
        return Impl::keep(*engine, engine->combine(input, *round, output, options));
      },
      [engine = impl_->engine](const Status& reason) {
        return Impl::keep(*engine, engine->decline(ep::OperationCode::kCombine, reason));
      });
  impl_->executor->post(job);
  return {impl_->executor, std::move(job)};
}

DispatchTicket::DispatchTicket(std::shared_ptr<detail::Executor> executor,
                               std::shared_ptr<detail::DispatchJob> job)
    : Ticket(std::move(executor), std::move(job)) {}

Result<Dispatched> DispatchTicket::take() {
  static_cast<void>(wait());
  if (!poll()) {
    return wait();
  }
  return static_cast<detail::DispatchJob&>(job()).take();
}

}  // namespace crossdock
