// SPDX-License-Identifier: Apache-2.0
#include "cli/explore_serve.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "cli/console.h"
#include "explore/output/json.h"
#include "explore/output/page.h"
#include "explore/source/provenance.h"

namespace crossdock::cli {
namespace {

namespace fs = std::filesystem;

/// The document of the source as it lies on disk.
class Desk {
 public:
  Desk(const Analyse& analyse, std::string page_template)
      : analyse_(analyse), page_template_(std::move(page_template)) {}

  Status refresh() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (revision_ > 0 && stamps() == stamps_) {
      return {};
    }
    CROSSDOCK_ASSIGN_OR_RETURN(project_, analyse_());
    stamps_ = stamps();
    ++revision_;
    document_ = explore::to_json(*project_).dump();
    return {};
  }

  [[nodiscard]] std::string document() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return document_;
  }
  [[nodiscard]] Result<std::string> page() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return explore::make_page(page_template_, document_);
  }
  [[nodiscard]] std::string state() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return Json{{"revision", revision_}, {"sha256", project_->provenance.sha256}}.dump();
  }

 private:
  using Stamps = std::map<std::string, std::pair<std::int64_t, std::uint64_t>>;

  /// Of all files read, and of their folders, which change when files come and go.
  [[nodiscard]] Stamps stamps() const {
    Stamps stamps;
    const auto add = [&](const fs::path& path) {
      std::error_code error;
      const auto time = fs::last_write_time(path, error).time_since_epoch().count();
      const std::uint64_t size = fs::is_directory(path, error) ? 0 : fs::file_size(path, error);
      stamps.insert_or_assign(path.string(), std::make_pair(time, error ? 0 : size));
    };
    for (const auto& file : project_->files) {
      add(file->absolute);
      add(fs::path(file->absolute).parent_path());
    }
    return stamps;
  }

  const Analyse& analyse_;
  std::string page_template_;
  mutable std::mutex mutex_;
  std::unique_ptr<explore::Project> project_;
  Stamps stamps_;
  std::string document_;
  int revision_ = 0;
};

}  // namespace

Status serve(const Analyse& analyse, const std::string& page_template, std::uint16_t port) {
  Desk desk(analyse, page_template);
  CROSSDOCK_RETURN_IF_ERROR(desk.refresh());
  httplib::Server server;
  const auto answer = [&](const char* path, const char* type, const auto& content) {
    server.Get(path, [&desk, type, content](const httplib::Request&, httplib::Response& response) {
      Status status = desk.refresh();
      const Result<std::string> body = status.ok() ? content() : Result<std::string>(status);
      response.status = body.ok() ? 200 : 500;
      response.set_content(body.ok() ? *body : std::string(body.status().message()),
                           body.ok() ? type : "text/plain");
    });
  };
  answer("/", "text/html; charset=utf-8", [&desk] { return desk.page(); });
  answer("/explore.json", "application/json",
         [&desk] { return Result<std::string>(desk.document()); });
  answer("/state", "application/json", [&desk] { return Result<std::string>(desk.state()); });
  const int bound = port == 0 ? server.bind_to_any_port("127.0.0.1")
                              : (server.bind_to_port("127.0.0.1", port) ? port : -1);
  if (bound < 0) {
    return {StatusKind::kIo, Scope::kProcess,
            fmt::format("--serve: port {} of 127.0.0.1 cannot be had; allowed: a free port, 0 for "
                        "any",
                        port)};
  }
  // A page of another site whose name was made to lead here must not read the source.
  server.set_pre_routing_handler([bound](const httplib::Request& request,
                                         httplib::Response& response) {
    const std::string host = request.get_header_value("Host");
    if (host == fmt::format("127.0.0.1:{}", bound) || host == fmt::format("localhost:{}", bound)) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    response.status = 403;
    return httplib::Server::HandlerResponse::Handled;
  });
  fmt::print("http://127.0.0.1:{}/\n", bound);
  std::fflush(stdout);
  server.listen_after_bind();
  return {};
}

}  // namespace crossdock::cli
