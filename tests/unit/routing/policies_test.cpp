#include <algorithm>
#include <map>
#include <set>

#include "routing/router.hpp"
#include "support/catch.hpp"
#include "unit/topology/read_text.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using routing::Hop;
using routing::Path;
using routing::Resource;
using routing::Router;
using test::cluster_of;
using topology::Cluster;

namespace {

/// Names of the nodes that a one-link-per-hop network path visits between its NICs.
std::vector<std::string> switches_of(const Router& router, const Path& path) {
  std::vector<std::string> names;
  for (const Hop& hop : path.hops) {
    const Resource& resource = router.resources()[hop.resource.index()];
    const topology::Node& to = router.topology().node(router.topology().link(resource.links.front()).to);
    if (to.kind == topology::NodeKind::kSwitch) {
      CHECK(resource.links.size() == 1);
      names.push_back(to.name);
    }
  }
  return names;
}

// Two leaves joined by four parallel links of 100 Gb/s, one GPU each.
constexpr const char* kParallel = R"({"name": "c", "host": "h100-roce", "fabric": {"kind": "links",
  "nodes": [{"name": "a", "kind": "gpu", "host": 0}, {"name": "b", "kind": "gpu", "host": 1, "route_key": 6},
            {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
  "links": [{"from": "a", "to": "s", "bandwidth": "400 Gb/s", "effective": "400 Gb/s", "latency": "1 us"},
            {"from": "s", "to": "t", "bandwidth": "100 Gb/s", "effective": "100 Gb/s", "latency": "1 us", "count": 4},
            {"from": "t", "to": "b", "bandwidth": "400 Gb/s", "effective": "400 Gb/s", "latency": "1 us"}]}})";

}  // namespace

TEST_CASE("four parallel links are one trunk under balanced and one link a flow under ecmp and dmodk") {
  const Cluster cluster = cluster_of(kParallel);
  const Router balanced(cluster, "balanced");
  const Path& trunk = balanced.between(GpuId(0), GpuId(1));
  REQUIRE(trunk.hops.size() == 3);
  CHECK(balanced.resources()[trunk.hops[1].resource.index()].bytes_per_second == 50e9);  // 400 Gb/s

  const Router ecmp(cluster, "ecmp");
  std::set<std::uint32_t> used;
  for (std::uint64_t flow = 0; flow < 64; ++flow) {
    const Path& path = ecmp.between(GpuId(0), GpuId(1), flow);
    REQUIRE(path.hops.size() == 3);
    CHECK(ecmp.resources()[path.hops[1].resource.index()].bytes_per_second == 12.5e9);  // 100 Gb/s
    used.insert(path.hops[1].resource.index());
  }
  CHECK(used.size() == 4);

  const Router dmodk(cluster, "dmodk");
  const Path& path = dmodk.between(GpuId(0), GpuId(1));
  // Key 6 of 4 candidates: the third of the parallel cables. Cables are link pairs, ordered by their ends:
  // a-s, b-t, then the parallel ones, links 4 + 2 x 2.
  CHECK(dmodk.resources()[path.hops[1].resource.index()].links == std::vector<LinkId>{LinkId(8)});
}

TEST_CASE("ecmp gives a flow one path, the same every time, and many flows use every spine") {
  const Cluster cluster =
      cluster_of("h100-roce", 4, R"({"kind": "fat_tree", "hosts_per_leaf": 1, "spines": 8})");
  const Router router(cluster, "ecmp");
  const Router again(cluster, "ecmp");
  std::map<std::string, int> by_spine;
  for (std::uint64_t flow = 0; flow < 400; ++flow) {
    const Path& path = router.between(GpuId(0), GpuId(9), flow);
    CHECK(path.hops == again.between(GpuId(0), GpuId(9), flow).hops);
    const std::vector<std::string> visited = switches_of(router, path);
    REQUIRE(visited.size() == 3);
    CHECK(visited.front() == "leaf0");
    CHECK(visited.back() == "leaf1");
    ++by_spine[visited[1]];
  }
  CHECK(by_spine.size() == 8);
  for (const auto& [spine, flows] : by_spine) {
    CAPTURE(spine);
    // Binomial(400, 1/8): mean 50, standard deviation 6.6; five deviations either way.
    CHECK(flows > 17);
    CHECK(flows < 83);
  }
  const Router other(cluster, "ecmp", 7);
  int different = 0;
  for (std::uint64_t flow = 0; flow < 100; ++flow) {
    different +=
        router.between(GpuId(0), GpuId(9), flow).hops == other.between(GpuId(0), GpuId(9), flow).hops ? 0 : 1;
  }
  CHECK(different > 50);  // another seed, other paths
}

TEST_CASE("queue pairs take hashed paths of their own under ecmp, and one trunk under balanced") {
  // One flow: 400G over the trunk, 100G over one link. Four queue pairs carry a quarter each: with at most m
  // of them on one link the flow gets 400G / m, all of it when they are on four different links.
  Cluster cluster = cluster_of(kParallel);
  cluster.queue_pairs = 4;
  const auto rate = [](const Router& router) {
    double lowest = 0;
    for (const Hop& hop : router.between(GpuId(0), GpuId(1)).hops) {
      const double through =
          router.resources()[hop.resource.index()].bytes_per_second * hop.denominator / hop.numerator;
      lowest = lowest == 0 ? through : std::min(lowest, through);
    }
    return lowest * 8 / 1e9;
  };
  CHECK(rate(Router(cluster, "balanced")) == Approx(400));
  std::map<int, int> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Router router(cluster, "ecmp", seed);
    // The links that the four hash to, flow by flow, as one queue pair would take them.
    Cluster single = cluster_of(kParallel);
    const Router one(single, "ecmp", seed);
    std::map<std::uint32_t, int> on_link;
    for (std::uint64_t flow = 0; flow < 4; ++flow) {
      ++on_link[one.between(GpuId(0), GpuId(1), flow).hops[1].resource.index()];
    }
    int most = 0;
    for (const auto& [link, count] : on_link) {
      most = std::max(most, count);
    }
    CHECK(rate(one) == Approx(100));
    CHECK(rate(router) == Approx(400.0 / most));
    ++seen[most];
  }
  // 4! / 4^4 = 9.4 % of the seeds give four links, 4 / 4^4 = 1.6 % one: 3 standard deviations around it.
  CHECK(seen[1] == Approx(187.5).margin(40));
  CHECK(seen[4] == Approx(31.25).margin(17));
}

TEST_CASE("NVLink is striped under every policy") {
  const Cluster cluster = cluster_of("dgx-h100", 1, R"({"kind": "single_host"})");
  for (const routing::PolicyEntry& policy : routing::policies()) {
    CAPTURE(policy.name);
    const Router router(cluster, policy.name);
    const Path& path = router.between(GpuId(0), GpuId(7));
    REQUIRE(path.hops.size() == 2);
    CHECK(router.resources()[path.hops[0].resource.index()].links.size() == 4);
  }
}

TEST_CASE("dmodk picks the spine by destination number modulo spines") {
  const Cluster cluster =
      cluster_of("dgx-a100-80g", 4, R"({"kind": "fat_tree", "hosts_per_leaf": 1, "spines": 8})");
  const Router router(cluster, "dmodk");
  for (std::uint32_t to = 8; to < 32; ++to) {
    // The destination number of GPU g is NIC number g: its spine is g mod 8, from every source.
    for (const std::uint32_t from : {0U, 5U}) {
      const std::vector<std::string> visited = switches_of(router, router.between(GpuId(from), GpuId(to)));
      REQUIRE(visited.size() == 3);
      CHECK(visited[1] == "spine" + std::to_string(to % 8));
    }
  }
  const Cluster rails =
      cluster_of("dgx-a100-80g", 6, R"({"kind": "rail_optimized", "hosts_per_unit": 2, "spines": 2})");
  const Router by_host(rails, "dmodk");
  // The number is the host: GPU 2 of host 5 (unit 2) over spine 5 mod 2.
  CHECK(switches_of(by_host, by_host.between(GpuId(2), GpuId(5 * 8 + 2))) ==
        std::vector<std::string>{"leaf2", "spine1", "leaf18"});
}

TEST_CASE("dmodk spreads over cores by the quotient of the number") {
  const Cluster cluster =
      cluster_of("dgx-h100", 4,
                 R"({"kind": "fat_tree", "tiers": 3, "hosts_per_leaf": 1, "leaves_per_pod": 2,
                                         "spines": 8, "cores": 2})");
  const Router router(cluster, "dmodk");
  // Number 26 (host 3, NIC 2): spine 26 mod 8 = 2, then core floor(26 / 8) mod 2 = 1.
  CHECK(switches_of(router, router.between(GpuId(0), GpuId(26))) ==
        std::vector<std::string>{"leaf0", "pod0.spine2", "core1", "pod1.spine2", "leaf3"});
}

TEST_CASE("every policy is listed once, with a summary") {
  std::vector<std::string_view> names;
  for (const routing::PolicyEntry& policy : routing::policies()) {
    CHECK_FALSE(policy.summary.empty());
    names.push_back(policy.name);
  }
  CHECK(names == std::vector<std::string_view>{"balanced", "ecmp", "dmodk"});
}
