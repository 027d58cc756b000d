#include "collective/schedule.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;

TEST_CASE("bus factors are those of nccl-tests", "[collective]") {
  // nccl-tests doc/PERFORMANCE.md: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all, scatter,
  // gather (n-1)/n; broadcast, reduce, send/recv 1. For n = 8: 14/8 = 1.75 and 7/8 = 0.875.
  CHECK(bus_factor(Kind::kAllReduce, 8) == 1.75);
  CHECK(bus_factor(Kind::kAllGather, 8) == 0.875);
  CHECK(bus_factor(Kind::kReduceScatter, 8) == 0.875);
  CHECK(bus_factor(Kind::kAllToAll, 8) == 0.875);
  CHECK(bus_factor(Kind::kScatter, 8) == 0.875);
  CHECK(bus_factor(Kind::kGather, 8) == 0.875);
  CHECK(bus_factor(Kind::kBroadcast, 8) == 1);
  CHECK(bus_factor(Kind::kReduce, 8) == 1);
  CHECK(bus_factor(Kind::kSendRecv, 8) == 1);
  CHECK(bus_factor(Kind::kAllReduce, 1) == 0);
  CHECK_THROWS_AS(bus_factor(Kind::kAllReduce, 0), InternalError);
}

TEST_CASE("every kind has its name, in order", "[collective]") {
  CHECK(kind_names().size() == 10);
  CHECK(name_of(Kind::kAllReduce) == "all_reduce");
  CHECK(name_of(Kind::kAllToAll) == "all_to_all");
  CHECK(name_of(Kind::kBarrier) == "barrier");
  CHECK(name_of(Kind::kScatter) == "scatter");
  CHECK(name_of(Kind::kGather) == "gather");
  for (std::size_t i = 0; i < kind_names().size(); ++i) {
    CHECK(name_of(static_cast<Kind>(i)) == kind_names()[i]);
  }
}

TEST_CASE("fused actions both receive and send", "[collective]") {
  CHECK(sends(Action::kSend));
  CHECK_FALSE(receives(Action::kSend));
  CHECK(receives(Action::kRecv));
  CHECK_FALSE(sends(Action::kRecv));
  CHECK(receives(Action::kRecvReduceCopy));
  CHECK_FALSE(sends(Action::kRecvReduceCopy));
  for (const Action fused : {Action::kRecvCopySend, Action::kRecvReduceSend, Action::kRecvReduceCopySend}) {
    CHECK(receives(fused));
    CHECK(sends(fused));
  }
  for (const Action local : {Action::kCopy, Action::kReduce}) {
    CHECK_FALSE(receives(local));
    CHECK_FALSE(sends(local));
  }
  CHECK(name_of(Action::kRecvReduceCopySend) == "recv_reduce_copy_send");
}
