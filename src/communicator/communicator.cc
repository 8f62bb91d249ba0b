// SPDX-License-Identifier: Apache-2.0
// Assembles a communicator: bootstrap provider, backend, agreement, barrier. The one place that
// names a backend.
#include "crossdock/communicator.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "collective/proof_channel.h"
#include "communicator/access.h"
#include "communicator/executor.h"
#include "crossdock/version.h"
#include "fabric/agreement.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/shm/shm_fabric.h"
#include "trace/recorder.h"

namespace crossdock {

struct ThreadTeam::Impl {
  std::shared_ptr<fabric::ThreadTeam> team;
  int size = 0;
};

ThreadTeam::ThreadTeam(int rank_count)
    : impl_(std::make_shared<Impl>(Impl{fabric::make_thread_team(rank_count), rank_count})) {}

int ThreadTeam::size() const { return impl_->size; }

struct Communicator::Impl {
  std::shared_ptr<fabric::Fabric> fabric;
  std::shared_ptr<detail::Executor> executor;
  Progress progress = Progress::kThread;
  std::unique_ptr<fabric::Window> window;
  std::unique_ptr<trace::Recorder> recorder;
  std::unique_ptr<collective::ProofChannel> barrier;
  std::uint64_t barrier_count = 0;
};

namespace {

fabric::FabricOptions fabric_options(const CommunicatorOptions& options) {
  const Settings& all = settings();
  fabric::FabricOptions chosen;
  chosen.timeout = options.timeout > Duration::zero() ? options.timeout : all.timeout;
  chosen.still_waiting =
      options.still_waiting > Duration::zero() ? options.still_waiting : all.still_waiting;
  chosen.spin_count = static_cast<int>(all.spin_count);
  chosen.huge_pages = all.huge_pages;
  chosen.way = options.way == Way::kAuto ? all.way : options.way;
  chosen.queue_depth = options.queue_depth == 0 ? all.queue_depth : options.queue_depth;
  return chosen;
}

Status check_options(const CommunicatorOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (options.queue_depth != 0 && (options.queue_depth < 2 || options.queue_depth > 65536)) {
    return {StatusKind::kInvalidArgument, Scope::kOperation,
            fmt::format("queue_depth is {}; allowed: 0, 2 .. 65536", options.queue_depth)};
  }
  return {};
}

Result<std::unique_ptr<fabric::Bootstrap>> bootstrap_from(const CommunicatorOptions& options,
                                                          Deadline deadline) {
  if (options.all_gather) {
    return fabric::make_function_bootstrap(options.rank, options.size, options.all_gather);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const auto tcp, fabric::tcp_options_from_environment());
  return fabric::make_tcp_bootstrap(tcp, deadline);
}

Result<std::shared_ptr<fabric::Fabric>> open_fabric(fabric::Bootstrap& bootstrap,
                                                    const fabric::FabricOptions& options) {
  set_check_rank(bootstrap.rank());
  const Deadline deadline = Deadline::after(monotonic_clock(), options.timeout);
  const fabric::NamedValues must_agree{
      {"crossdock version", version()},
      {"number of ranks", fmt::format("{}", bootstrap.size())},
      {"setting CROSSDOCK_HUGE_PAGES", std::string(to_string(options.huge_pages))},
  };
  CROSSDOCK_ASSIGN_OR_RETURN(const auto blobs,
                             bootstrap.all_gather(fabric::encode_agreement(must_agree), deadline));
  CROSSDOCK_RETURN_IF_ERROR(fabric::compare_agreement(blobs));
  const fabric::Gather gather = [&](std::span<const std::byte> mine) {
    return bootstrap.all_gather(mine, deadline);
  };
  CROSSDOCK_ASSIGN_OR_RETURN(
      auto opened, fabric::ShmFabric::open(bootstrap.rank(), bootstrap.size(), gather, options));
  return std::shared_ptr<fabric::Fabric>(std::move(opened));
}

}  // namespace

// --- life ----------------------------------------------------------------------------------------

Communicator::Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Communicator::~Communicator() { close(); }

namespace {

constexpr std::string_view kBarrierProtocol = "barrier";

}  // namespace

Result<Communicator> Communicator::adopt(std::shared_ptr<fabric::Fabric> fabric,
                                         Progress progress) {
  auto impl = std::make_shared<Impl>();
  impl->fabric = std::move(fabric);
  impl->progress = progress;
  impl->executor = std::make_shared<detail::Executor>(impl->fabric, progress);
  fabric::Fabric& seam = *impl->fabric;
  CROSSDOCK_ASSIGN_OR_RETURN(
      auto barrier, protocol::make_protocol(kBarrierProtocol, {seam.rank(), seam.size(), 1}));
  CROSSDOCK_ASSIGN_OR_RETURN(impl->window, seam.make_window(collective::ProofChannel::byte_count(
                                               barrier->word_count(), seam.size())));
  impl->recorder = std::make_unique<trace::Recorder>(seam.rank().value, seam.size());
  impl->barrier = std::make_unique<collective::ProofChannel>(seam, *impl->window, 0,
                                                             std::move(barrier), *impl->recorder);
  return Communicator(std::move(impl));
}

Result<Communicator> Communicator::open(const CommunicatorOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(check_options(options));
  const fabric::FabricOptions chosen = fabric_options(options);
  CROSSDOCK_ASSIGN_OR_RETURN(
      const auto bootstrap,
      bootstrap_from(options, Deadline::after(monotonic_clock(), chosen.timeout)));
  CROSSDOCK_ASSIGN_OR_RETURN(auto fabric, open_fabric(*bootstrap, chosen));
  return adopt(std::move(fabric), options.progress);
}

Result<Communicator> Communicator::open(const ThreadTeam& team, int rank,
                                        const CommunicatorOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(check_options(options));
  if (rank < 0 || rank >= team.size()) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("rank {} of a team of {}; allowed: 0 .. {}", rank, team.size(),
                              team.size() - 1));
  }
  const auto bootstrap = fabric::make_thread_bootstrap(team.impl_->team, rank);
  CROSSDOCK_ASSIGN_OR_RETURN(auto fabric, open_fabric(*bootstrap, fabric_options(options)));
  return adopt(std::move(fabric), options.progress);
}

void Communicator::close() {
  if (impl_) {
    impl_->executor->shut_down(Status(StatusKind::kClosed, Scope::kCommunicator,
                                      "closed while a posted operation was under way",
                                      impl_->fabric->rank().value));
    impl_->fabric->close();
  }
}

// --- use -----------------------------------------------------------------------------------------

int Communicator::rank() const { return impl_->fabric->rank().value; }
int Communicator::size() const { return impl_->fabric->size(); }
Status Communicator::health() {
  // While an operation is under way, the fabric is its own; what it finds is in its ticket.
  return impl_->executor->is_busy() ? Status() : impl_->fabric->health();
}

Result<Communicator> Communicator::split(int colour) {
  impl_->executor->drain();
  CROSSDOCK_ASSIGN_OR_RETURN(auto child, impl_->fabric->split(colour));
  return adopt(std::shared_ptr<fabric::Fabric>(std::move(child)), impl_->progress);
}

Result<std::vector<std::vector<std::byte>>> Communicator::all_gather(
    std::span<const std::byte> mine) {
  impl_->executor->drain();
  return impl_->fabric->all_gather(mine);
}

Status Communicator::barrier() {
  impl_->executor->drain();
  CROSSDOCK_RETURN_IF_ERROR(health());
  ++impl_->barrier_count;
  impl_->barrier->open_round();
  CROSSDOCK_RETURN_IF_ERROR(impl_->barrier->all_posted());
  return impl_->barrier->wait_round("barrier", impl_->barrier_count,
                                    impl_->fabric->make_deadline());
}

void Communicator::abort(std::string_view reason) {
  const Status status(StatusKind::kPeerRefused, Scope::kCommunicator, std::string(reason),
                      impl_->fabric->rank().value);
  impl_->executor->shut_down(status);
  impl_->fabric->poison(status);
  impl_->fabric->close();
}

std::shared_ptr<detail::Executor> detail::CommunicatorAccess::executor(Communicator& communicator) {
  return communicator.impl_->executor;
}

std::shared_ptr<fabric::Fabric> detail::CommunicatorAccess::fabric(Communicator& communicator) {
  return communicator.impl_->fabric;
}

}  // namespace crossdock
