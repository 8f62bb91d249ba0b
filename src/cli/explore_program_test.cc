// SPDX-License-Identifier: Apache-2.0
// `crossdock explore` as a user runs it: JSON, page, differences, usage errors.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/exit_code.h"
#include "cli/subprocess.h"

namespace crossdock::cli {
namespace {

using nlohmann::json;

class ExploreProgram : public testing::Test {
 protected:
  ExploreProgram() {
    std::string pattern = testing::TempDir() + "explore-program-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    write("old/a.cc", "int helper(int a) { return a; }\nint main() { return helper(0); }\n");
    write("new/a.cc", "int main() { return 0; }\n");
  }
  ~ExploreProgram() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(folder_) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream stream(folder_ + "/" + path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  [[nodiscard]] Captured run(const std::string& arguments) const {
    return run_shell(std::string(CROSSDOCK_PROGRAM) + " explore " + arguments);
  }

  [[nodiscard]] Captured run_shell(const std::string& line) const {
    const auto captured = run_captured({"/bin/sh", "-c", "cd " + folder_ + " && " + line + " 2>&1"},
                                       std::chrono::seconds(100));
    EXPECT_TRUE(captured.ok()) << captured.status().to_string();
    return captured.ok() ? *captured : Captured{.exit_code = -1, .out = ""};
  }

 private:
  std::string folder_;
};

TEST_F(ExploreProgram, WritesTheDocumentToStdout) {
  const Captured captured = run("old --json -");
  ASSERT_EQ(captured.exit_code, kExitOk) << captured.out;
  const json document = json::parse(captured.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << captured.out;
  EXPECT_EQ(document["schema"], "crossdock.explore/1");
  EXPECT_EQ(document["functions"].size(), 2U);
  EXPECT_EQ(document["provenance"]["command"], "crossdock explore old --json -");
}

TEST_F(ExploreProgram, ThePageHoldsTheData) {
  const Captured captured = run("old --out page.html");
  if (captured.out.find("the page was not built") != std::string::npos) {
    EXPECT_EQ(captured.exit_code, kExitOperating);
    GTEST_SKIP() << captured.out;
  }
  ASSERT_EQ(captured.exit_code, kExitOk) << captured.out;
  const std::string page = read("page.html");
  const std::size_t at = page.find(R"(<script type="application/json" id="explore-data">{)");
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = page.find('{', at);
  const json document = json::parse(page.substr(begin, page.find('<', begin) - begin));
  EXPECT_EQ(document["functions"].size(), 2U);
}

TEST_F(ExploreProgram, DifferencesOfPathsAndDocuments) {
  ASSERT_EQ(run("old --json old.json").exit_code, kExitOk);
  const Captured captured = run("--diff old.json new");
  EXPECT_EQ(captured.exit_code, kExitOk);
  EXPECT_NE(captured.out.find("- function helper#"), std::string::npos) << captured.out;
  EXPECT_NE(captured.out.find("~ function main#"), std::string::npos) << captured.out;
}

TEST_F(ExploreProgram, TheServerReadsAgainWhatChanged) {
  if (run("old --out page.html").out.find("the page was not built") != std::string::npos) {
    GTEST_SKIP() << "the page was not built";
  }
  write("ask.py", R"py(
import json, subprocess, sys, time, urllib.error, urllib.request

command = [sys.argv[1], "explore", "old", "--serve"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    url = server.stdout.readline().strip()
    ask = lambda path: urllib.request.urlopen(url + path, timeout=60).read().decode()
    before = json.loads(ask("state"))
    assert "explore-data" in ask("")
    time.sleep(0.05)  # A file's time has a grain.
    with open("old/more.cc", "w") as file:
        file.write("int more() { return 1; }\n")
    names = [function["name"] for function in json.loads(ask("explore.json"))["functions"]]
    after = json.loads(ask("state"))
    assert "more" in names, names
    assert after["revision"] > before["revision"] and after["sha256"] != before["sha256"]
    try:
        foreign = urllib.request.Request(url, headers={"Host": "elsewhere"})
        urllib.request.urlopen(foreign, timeout=60)
        raise AssertionError("another host's name was answered")
    except urllib.error.HTTPError as error:
        assert error.code == 403, error
    print("answered")
finally:
    server.kill()
    server.wait()
)py");
  const Captured captured = run_shell(std::string("python3 ask.py ") + CROSSDOCK_PROGRAM);
  EXPECT_EQ(captured.exit_code, 0) << captured.out;
  EXPECT_NE(captured.out.find("answered"), std::string::npos) << captured.out;
}

TEST_F(ExploreProgram, WhatIsNotAcceptableIsOneLine) {
  for (const char* const line : {"", "nowhere", "old --root nobody", "old --rules nowhere",
                                 "old --overlay old/a.cc", "--diff old", "old --serve 70000"}) {
    const Captured captured = run(line);
    EXPECT_EQ(captured.exit_code, kExitUsage) << line << ": " << captured.out;
    EXPECT_EQ(captured.out.find('\n'), captured.out.size() - 1) << captured.out;
  }
}

}  // namespace
}  // namespace crossdock::cli
