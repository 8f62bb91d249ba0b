// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/memory_check.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace crossdock::fabric {
namespace {

namespace fs = std::filesystem;

// A /proc and a /sys/fs/cgroup of the test's own.
class MemoryRoomTest : public ::testing::Test {
 protected:
  MemoryRoomTest() {
    std::string name = fs::temp_directory_path() / "crossdock-memory-XXXXXX";
    root_ = ::mkdtemp(name.data());
    write("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 4000000 kB\n");
  }
  ~MemoryRoomTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] MemoryRoom room() const {
    return memory_room((root_ / "proc").string(), (root_ / "cgroup").string());
  }

  fs::path root_;
};

TEST_F(MemoryRoomTest, WithoutCgroupsMemAvailableIsTheLimit) {
  EXPECT_EQ(room().available_bytes, 4'000'000ULL * 1024);
  EXPECT_EQ(room().limit, "MemAvailable");
}

TEST_F(MemoryRoomTest, AVersion2LimitAboveTheGroupBinds) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("cgroup/jobs/mine/memory.max", "max\n");
  write("cgroup/jobs/mine/memory.current", "1000\n");
  write("cgroup/jobs/memory.max", "100000\n");
  write("cgroup/jobs/memory.current", "70000\n");
  write("cgroup/jobs/memory.stat", "anon 20000\ninactive_file 10000\n");
  EXPECT_EQ(room().available_bytes, 40'000U);  // page cache can be dropped
  EXPECT_NE(room().limit.find("jobs/memory.max"), std::string::npos) << room().limit;
}

TEST_F(MemoryRoomTest, AVersion1LimitBinds) {
  write("proc/self/cgroup", "9:name=systemd:/\n7:cpu,memory:/box\n");
  write("cgroup/memory/box/memory.limit_in_bytes", "5000\n");
  write("cgroup/memory/box/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(room().available_bytes, 0U);
}

TEST_F(MemoryRoomTest, ARefusalNamesNeededAvailableAndTheLimit) {
  const Status status = check_memory(5000, {4000, "MemAvailable"});
  EXPECT_EQ(status.kind(), StatusKind::kNoMemory);
  for (const char* part : {"5000 bytes", "4000 bytes", "MemAvailable", "nothing was touched"}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
  }
  EXPECT_TRUE(check_memory(4000, {4000, "MemAvailable"}).ok());
}

}  // namespace
}  // namespace crossdock::fabric
