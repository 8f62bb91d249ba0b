// SPDX-License-Identifier: Apache-2.0
#include "cli/info_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "communicator/access.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "crossdock/version.h"
#include "fabric/guarantees.h"
#include "protocol/protocol.h"
#include "schedule/schedule.h"

namespace crossdock::cli {
namespace {

struct InfoLine {
  bool protocols = false;
  bool env = false;
  std::string memory;
  std::string json;
};

/// What a command says, for both readers.
struct Said {
  std::string text;
  Json json;
};

std::string_view to_string(fabric::PutOrder order) {
  switch (order) {
    case fabric::PutOrder::kNone:
      return "none";
    case fabric::PutOrder::kAligned128:
      return "128 aligned bytes at a time";
    case fabric::PutOrder::kWhole:
      return "the whole put";
  }
  return "?";
}

std::string_view to_string(fabric::QueueOrder order) {
  switch (order) {
    case fabric::QueueOrder::kNone:
      return "none";
    case fabric::QueueOrder::kStrongOnly:
      return "strong operations only";
    case fabric::QueueOrder::kAll:
      return "all operations";
  }
  return "?";
}

std::string_view to_string(fabric::CrossQueueOrder order) {
  return order == fabric::CrossQueueOrder::kOneDomain ? "one domain" : "none";
}

std::string_view yes_no(bool value) { return value ? "yes" : "no"; }

/// A communicator of this process alone, to ask its fabric.
Result<Communicator> open_alone() {
  CommunicatorOptions options;
  options.all_gather =
      [](std::span<const std::byte> mine) -> Result<std::vector<std::vector<std::byte>>> {
    return std::vector<std::vector<std::byte>>{{mine.begin(), mine.end()}};
  };
  return Communicator::open(options);
}

Result<Said> say_fabric() {
  CROSSDOCK_ASSIGN_OR_RETURN(Communicator communicator, open_alone());
  const auto fabric = detail::CommunicatorAccess::fabric(communicator);
  const fabric::Guarantees& promises = fabric->guarantees();
  Said said;
  said.text = fmt::format(
      "fabric {}\n"
      "  way                    {}\n"
      "  atomic bytes           {}\n"
      "  order inside one put   {}\n"
      "  order inside a queue   {}\n"
      "  order across queues    {}\n"
      "  event after its data   {}\n"
      "  delivered once         {}\n"
      "  remote completion      {}\n"
      "  source free on return  {}\n"
      "  loads and stores reach every peer: {}\n",
      fabric->name(), fabric->way(), promises.atomic_bytes, to_string(promises.put_order),
      to_string(promises.queue_order), to_string(promises.cross_queue_order),
      yes_no(promises.event_after_data), yes_no(promises.delivered_once),
      yes_no(promises.remote_completion), yes_no(promises.source_reusable_on_return),
      yes_no(promises.load_store_reach));
  said.json = {{"name", fabric->name()},
               {"way", fabric->way()},
               {"source_reusable_on_return", promises.source_reusable_on_return},
               {"atomic_bytes", promises.atomic_bytes},
               {"put_order", to_string(promises.put_order)},
               {"queue_order", to_string(promises.queue_order)},
               {"cross_queue_order", to_string(promises.cross_queue_order)},
               {"event_after_data", promises.event_after_data},
               {"delivered_once", promises.delivered_once},
               {"remote_completion", promises.remote_completion},
               {"load_store_reach", promises.load_store_reach}};
  return said;
}

Said say_host() {
  const HostInfo host = read_host();
  Said said;
  said.text = fmt::format(
      "host\n  processor              {}\n  system                 {}\n"
      "  cores                  {} ({} processors, {} usable)\n",
      host.processor, host.kernel, host.core_count, host.processor_count,
      host.usable_processor_count);
  said.json = {{"processor", host.processor},
               {"system", host.kernel},
               {"cores", host.core_count},
               {"processors", host.processor_count},
               {"usable_processors", host.usable_processor_count},
               {"numa_nodes", host.numa_node_count},
               {"memory_bytes", host.memory_bytes},
               {"available_bytes", host.available_bytes},
               {"huge_pages_shared", host.huge_pages_shared},
               {"huge_pages_private", host.huge_pages_private}};
  for (const CacheInfo& cache : host.caches) {
    said.text += fmt::format("  level {} cache          {} x {}\n", cache.level, cache.count,
                             format_bytes(cache.bytes));
    said.json["caches"].push_back(
        {{"level", cache.level}, {"bytes", cache.bytes}, {"count", cache.count}});
  }
  said.text += fmt::format(
      "  NUMA nodes             {}\n"
      "  memory                 {}, {} available ({})\n"
      "  huge pages             shared memory: {}, private: {}\n",
      host.numa_node_count, format_bytes(host.memory_bytes), format_bytes(host.available_bytes),
      host.available_limit, host.huge_pages_shared, host.huge_pages_private);
  return said;
}

std::string_view to_string(protocol::Question question) {
  switch (question) {
    case protocol::Question::kWhatMakesPayloadVisible:
      return "What makes payload visible before its proof?";
    case protocol::Question::kWhatTellsRoundsApart:
      return "What tells this round's proof from an older one?";
    case protocol::Question::kWhoFreesTheReceiveSlot:
      return "Who lets the sender overwrite the receive slot?";
    case protocol::Question::kWhenIsTheSendBufferFree:
      return "When may the send buffer be overwritten?";
    case protocol::Question::kHowAreQueuesJoined:
      return "How are the proofs of several queues joined?";
  }
  return "?";
}

Result<Said> say_protocols() {
  Said said;
  said.json = Json::array();
  for (const std::string_view name : protocol::protocol_names()) {
    CROSSDOCK_ASSIGN_OR_RETURN(
        const auto machine,
        protocol::make_protocol(name, {.self = RankId{0}, .rank_count = 2, .lane_count = 1}));
    const protocol::Contract& contract = machine->contract();
    said.text += fmt::format(
        "{}\n  unit: {}\n  proof: {}\n  needs: {} atomic bytes; order inside a queue: {}{}{}\n",
        contract.name, contract.unit, contract.proof, contract.needs.atomic_bytes,
        to_string(contract.needs.queue_order),
        contract.needs.remote_completion ? "; remote completion" : "",
        contract.needs.delivered_once ? "; delivered once" : "");
    Json answers = Json::array();
    for (const protocol::Answer& answer : contract.answers) {
      said.text += fmt::format("  {}\n    {} [{}]\n", to_string(answer.question), answer.words,
                               answer.implemented_by);
      answers.push_back({{"question", to_string(answer.question)},
                         {"answer", answer.words},
                         {"implemented_by", answer.implemented_by}});
    }
    said.json.push_back({{"name", contract.name},
                         {"unit", contract.unit},
                         {"proof", contract.proof},
                         {"answers", answers}});
  }
  return said;
}

/// "R,T,H,E,K,dtype".
struct MemoryShape {
  int ranks = 1;
  BufferOptions options;
};

Result<MemoryShape> parse_memory_shape(const std::string& text) {
  const auto refused = [&](std::string_view why) {
    return Status(
        StatusKind::kInvalidArgument, Scope::kProcess,
        fmt::format("--memory: {}: {}; allowed: RANKS,TOKENS,HIDDEN,EXPERTS,TOPK,DTYPE, as in "
                    "8,1024,2048,64,8,bf16",
                    quote(text), why));
  };
  const auto parts = parse_list(text);
  if (!parts.ok() || parts->size() != 6) {
    return refused("not six parts");
  }
  std::vector<std::int64_t> numbers;
  for (std::size_t index = 0; index < 5; ++index) {
    const auto number = parse_int64((*parts)[index], {0, 1LL << 31});
    if (!number.ok()) {
      return refused(number.status().message());
    }
    numbers.push_back(*number);
  }
  const auto element =
      parse_choice((*parts)[5], {"bf16", "fp32", "bytes", "fp16", "fp8_e4m3", "int8"});
  if (!element.ok()) {
    return refused(element.status().message());
  }
  MemoryShape shape;
  if (numbers[0] < 1 || numbers[3] > 65536 || numbers[4] > 128) {
    return refused("out of range");
  }
  shape.ranks = static_cast<int>(numbers[0]);
  shape.options.max_tokens_per_rank = numbers[1];
  shape.options.hidden = numbers[2];
  shape.options.experts = static_cast<int>(numbers[3]);
  shape.options.topk = static_cast<int>(numbers[4]);
  shape.options.element = static_cast<ElementType>(*element);
  return shape;
}

Result<Said> say_memory(const std::string& text) {
  CROSSDOCK_ASSIGN_OR_RETURN(const MemoryShape shape, parse_memory_shape(text));
  CROSSDOCK_ASSIGN_OR_RETURN(const MemoryPlan plan, plan_memory(shape.options, shape.ranks));
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  Said said;
  said.text = fmt::format(
      "memory of one of {} ranks\n"
      "  row capacity           {} rows (worst case {})\n"
      "  control                {}\n  landing area           {}\n  received rows          {}\n"
      "  expert outputs         {}\n  metadata               {}\n"
      "  requested              {} ({} bytes)\n  reserved               {} ({} bytes)\n"
      "  touched every round    {} ({} bytes)\n"
      "  reserved by all ranks  {}\n",
      shape.ranks, plan.row_capacity, plan.worst_case_rows, format_bytes(plan.control_bytes),
      format_bytes(plan.landing_bytes), format_bytes(plan.rows_bytes),
      format_bytes(plan.outputs_bytes), format_bytes(plan.metadata_bytes),
      format_bytes(plan.requested_bytes), plan.requested_bytes, format_bytes(plan.reserved_bytes),
      plan.reserved_bytes, format_bytes(plan.touched_bytes), plan.touched_bytes,
      format_bytes(plan.reserved_bytes * ranks));
  said.json = {{"ranks", shape.ranks},
               {"row_capacity", plan.row_capacity},
               {"worst_case_rows", plan.worst_case_rows},
               {"control_bytes", plan.control_bytes},
               {"landing_bytes", plan.landing_bytes},
               {"rows_bytes", plan.rows_bytes},
               {"outputs_bytes", plan.outputs_bytes},
               {"metadata_bytes", plan.metadata_bytes},
               {"requested_bytes", plan.requested_bytes},
               {"reserved_bytes", plan.reserved_bytes},
               {"touched_bytes", plan.touched_bytes}};
  return said;
}

Said say_versions() {
  Said said;
  std::string compiler = __VERSION__;
#if defined(__clang__)
  compiler = std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  compiler = std::string("g++ ") + __VERSION__;
#endif
  said.text = fmt::format("crossdock {}\n  compiled with          {}\n", version(), compiler);
  said.json = {{"version", version()}, {"compiler", compiler}};
  return said;
}

Result<Said> say_everything() {
  CROSSDOCK_ASSIGN_OR_RETURN(const Said fabric, say_fabric());
  const Said versions = say_versions();
  const Said host = say_host();
  Said said;
  Json protocols = Json::array();
  Json schedules = Json::array();
  std::string names;
  for (const std::string_view name : protocol::protocol_names()) {
    protocols.push_back(name);
    names += fmt::format(" {}", name);
  }
  std::string schedule_names;
  for (const std::string_view name : schedule::schedule_names()) {
    schedules.push_back(name);
    schedule_names += fmt::format(" {}", name);
  }
  said.text = versions.text + host.text + fabric.text +
              fmt::format("protocols{}\nschedules{}\n", names, schedule_names);
  said.json = versions.json;
  said.json["host"] = host.json;
  said.json["fabric"] = fabric.json;
  said.json["protocols"] = protocols;
  said.json["schedules"] = schedules;
  return said;
}

Said say_settings() {
  Said said;
  said.text = render_settings(process_environment());
  said.json = Json::array();
  for (std::size_t begin = 0; begin < said.text.size();) {
    const std::size_t end = std::min(said.text.find('\n', begin), said.text.size());
    said.json.push_back(said.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return said;
}

Result<Said> say(const InfoLine& line) {
  if (line.env) {
    return say_settings();
  }
  if (line.protocols) {
    return say_protocols();
  }
  if (!line.memory.empty()) {
    return say_memory(line.memory);
  }
  return say_everything();
}

Result<int> run(const InfoLine& line) {
  if (!line.env) {  // With it, a bad setting is shown before it is refused.
    CROSSDOCK_RETURN_IF_ERROR(settings_status());
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const Said said, say(line));
  if (line.json != "-") {
    fmt::print("{}", said.text);
  }
  if (!line.json.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(
        write_json(line.json, {{"schema", "crossdock.info/1"}, {"info", said.json}}));
  }
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  return kExitOk;
}

}  // namespace

void add_info_command(CLI::App& program, CommandContext& context) {
  CLI::App* const app =
      program.add_subcommand("info", "Versions, this host, fabric, protocols, settings, memory");
  const auto line = std::make_shared<InfoLine>();
  CLI::Option* const protocols =
      app->add_flag("--protocols", line->protocols, "completion protocols and their contracts");
  CLI::Option* const env = app->add_flag("--env", line->env, "the CROSSDOCK_* settings");
  CLI::Option* const memory = add_text(
      *app, "--memory", "memory of a shape: RANKS,TOKENS,HIDDEN,EXPERTS,TOPK,DTYPE", line->memory);
  protocols->excludes(env)->excludes(memory);
  env->excludes(memory);
  add_text(*app, "--json", "write the result there as JSON; -: stdout", line->json);
  app->footer("Example:\n  crossdock info --memory 8,1024,2048,64,8,bf16\n");
  app->callback(
      [&context, line] { context.chosen = [line] { return finish("info", run(*line)); }; });
}

}  // namespace crossdock::cli
