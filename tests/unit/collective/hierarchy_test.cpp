#include <algorithm>

#include "base/error.hpp"
#include "collective/layout.hpp"
#include "small_fabric.hpp"
#include "support/catch.hpp"

// Groups in levels: what the fabric says of them, and what they cost.

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::collective::test;
using namespace stepcast::literals;

using Catch::Matchers::Contains;

namespace {

/// Eight hosts of four GPUs, two hosts a leaf, leaves joined by one cable of 10 GB/s each way to a spine. No
/// latencies: only bytes take time.
topology::Cluster two_tiers() {
  hardware::HostKind host = without_latency(round_host(4));
  host.collective.efficiency_nvls = 1;
  topology::Topology::Draft draft;
  topology::add_hosts(host, 8, draft);
  const NodeId spine = draft.add_node({.kind = topology::NodeKind::kSwitch, .name = "spine"});
  for (std::uint32_t l = 0; l < 4; ++l) {
    const NodeId leaf =
        draft.add_node({.kind = topology::NodeKind::kSwitch, .index = l, .name = fmt::format("leaf{}", l)});
    for (std::uint32_t h = 2 * l; h < 2 * l + 2; ++h) {
      for (std::uint32_t nic = 0; nic < 4; ++nic) {
        draft.add_cable(
            node_named(draft, fmt::format("h{}.nic{}", h, nic)), leaf,
            {.capacity = host.nic_bandwidth, .effective = host.nic_effective, .tier = draft.tier("NIC")});
      }
    }
    draft.add_cable(leaf, spine, {.capacity = 10_GBps, .effective = 10_GBps, .tier = draft.tier("leaf")});
  }
  return {.name = "two tiers",
          .description = "",
          .host = host,
          .hosts = 8,
          .topology = topology::Topology::build(std::move(draft)),
          .storage = {},
          .faults = {}};
}

Request named(Kind kind, std::string_view algorithm, Bytes bytes) {
  Request request;
  request.kind = kind;
  request.algorithm = std::string(algorithm);
  request.bytes = bytes;
  request.protocol = Protocol::kSimple;
  return request;
}

double seconds(const routing::Router& router, const Request& request, std::uint32_t members) {
  return Lowering(router).lower(request, first_gpus(members), Form::kCoupled).idle_time.seconds();
}

constexpr double kS = 64.0 * 1024 * 1024;  // 16 chunks of 4 MiB

}  // namespace

TEST_CASE("levels of the fabric are hosts, then what shares a switch", "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  const auto levels = [&](const std::vector<GpuId>& group) {
    return places_in_fabric(router, group, places_of(router, group)).levels();
  };
  CHECK(levels(first_gpus(32)) == std::vector<std::uint32_t>{4, 2, 4});
  CHECK(levels(first_gpus(16)) == std::vector<std::uint32_t>{4, 2, 2});
  CHECK(levels(first_gpus(8)) == std::vector<std::uint32_t>{4, 2});
  CHECK(levels(first_gpus(4)) == std::vector<std::uint32_t>{4});
  // One host of one leaf and two of another: leaves of unequal sizes are no level.
  CHECK(levels({GpuId(0), GpuId(8), GpuId(12)}) == std::vector<std::uint32_t>{3});
  // Hosts 0 and 2, 1 and 3 in the group's order: 0 and 1 share a leaf and stand together.
  const std::vector<GpuId> mixed{GpuId(0), GpuId(8), GpuId(4), GpuId(12)};
  const Places places = places_in_fabric(router, mixed, places_of(router, mixed));
  CHECK(places.levels() == std::vector<std::uint32_t>{2, 2});
  CHECK(places.in_order() == std::vector<std::uint32_t>{0, 2, 1, 3});
}

TEST_CASE("three levels with k chunks take max + (sum - max) / k", "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  // In hosts 3/4 S at 80 GB/s, out and back; in a leaf 1/2 of S/4 at 10 GB/s, out and back; between leaves
  // every member moves 2 x 3/4 of S/8, the 8 of a leaf together 1.5 S over its 10 GB/s.
  const double inside = 2 * 0.75 * kS / 80e9;
  const double leaf = 2 * 0.5 * kS / 4 / 10e9;
  const double between = 1.5 * kS / 10e9;
  const double expected = between + (inside + leaf) / 16;
  for (const char* algorithm :
       {"hierarchical", "hierarchical:4x2x4", "hierarchical:ring,ring,ring", "hierarchical:ring,direct,tree",
        "hierarchical:4x2x4=tree,ring,ring", "hierarchical:halving_doubling,halving_doubling,ring"}) {
    CAPTURE(algorithm);
    // A tree of 4 leaves moves as much as a ring, but one leaf may send more of it than others.
    const double measured = seconds(router, named(Kind::kAllReduce, algorithm, 64_MiB), 32);
    if (std::string_view(algorithm).find("direct,tree") == std::string_view::npos) {
      CHECK(measured == Approx(expected).epsilon(1e-6));
    } else {
      CHECK(measured >= expected * (1 - 1e-6));
    }
  }
  // One chunk of 4 MiB: the sum of the levels. Half a chunk more: only the slowest level for it.
  const double sum = (inside + leaf + between) / 16;
  CHECK(seconds(router, named(Kind::kAllReduce, "hierarchical", 4_MiB), 32) == Approx(sum).epsilon(1e-6));
  CHECK(seconds(router, named(Kind::kAllReduce, "hierarchical", 6_MiB), 32) ==
        Approx(sum + between / 32).epsilon(1e-6));
  // Half of the passes: half of the time.
  for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
    CHECK(seconds(router, named(kind, "hierarchical", 64_MiB), 32) == Approx(expected / 2).epsilon(1e-6));
  }
  // NVLink switches that add: S up or down instead of 3/4 S.
  CHECK(seconds(router, named(Kind::kAllReduce, "hierarchical:nvls,ring,ring", 64_MiB), 32) ==
        Approx(between + (2 * kS / 80e9 + leaf) / 16).epsilon(1e-6));
}

TEST_CASE("fewer algorithms than levels of the fabric: the outermost are one", "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  CHECK(seconds(router, named(Kind::kAllReduce, "hierarchical:ring,ring", 64_MiB), 32) ==
        seconds(router, named(Kind::kAllReduce, "hierarchical:4x8", 64_MiB), 32));
  // Rings of 8 hosts cross a leaf's cable once: 4 rails x 2 x 7/8 x S/4.
  CHECK(seconds(router, named(Kind::kAllReduce, "hierarchical:4x8", 64_MiB), 32) ==
        Approx(1.75 * kS / 10e9 + 1.5 * kS / 80e9 / 16).epsilon(1e-6));
}

TEST_CASE("an all-to-all in levels leaves hosts on the rail of the receiver", "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  // In hosts 3/4 S at 80 GB/s; to the other host of the leaf S/2 at 10 GB/s; between leaves 3/4 S of each of
  // the 8 members of a leaf at 10 GB/s together.
  const double inside = 0.75 * kS / 80e9;
  const double leaf = 0.5 * kS / 10e9;
  const double between = 8 * 0.75 * kS / 10e9;
  CHECK(seconds(router, named(Kind::kAllToAll, "hierarchical", 64_MiB), 32) ==
        Approx(between + (inside + leaf) / 16).epsilon(1e-6));
}

TEST_CASE("levels that cannot be are refused with the reason", "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  const auto lower = [&](Kind kind, std::string_view algorithm, std::uint32_t members) {
    return Lowering(router).lower(named(kind, algorithm, 1_MiB), first_gpus(members), Form::kCoupled);
  };
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:4x4", 32),
                    Contains("levels of 4 x 4 are 16 members, and the group has 32"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:ring,ring,ring,ring", 32),
                    Contains("4 algorithms for the 3 levels of this group (4 x 2 x 4)"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:rings,ring", 32),
                    Contains("did you mean \"ring\"?"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:4x6=ring,halving_doubling", 24),
                    Contains("halving_doubling on a level of 6: it needs a power of two"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:ring,nvls", 32), Contains("only be the innermost"));
  CHECK_THROWS_WITH(lower(Kind::kAllToAll, "hierarchical:ring,direct", 32), Contains("exchange directly"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:4x=ring", 32),
                    Contains("\"\" is no size of a level"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "hierarchical:4x8=ring", 32),
                    Contains("2 sizes and 1 algorithms"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "ring:4x8", 32), Contains("no levels or sides"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "torus2d:4x4x2", 32), Contains("3 sides for 2 dimensions"));
  CHECK_THROWS_WITH(lower(Kind::kAllReduce, "torus2d:ring,ring", 32), Contains("rings in all dimensions"));
  Request request = named(Kind::kAllReduce, "hierarchical:nvls,ring", 1_MiB);
  request.protocol = Protocol::kLl;
  CHECK_THROWS_WITH(Lowering(router).lower(request, first_gpus(8), Form::kCoupled),
                    Contains("protocol Simple only"));
}

TEST_CASE("the sides of a torus are those asked for, else the levels of the fabric",
          "[collective][hierarchy]") {
  const topology::Cluster cluster = two_tiers();
  const routing::Router router(cluster, "balanced");
  const auto time = [&](std::string_view algorithm, std::uint32_t members) {
    return seconds(router, named(Kind::kAllReduce, algorithm, 64_MiB), members);
  };
  CHECK(time("torus3d", 32) == time("torus3d:4x2x4", 32));
  CHECK(time("torus2d", 8) == time("torus2d:4x2", 8));
  // Three levels and two dimensions: as near as can be.
  CHECK(time("torus2d", 32) == time("torus2d:8x4", 32));
  CHECK(time("torus2d:2x16", 32) != time("torus2d:8x4", 32));
}
