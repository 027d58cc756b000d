#include "placement/placement.hpp"

#include "support/catch.hpp"
#include "unit/topology/read_text.hpp"

using namespace stepcast;
using placement::parse_rank_list;
using Ranks = std::vector<std::uint32_t>;

namespace {

Ranks parse(std::string_view text) {
  config::Diagnostics diagnostics;
  Ranks ranks = parse_rank_list(text, "--ranks", diagnostics);
  diagnostics.throw_if_any();
  return ranks;
}

}  // namespace

TEST_CASE("a rank list is a count, ranges, single ranks and strides, in order") {
  CHECK(parse("4") == Ranks{0, 1, 2, 3});
  CHECK(parse("0-3,16") == Ranks{0, 1, 2, 3, 16});
  CHECK(parse("0-56/8") == Ranks{0, 8, 16, 24, 32, 40, 48, 56});
  CHECK(parse("9-9,3-1000000000/600000000") == Ranks{9, 3, 600000003});
  CHECK(placement::is_count("16384"));
  CHECK_FALSE(placement::is_count("0-7"));
}

TEST_CASE("a bad rank list is refused with its flag") {
  CHECK_THROWS_WITH(parse("0-7,3"), "--ranks: 3 is listed twice; list every rank once");
  CHECK_THROWS_WITH(parse("0"), "--ranks: a count of 0; give 1 to 16000000 ranks");
  for (const char* text : {"", "7-3", "0-8/0", "1,,2", "a", "1-", "-1", "0-7/", "99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse(text), Catch::Matchers::Contains("--ranks: cannot read"));
  }
  CHECK_THROWS_WITH(parse("1-4000000000"), Catch::Matchers::Contains("--ranks: more than 16000000 ranks"));
}

TEST_CASE("ranks are packed in cluster order or placed as listed") {
  const topology::Cluster cluster = test::cluster_of("dgx-h100", 1, R"({"kind": "single_host"})");
  const Placement packed = placement::packed(cluster.topology, 3);
  REQUIRE(packed.size() == 3);
  CHECK(packed[RankId(2)] == GpuId(2));
  const Placement listed = placement::explicit_list(cluster.topology, Ranks{7, 0});
  CHECK(listed[RankId(0)] == GpuId(7));
  CHECK_THROWS_WITH(placement::packed(cluster.topology, 9),
                    "9 ranks do not fit the 8 GPUs of the cluster; use a larger cluster or fewer ranks");
  CHECK_THROWS_WITH(placement::explicit_list(cluster.topology, Ranks{8}),
                    "GPU 8 does not exist: the cluster has 8 GPUs, numbered from 0; list others");
}
