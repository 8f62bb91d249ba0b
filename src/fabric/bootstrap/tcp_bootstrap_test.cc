// SPDX-License-Identifier: Apache-2.0
// The TCP provider between well-meaning ranks, and their mistakes. Attackers:
// tcp_strangers_test.cc.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status_macros.h"
#include "fabric/bootstrap/bootstrap_test_support.h"
#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Status join_and_exchange(const TcpOptions& options, Deadline deadline) {
  CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(options, deadline));
  EXPECT_EQ(bootstrap->rank(), options.rank);
  EXPECT_EQ(bootstrap->size(), options.size);
  return exchange(*bootstrap, deadline);
}

class TcpBootstrapOfSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, TcpBootstrapOfSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(TcpBootstrapOfSize, EveryRankGetsEveryBlob) {
  const Meeting meeting(GetParam());
  for (const Status& status : run_ranks(ranks_below(GetParam()), [&](int rank) {
         return join_and_exchange(meeting.of(rank), soon());
       })) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

}  // namespace
}  // namespace crossdock::fabric
