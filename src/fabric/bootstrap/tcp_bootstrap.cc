// SPDX-License-Identifier: Apache-2.0
// Choosing and checking the TCP provider's options; the work is in tcp_root.cc and tcp_leaf.cc.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "fabric/bootstrap/blob_limit.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/bootstrap/frame.h"
#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {
namespace {

constexpr int kSizeMax = 1 << 20;
constexpr int kPortMax = 65535;

Status invalid(std::string message) {
  return Status(StatusKind::kInvalidArgument, Scope::kCommunicator, std::move(message));
}

/// A job of one rank needs no network.
class SingleBootstrap final : public Bootstrap {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline) override {
    CROSSDOCK_RETURN_IF_ERROR(check_blob_bytes(0, mine.size()));
    return std::vector<std::vector<std::byte>>{{mine.begin(), mine.end()}};
  }
};

Status check_options(const TcpOptions& options) {
  if (options.size < 1 || options.size > kSizeMax) {
    return invalid(fmt::format("bootstrap: size {} is not in 1 .. {}", options.size, kSizeMax));
  }
  if (options.rank < 0 || options.rank >= options.size) {
    return invalid(fmt::format("bootstrap: rank {} is not in 0 .. {} (size {})", options.rank,
                               options.size - 1, options.size));
  }
  const bool has_listener = options.rank == 0 && options.listener_fd >= 0;
  if (options.size > 1 && !has_listener && (options.port < 1 || options.port > kPortMax)) {
    return invalid(fmt::format("bootstrap: port {} is not in 1 .. {}", options.port, kPortMax));
  }
  return {};
}

Result<int> parse_variable(const Environment& environment, std::string_view name, int min,
                           int max) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  if (found == environment.end()) {
    return invalid(
        fmt::format("bootstrap: {} is not set, though others of RANK, WORLD_SIZE, "
                    "MASTER_ADDR and MASTER_PORT are",
                    name));
  }
  const auto value = parse_int64(found->second, {min, max});
  if (!value.ok()) {
    return invalid(fmt::format("{}: {}", name, value.status().message()));
  }
  return static_cast<int>(*value);
}

std::optional<std::string> find_variable(const Environment& environment, std::string_view name) {
  for (const auto& [candidate, value] : environment) {
    if (candidate == name) {
      return value;
    }
  }
  return std::nullopt;
}

Result<TcpOptions> from_launcher(const Settings& settings) {
  TcpOptions options;
  if (settings.rank < 0 || settings.size < 0) {
    return invalid("bootstrap: CROSSDOCK_RANK and CROSSDOCK_SIZE must be set together");
  }
  options.rank = settings.rank;
  options.size = settings.size;
  options.job_secret = settings.job_secret;
  options.listener_fd = settings.rank == 0 ? settings.bootstrap_fd : -1;
  if (settings.size > 1) {
    if (settings.bootstrap.empty()) {
      return invalid("bootstrap: CROSSDOCK_SIZE is over 1 but CROSSDOCK_BOOTSTRAP is not set");
    }
    CROSSDOCK_ASSIGN_OR_RETURN(auto place, parse_host_port(settings.bootstrap));
    options.host = std::move(place.host);
    options.port = place.port;
  }
  return options;
}

Result<TcpOptions> from_torchrun(const Environment& environment, const Settings& settings) {
  TcpOptions options;
  CROSSDOCK_ASSIGN_OR_RETURN(options.rank, parse_variable(environment, "RANK", 0, kSizeMax - 1));
  CROSSDOCK_ASSIGN_OR_RETURN(options.size, parse_variable(environment, "WORLD_SIZE", 1, kSizeMax));
  options.job_secret = settings.job_secret;
  if (options.size == 1) {
    return options;
  }
  if (!settings.bootstrap.empty()) {  // torchrun's own store may occupy MASTER_PORT.
    CROSSDOCK_ASSIGN_OR_RETURN(auto place, parse_host_port(settings.bootstrap));
    options.host = std::move(place.host);
    options.port = place.port;
    return options;
  }
  CROSSDOCK_ASSIGN_OR_RETURN(options.port, parse_variable(environment, "MASTER_PORT", 1, kPortMax));
  auto host = find_variable(environment, "MASTER_ADDR");
  if (!host || host->empty()) {
    return invalid("bootstrap: MASTER_ADDR is not set, though WORLD_SIZE is over 1");
  }
  options.host = *std::move(host);
  return options;
}

}  // namespace

Result<TcpOptions> tcp_options_from(const Environment& environment) {
  CROSSDOCK_ASSIGN_OR_RETURN(const Settings settings, parse_settings(environment));
  const bool launched = settings.rank >= 0 || settings.size >= 0;
  const bool torchrun =
      find_variable(environment, "RANK") || find_variable(environment, "WORLD_SIZE");
  if (!launched && !torchrun) {
    return TcpOptions{};
  }
  CROSSDOCK_ASSIGN_OR_RETURN(TcpOptions options, launched ? from_launcher(settings)
                                                          : from_torchrun(environment, settings));
  CROSSDOCK_RETURN_IF_ERROR(check_options(options));
  return options;
}

Result<TcpOptions> tcp_options_from_environment() {
  return tcp_options_from(process_environment());
}

Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(const TcpOptions& options,
                                                      Deadline deadline) {
  CROSSDOCK_RETURN_IF_ERROR(check_options(options));
  if (options.size == 1) {
    return std::unique_ptr<Bootstrap>(std::make_unique<SingleBootstrap>());
  }
  if (!start_cryptography()) {
    return Status(StatusKind::kUnsupported, Scope::kProcess, "bootstrap: libsodium cannot start");
  }
  TcpPlan plan{.options = options, .addresses = {}};
  if (options.rank == 0 && options.listener_fd >= 0) {
    plan.addresses.push_back(local_address(options.listener_fd));
  } else {
    CROSSDOCK_ASSIGN_OR_RETURN(plan.addresses, resolve(options.host, options.port));
  }
  const bool local = std::all_of(plan.addresses.begin(), plan.addresses.end(),
                                 [](const auto& address) { return address.is_loopback(); });
  if (options.job_secret.empty() && !local) {
    return invalid(
        fmt::format("bootstrap: {} is not a loopback address, so a job secret is needed: "
                    "set CROSSDOCK_JOB_SECRET to the same text on every rank",
                    plan.addresses.front().to_string()));
  }
  return options.rank == 0 ? make_tcp_root(std::move(plan), deadline)
                           : make_tcp_leaf(std::move(plan), deadline);
}

std::string list_ranks(std::span<const int> ranks, int size) {
  constexpr std::size_t kListedMax = 16;
  std::string list;
  for (const int rank : ranks.first(std::min(ranks.size(), kListedMax))) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", rank);
  }
  const auto more = ranks.size() - std::min(ranks.size(), kListedMax);
  return fmt::format("{} {}{} of {}", ranks.size() == 1 ? "rank" : "ranks", list,
                     more > 0 ? fmt::format(" and {} more", more) : "", size);
}

StillWaiting::StillWaiting()
    : interval_(settings().still_waiting), started_(monotonic_clock().now()) {
  next_ = started_ + interval_;
}

Deadline StillWaiting::wake_up(Deadline deadline) const {
  return interval_ > Duration::zero() ? std::min(deadline, Deadline::at(next_)) : deadline;
}

void StillWaiting::report(const std::function<std::string()>& describe) {
  const Instant now = monotonic_clock().now();
  if (interval_ <= Duration::zero() || now < next_) {
    return;
  }
  next_ = now + interval_;
  const std::chrono::duration<double> waited = now - started_;
  log_warn("bootstrap: still waiting for {} after {:.1f} s", describe(), waited.count());
}

}  // namespace crossdock::fabric
