// SPDX-License-Identifier: Apache-2.0
// The built program as a user runs it: usage errors, every command with tiny inputs, JSON fields,
// exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "cli/exit_code.h"
#include "cli/subprocess.h"

namespace crossdock::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kPatience = std::chrono::seconds(200);

/// A command line in a folder of its own, stdout and stderr together.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("crossdock_program_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  Captured shell(const std::string& line) {
    const Result<Captured> captured =
        run_captured({"/bin/sh", "-c", "cd " + folder_.string() + " && " + line}, kPatience);
    EXPECT_TRUE(captured.ok()) << captured.status().to_string();
    return captured.ok() ? *captured : Captured{.exit_code = -1, .out = ""};
  }
  Captured run(const std::string& arguments) {
    return shell(std::string(CROSSDOCK_PROGRAM) + " " + arguments + " 2>&1");
  }
  /// stdout alone.
  json run_json(const std::string& arguments) {
    const Captured captured = shell(std::string(CROSSDOCK_PROGRAM) + " " + arguments);
    EXPECT_EQ(captured.exit_code, kExitOk) << captured.out;
    json document = json::parse(captured.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << captured.out;
    return document;
  }
  /// One line, exit code 2.
  void expect_usage_error(const std::string& arguments, const std::string& text) {
    const Captured captured = run(arguments);
    EXPECT_EQ(captured.exit_code, kExitUsage) << arguments << "\n" << captured.out;
    EXPECT_THAT(captured.out, StartsWith("crossdock"));
    EXPECT_THAT(captured.out, HasSubstr(text));
    EXPECT_EQ(std::count(captured.out.begin(), captured.out.end(), '\n'), 1) << captured.out;
  }
  template <typename T>
  std::string save(const std::string& name, NpyType type, const std::vector<std::uint64_t>& shape,
                   const std::vector<T>& values) {
    EXPECT_TRUE(save_npy(path(name), type, shape, std::as_bytes(std::span(values))).ok());
    return name;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(ProgramTest, EveryCommandHasHelpWithAnExample) {
  for (const char* command :
       {"", "demo", "launch", "info", "bench", "bench dispatch", "bench combine", "bench roundtrip",
        "bench compare", "bench overlap", "explore"}) {
    const Captured captured = run(std::string(command) + " --help");
    EXPECT_EQ(captured.exit_code, kExitOk) << command;
    EXPECT_THAT(captured.out, HasSubstr("Example")) << command;
    EXPECT_THAT(captured.out, HasSubstr("crossdock ")) << command;
  }
}

TEST_F(ProgramTest, UnknownWordsAreOneLineWithWhatIsAllowed) {
  expect_usage_error("", "a command is needed; allowed: demo, launch, bench, info, explore");
  expect_usage_error("demp",
                     "unknown command 'demp'; allowed: demo, launch, bench, info, explore; did you "
                     "mean demo?");
  expect_usage_error("demo --rank 4", "unknown option '--rank'; did you mean --ranks?");
  expect_usage_error("bench", "crossdock bench: a command is needed; allowed: dispatch, combine");
  expect_usage_error("bench dispatch --tokenz=3", "unknown option '--tokenz=3'");
  expect_usage_error("info more", "unknown argument 'more'");
}

TEST_F(ProgramTest, ValuesOutOfRangeAreQuotedWithTheRange) {
  expect_usage_error("demo --ranks 0", "--ranks: '0' is not an integer in range; allowed: 1 .. ");
  expect_usage_error("demo --ranks 8x", "--ranks: '8x'");
  expect_usage_error("demo --hidden 0", "--hidden: '0'");
  expect_usage_error("demo --layout wide", "--layout: 'wide'");
  expect_usage_error("demo --topk 9 --experts 8", "--topk 9; allowed: 1 .. --experts, 8");
  expect_usage_error("demo --ranks 9 --experts 8", "8");
  expect_usage_error("demo --follow 3", "--follow");
  expect_usage_error("demo --follow 8:0", "--follow: rank 8; allowed: 0 .. 7");
  expect_usage_error("demo --follow 1:128", "--follow: token 128 of rank 1; it has 128 tokens");
  expect_usage_error("demo --text /nonexistent", "'/nonexistent'");
  expect_usage_error("demo --out y.npy", "--out without a recording");
  expect_usage_error("demo --tokens x.npy", "belong together");
  expect_usage_error("bench combine --dtype bytes", "--dtype bytes cannot be summed");
  expect_usage_error("bench dispatch --peer mpi --layout plain", "the expanded layout only");
  expect_usage_error("info --memory 8,1024", "--memory: '8,1024'");
  expect_usage_error("info --env --protocols", "--");
  expect_usage_error("launch -n 2", "no program");
  expect_usage_error("launch -- true", "--ranks");
  expect_usage_error("launch -n 2 --env A -- true", "'A' is no variable; allowed: NAME=VALUE");
}

TEST_F(ProgramTest, MemoryThatCannotBeHadIsRefusedInOneLineBeforeAnyRankStarts) {
  const Captured captured =
      shell("CROSSDOCK_MEMORY_BUDGET=900TiB " + std::string(CROSSDOCK_PROGRAM) +
            " bench dispatch --tokens 1048576 --hidden 65536 2>&1");
  EXPECT_EQ(captured.exit_code, kExitOperating);
  EXPECT_THAT(captured.out, HasSubstr("needed"));
  EXPECT_THAT(captured.out, HasSubstr("available"));
  EXPECT_EQ(std::count(captured.out.begin(), captured.out.end(), '\n'), 1) << captured.out;
}

TEST_F(ProgramTest, ABadSettingIsRefusedByName) {
  const Captured captured =
      shell("CROSSDOCK_TIMEOUT=soon " + std::string(CROSSDOCK_PROGRAM) + " demo 2>&1");
  EXPECT_EQ(captured.exit_code, kExitUsage);
  EXPECT_THAT(captured.out, HasSubstr("CROSSDOCK_TIMEOUT"));
  EXPECT_THAT(captured.out, HasSubstr("'soon'"));
}

TEST_F(ProgramTest, InfoTellsOfHostFabricProtocolsAndMemory) {
  const Captured everything = run("info");
  EXPECT_EQ(everything.exit_code, kExitOk);
  for (const char* text : {"crossdock 0.", "cores", "huge pages", "NUMA nodes", "fabric shm",
                           "atomic bytes", "tail_fence", "rotation"}) {
    EXPECT_THAT(everything.out, HasSubstr(text));
  }
  const Captured protocols = run("info --protocols");
  EXPECT_THAT(protocols.out, HasSubstr("What makes payload visible before its proof?"));
  const Captured settings = run("info --env");
  EXPECT_THAT(settings.out, HasSubstr("CROSSDOCK_TIMEOUT"));
  const json memory = run_json("info --memory 8,1024,2048,64,8,bf16 --json -").at("info");
  EXPECT_GE(memory.at("reserved_bytes").get<std::uint64_t>(),
            memory.at("requested_bytes").get<std::uint64_t>());
  EXPECT_GE(memory.at("row_capacity").get<std::int64_t>(), 8192);
}

class DemoRanks : public ProgramTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(DemoRanks, IsVerifiedAndWritesItsReport) {
  const json document = run_json(std::string("demo --tokens-per-rank 24 --hidden 64 --ffn 16 "
                                             "--experts 16 --topk 4 --rounds 2 --json - ") +
                                 GetParam());
  EXPECT_EQ(document.at("schema"), "crossdock.demo/1");
  EXPECT_EQ(document.at("verified"), true);
  EXPECT_EQ(document.at("tokens_wrong"), 0);
  EXPECT_EQ(document.at("routes").get<int>(), document.at("tokens").get<int>() * 4);
  EXPECT_EQ(document.at("bits_compared").get<std::int64_t>(),
            document.at("tokens").get<std::int64_t>() * 2 * 64 * 16);
  std::ifstream report(path("crossdock-report.html"));
  std::string first_line;
  std::getline(report, first_line);
  EXPECT_THAT(first_line, StartsWith("<!"));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DemoRanks,
    ::testing::Values("--ranks 1", "--ranks 2", "--ranks 8", "--ranks 3 --layout plain",
                      "--ranks 4 --mode throughput --protocol barrier --schedule rotation",
                      "--ranks 4 --mode latency --protocol tail_fence --layout plain",
                      "--ranks 5 --mode throughput --schedule direct"));

TEST_F(ProgramTest, DemoFollowsATokenFromGateToCombinedRow) {
  const Captured captured = run(
      "demo --ranks 2 --tokens-per-rank 8 --hidden 32 --ffn 8 --experts 4 --topk 2 --follow 1:3");
  EXPECT_EQ(captured.exit_code, kExitOk) << captured.out;
  for (const char* text : {"token 3 of rank 1: byte 11 of the text", "gate: weight", "window + 0x",
                           "64 bytes", "proof: ", ", epoch ", "combined row:",
                           "equal to the reference bit by bit", "VERIFIED", "report: "}) {
    EXPECT_THAT(captured.out, HasSubstr(text));
  }
}

TEST_F(ProgramTest, DemoRunsUnderLaunchAndInATorchrunEnvironment) {
  const std::string small =
      " demo --tokens-per-rank 8 --hidden 32 --ffn 8 --experts 4 --topk 2 2>&1";
  const std::string program = CROSSDOCK_PROGRAM;
  const Captured launched = shell(program + " launch -n 2 -- " + program + small);
  EXPECT_EQ(launched.exit_code, kExitOk) << launched.out;
  EXPECT_THAT(launched.out, HasSubstr("[0] VERIFIED"));
  const Captured other_size =
      shell(program + " launch -n 2 -- " + program + " demo --ranks 3 2>&1");
  EXPECT_EQ(other_size.exit_code, kExitUsage) << other_size.out;
  EXPECT_THAT(other_size.out, HasSubstr("--ranks 3, but 2 ranks were started"));
  const Captured torchrun =
      shell("export MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(20000 + getpid() % 20000) +
            " WORLD_SIZE=2; RANK=1 " + program + small + " & RANK=0 " + program + small + "; wait");
  EXPECT_THAT(torchrun.out, HasSubstr("VERIFIED"));
}

TEST_F(ProgramTest, DemoRunsRecordedRoutingAndWritesTheResult) {
  const std::string files =
      "demo --ranks 2 --tokens " + save<float>("x.npy", NpyType::kF4, {3, 2}, {1, 2, 3, 4, 5, 6}) +
      " --topk-idx " + save<std::int64_t>("i.npy", NpyType::kI8, {3, 2}, {0, 3, -1, 1, 2, 0}) +
      " --topk-weights " + save<float>("w.npy", NpyType::kF4, {3, 2}, {0.5F, 0.25F, 9, 1, 2, -1});
  const Captured captured = run(files + " --out y.npy");
  EXPECT_EQ(captured.exit_code, kExitOk) << captured.out;
  EXPECT_THAT(captured.out, HasSubstr("VERIFIED"));
  const NpyArray combined = load_npy(path("y.npy")).value();
  EXPECT_THAT(combined.as<float>(), ::testing::ElementsAre(0.75F, 1.5F, 3, 4, 5, 6));
  EXPECT_EQ(run(files + " --experts-fn swiglu --layout plain").exit_code, kExitOk);
}

TEST_F(ProgramTest, BadRecordingsAreOneLineThatNamesThePlace) {
  const std::string tokens = save<float>("x.npy", NpyType::kF4, {2, 2}, {1, 2, 3, 4});
  const std::string ids = save<std::int32_t>("i.npy", NpyType::kI4, {2, 1}, {0, 64});
  const std::string weights = save<float>("w.npy", NpyType::kF4, {2, 1}, {1, 1});
  const auto line = [&](const std::string& x, const std::string& i, const std::string& w) {
    return "demo --ranks 2 --tokens " + x + " --topk-idx " + i + " --topk-weights " + w;
  };
  expect_usage_error(line(tokens, ids, weights) + " --experts 64",
                     "i.npy: row 1, column 0: expert 64; allowed: -1 .. 63");
  expect_usage_error(line(tokens, tokens, weights), "x.npy: type <f4; allowed: <i4 or <i8");
  std::ofstream(path("short.npy")) << "\x93NUMPY";
  expect_usage_error(line("short.npy", ids, weights), "short.npy");
  std::filesystem::resize_file(path("w.npy"), 129);
  expect_usage_error(line(tokens, ids, weights), "w.npy");
  expect_usage_error(line("none.npy", ids, weights), "none.npy");
}

TEST_F(ProgramTest, LaunchPassesTheChildsCode) {
  EXPECT_EQ(run("launch -n 2 --grace 0 -- sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(run("launch -n 2 -- true").exit_code, 0);
  const Captured captured = run("launch -n 2 --env GREETING=hello -- sh -c 'echo $GREETING'");
  EXPECT_THAT(captured.out, HasSubstr("[1] hello"));
}

class BenchOperations : public ProgramTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BenchOperations, MeasuresVerifiesAndTellsItAsJson) {
  const json document =
      run_json(std::string("bench ") + GetParam() +
               " --tokens 16 --hidden 33 --experts 10 --topk 3 --iterations 3 --warmup 1 "
               "--repetitions 1 --json -");
  for (const char* field : {"schema",        "operation",
                            "ranks",         "tokens",
                            "hidden",        "experts",
                            "topk",          "dtype",
                            "layout",        "mode",
                            "fabric",        "protocol",
                            "schedule",      "routing",
                            "convention",    "iterations",
                            "median_us",     "p99_us",
                            "bytes_moved",   "gb_per_s",
                            "copy_limit_us", "ratio_to_copy_limit",
                            "verified",      "origin",
                            "peer_us",       "ratio_to_peer"}) {
    EXPECT_TRUE(document.contains(field)) << field;
  }
  EXPECT_EQ(document.at("schema"), "crossdock.bench/1");
  EXPECT_EQ(document.at("verified"), true);
  EXPECT_EQ(document.at("rows_wrong"), 0);
  EXPECT_GT(document.at("rows_checked").get<std::int64_t>(), 0);
  EXPECT_GT(document.at("median_us").get<double>(), 0);
  EXPECT_GT(document.at("copy_limit_us").get<double>(), 0);
  EXPECT_GT(document.at("back_to_back_us").get<double>(), 0);
  EXPECT_GE(document.at("skew").at("experts").at("max_over_mean").get<double>(), 1);
  for (const json& peer : document.at("peers")) {
    EXPECT_TRUE(peer.contains("because") || peer.at("median_us").get<double>() > 0) << peer;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, BenchOperations,
    ::testing::Values("dispatch --ranks 2", "combine --ranks 2", "roundtrip --ranks 2",
                      "dispatch --ranks 3 --layout plain --dtype fp32 --peer none",
                      "combine --ranks 3 --layout plain --peer none",
                      "dispatch --ranks 2 --dtype bytes --mode throughput --peer none",
                      "roundtrip --ranks 2 --mode latency --dtype fp32 --peer none",
                      "roundtrip --ranks 2 --peer all --routing zipf:1",
                      "dispatch --ranks 2 --peer none --routing one",
                      "combine --ranks 2 --peer none --routing local"));

class BenchOverlap : public ProgramTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BenchOverlap, MeasuresThreePhasesAndWhatPostingCosts) {
  const json document = run_json(std::string("bench overlap --tokens 32 --hidden 64 --experts 6 ") +
                                 "--topk 3 --iterations 3 --json - " + GetParam());
  EXPECT_EQ(document.at("schema"), "crossdock.bench_overlap/1");
  EXPECT_EQ(document.at("origin"), "measured");
  EXPECT_EQ(document.at("verified"), true);
  for (const char* phase : {"dispatch", "compute", "both"}) {
    EXPECT_GT(document.at(phase).at("median_us").get<double>(), 0) << phase;
  }
  EXPECT_GT(document.at("ratio_to_larger").get<double>(), 0);
  EXPECT_GT(document.at("submit_ns").get<double>(), 0);
  EXPECT_GT(document.at("both_processor_time").at("median_us").get<double>(), 0);
  if (document.at("way") == "queued") {
    EXPECT_GT(document.at("requests_per_dispatch").get<double>(), 0);
    EXPECT_GT(document.at("doorbells_per_request").get<double>(), 0);
    EXPECT_LE(document.at("doorbells_per_request").get<double>(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, BenchOverlap,
                         ::testing::Values("--ranks 1", "--ranks 2 --progress caller --depth 4",
                                           "--ranks 2 --way direct"));

TEST_F(ProgramTest, BenchPrintsATableForPeople) {
  const Captured captured =
      run("bench dispatch --ranks 2 --tokens 4 --hidden 16 --experts 4 --topk 2 --iterations 2 "
          "--warmup 1 --repetitions 1 --peer none");
  EXPECT_EQ(captured.exit_code, kExitOk) << captured.out;
  EXPECT_THAT(captured.out, HasSubstr("of its speed (copy: "));
  EXPECT_THAT(captured.out, HasSubstr("VERIFIED"));
}

TEST_F(ProgramTest, BenchCompareRunsEverythingAndWritesAReport) {
  const std::string page = ::testing::TempDir() + "/crossdock_compare_test.html";
  const json document = run_json(
      "bench compare --ranks 2 --tokens 8 --hidden 32 --experts 8 --topk 2 --iterations 2 "
      "--warmup 1 --repetitions 2 --sweep-tokens 1,4 --sweep-ranks 2 --json - --report " +
      page);
  EXPECT_EQ(document.at("schema"), "crossdock.bench.compare/1");
  EXPECT_EQ(document.at("runs").size(), 4U);
  EXPECT_EQ(document.at("sweep").size(), 2U);
  for (const json& result : document.at("runs")) {
    EXPECT_EQ(result.at("verified"), true);
    EXPECT_EQ(result.at("by_repetition").size(), 2U);
    EXPECT_GT(result.at("ratio_to_copy_limit").get<double>(), 0);
  }
  EXPECT_TRUE(std::filesystem::exists(page));
  std::filesystem::remove(page);
}

TEST_F(ProgramTest, BenchRoutingsAreCheckedBeforeAnythingStarts) {
  expect_usage_error("bench dispatch --routing zipf", "allowed: uniform, zipf:S");
  expect_usage_error("bench dispatch --routing khot:3", "allowed: khot:8 .. khot:64");
  expect_usage_error("bench compare --sweep-tokens 1,x", "--sweep-tokens");
}

TEST_F(ProgramTest, BenchRunsInRanksThatOthersStarted) {
  const Captured captured =
      shell(std::string(CROSSDOCK_PROGRAM) + " launch -n 2 -- " + CROSSDOCK_PROGRAM +
            " bench roundtrip --tokens 4 --hidden 16 --experts 4 --topk 2 "
            "--iterations 2 --warmup 1 --repetitions 2 2>&1");
  EXPECT_EQ(captured.exit_code, kExitOk) << captured.out;
  EXPECT_THAT(captured.out, HasSubstr("[0] VERIFIED"));
  EXPECT_THAT(captured.out, Not(HasSubstr("[1]")));
}

}  // namespace
}  // namespace crossdock::cli
