// SPDX-License-Identifier: Apache-2.0
// The public faces of the engine: ElasticBuffer and Handle.
#include "crossdock/elastic_buffer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "communicator/access.h"
#include "ep/access.h"
#include "ep/buffer_impl.h"
#include "ep/engine.h"

namespace crossdock {

// --- Handle --------------------------------------------------------------------------------------

std::uint64_t Handle::round() const { return round_->round; }
RowLayout Handle::layout() const { return round_->layout; }
Mode Handle::mode() const { return round_->mode; }
std::string_view Handle::protocol() const { return round_->protocol; }
std::string_view Handle::schedule() const { return round_->schedule; }
std::int64_t Handle::token_count() const { return round_->token_count; }
std::int64_t Handle::row_count() const { return round_->row_count; }

std::vector<RouteStep> Handle::routes(std::int64_t token) const {
  CROSSDOCK_CHECK(token >= 0 && token < round_->token_count, "token {} of {}", token,
                  round_->token_count);
  std::vector<RouteStep> steps;
  for (int lane = 0; lane < round_->topk; ++lane) {
    const auto route = static_cast<std::size_t>(token * round_->topk + lane);
    if (round_->experts[route] < 0) {
      continue;
    }
    const std::int64_t row = round_->row_of_route[route];
    const auto place = static_cast<std::uint64_t>(std::max<std::int64_t>(row, 0));
    steps.push_back({.lane = lane,
                     .expert = round_->experts[route],
                     .rank = round_->owners[route],
                     .row = row,
                     .window_offset = round_->rows_window_offset + place * round_->row_bytes,
                     .row_bytes = round_->row_bytes});
  }
  return steps;
}

DispatchPlan Handle::plan() const {
  return DispatchPlan(std::make_shared<const detail::Round>(*round_));
}

std::int64_t DispatchPlan::token_count() const { return round_->token_count; }

// --- ElasticBuffer -------------------------------------------------------------------------------

ElasticBuffer::ElasticBuffer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
ElasticBuffer::ElasticBuffer(ElasticBuffer&&) noexcept = default;
ElasticBuffer& ElasticBuffer::operator=(ElasticBuffer&&) noexcept = default;
ElasticBuffer::~ElasticBuffer() = default;

Result<ElasticBuffer> ElasticBuffer::open(Communicator& communicator,
                                          const BufferOptions& options) {
  auto executor = detail::CommunicatorAccess::executor(communicator);
  executor->drain();
  CROSSDOCK_ASSIGN_OR_RETURN(
      auto engine, ep::Engine::open(detail::CommunicatorAccess::fabric(communicator), options));
  return ElasticBuffer(std::make_shared<Impl>(Impl{std::move(engine), std::move(executor)}));
}

Result<Dispatched> ElasticBuffer::Impl::show(ep::Engine& engine,
                                             Result<std::shared_ptr<detail::Round>> round) {
  if (!round.ok()) {
    engine.remember(round.status());
    return round.status();
  }
  Dispatched dispatched = engine.view(**round);
  dispatched.handle = Handle(std::move(*round));
  return dispatched;
}

Status ElasticBuffer::Impl::keep(ep::Engine& engine, Status status) {
  engine.remember(status);
  return status;
}

Result<Dispatched> ElasticBuffer::dispatch(const DispatchInput& input,
                                           const DispatchOptions& options) {
  ep::Engine& engine = impl_->free_engine();
  return Impl::show(engine, engine.dispatch(input, options));
}

Result<Dispatched> ElasticBuffer::dispatch_again(const DispatchInput& input,
                                                 const DispatchPlan& plan,
                                                 const RepeatOptions& options) {
  CROSSDOCK_CHECK(plan.valid(), "dispatch_again needs the plan of a dispatch");
  ep::Engine& engine = impl_->free_engine();
  return Impl::show(engine, engine.dispatch_again(input, *plan.round_, options));
}

Status ElasticBuffer::combine(const CombineInput& input, Handle& handle,
                              const CombineOutput& output, const CombineOptions& options) {
  CROSSDOCK_CHECK(handle.valid(), "combine needs the handle of a dispatch");
  ep::Engine& engine = impl_->free_engine();
  return Impl::keep(engine, engine.combine(input, *handle.round_, output, options));
}

// Whatever such a wait ends with concerns the operation that it belongs to.
Status ElasticBuffer::wait_expert(const Handle& handle, int local_expert) {
  CROSSDOCK_CHECK(handle.valid(), "wait_expert needs the handle of a dispatch");
  ep::Engine& engine = impl_->free_engine();
  return Impl::keep(engine, engine.wait_expert(*handle.round_, local_expert));
}

Status ElasticBuffer::wait_source(const Handle& handle, int source_rank) {
  CROSSDOCK_CHECK(handle.valid(), "wait_source needs the handle of a dispatch");
  ep::Engine& engine = impl_->free_engine();
  return Impl::keep(engine, engine.wait_source(*handle.round_, source_rank));
}

Status ElasticBuffer::wait_rows(const Handle& handle) {
  CROSSDOCK_CHECK(handle.valid(), "wait_rows needs the handle of a dispatch");
  ep::Engine& engine = impl_->free_engine();
  return Impl::keep(engine, engine.wait_rows(*handle.round_));
}

Status ElasticBuffer::wait_readers(const Handle& handle) {
  CROSSDOCK_CHECK(handle.valid(), "wait_readers needs the handle of a dispatch");
  return impl_->free_engine().wait_readers(*handle.round_);
}

const BufferOptions& ElasticBuffer::options() const { return impl_->engine->options(); }
const MemoryPlan& ElasticBuffer::memory() const { return impl_->engine->memory(); }
int ElasticBuffer::first_local_expert() const {
  return impl_->engine->split().first_expert(impl_->engine->rank());
}
int ElasticBuffer::local_expert_count() const {
  return impl_->engine->split().count(impl_->engine->rank());
}
void ElasticBuffer::close() { impl_->free_engine().close(); }

trace::Recorder& trace_access::Access::recorder(ElasticBuffer& buffer) {
  return buffer.impl_->engine->recorder();
}
trace::Recorder& detail::recorder(ElasticBuffer& buffer) {
  return trace_access::Access::recorder(buffer);
}

}  // namespace crossdock
