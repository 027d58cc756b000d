#include <algorithm>
#include <map>

#include "base/error.hpp"
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

/// Tier, share and number of links of every hop, in order.
struct Seen {
  std::string tier;
  std::uint32_t numerator;
  std::uint32_t denominator;
  std::size_t links;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.tier << ' ' << seen.numerator << '/' << seen.denominator << " x" << seen.links;
  }
};

std::vector<Seen> hops_of(const Router& router, const Path& path) {
  std::vector<Seen> seen;
  for (const Hop& hop : path.hops) {
    const Resource& resource = router.resources()[hop.resource.index()];
    seen.push_back(
        {router.topology().tiers()[resource.tier], hop.numerator, hop.denominator, resource.links.size()});
  }
  return seen;
}

const std::string kTwoTiers = R"({"kind": "fat_tree", "hosts_per_leaf": 1, "spines": 2})";

}  // namespace

TEST_CASE("inside a host a path is NVLink, striped over all its switches") {
  const Cluster cluster = cluster_of("dgx-a100-80g", 2, kTwoTiers);
  const Router router(cluster, "balanced");
  const Path& path = router.between(GpuId(1), GpuId(6));
  CHECK(hops_of(router, path) == std::vector<Seen>{{"NVLink", 1, 1, 6}, {"NVLink", 1, 1, 6}});
  // 6 x 235/6 GB/s, each link rounded down to 1 b/s.
  CHECK(router.resources()[path.hops[0].resource.index()].bytes_per_second == Approx(235e9).epsilon(1e-10));
  CHECK(path.latency == 200_ns);  // two NVLink links of 100 ns
  CHECK_FALSE(router.crosses_network(GpuId(1), GpuId(6)));
  CHECK(router.between(GpuId(1), GpuId(1)).hops.empty());
}

TEST_CASE("between hosts a path goes by PCIe and NIC, and the up-links of a leaf are one trunk") {
  const Cluster cluster = cluster_of("dgx-h100", 2, kTwoTiers);
  const Router router(cluster, "balanced");
  const Path& path = router.between(GpuId(1), GpuId(8 + 6));
  // A leaf has 8 up-links: one trunk of 8 x 400 Gb/s nameplate, 8 x 392 payload.
  CHECK(hops_of(router, path) == std::vector<Seen>{{"PCIe", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1},
                                                   {"NIC", 1, 1, 1},
                                                   {"leaf-spine", 1, 1, 8},
                                                   {"leaf-spine", 1, 1, 8},
                                                   {"NIC", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1}});
  const Resource& trunk = router.resources()[path.hops[3].resource.index()];
  CHECK(trunk.bytes_per_second == 8 * 49e9);
  CHECK(trunk.nameplate_bytes_per_second == 8 * 50e9);
  // 4 x 250 ns PCIe + 4 x 500 ns NIC and switch links.
  CHECK(path.latency == 3_us);
  CHECK(router.crosses_network(GpuId(1), GpuId(14)));
  // Another pair of the same leaves crosses the same trunk.
  CHECK(router.between(GpuId(3), GpuId(9)).hops[3].resource == path.hops[3].resource);
}

TEST_CASE("a degraded link stands apart from its trunk") {
  const Cluster cluster =
      cluster_of(R"({"name": "c", "host": "dgx-h100", "hosts": 3, "fabric": )" + kTwoTiers +
                 R"(, "faults": [{"link": "leaf0-spine1", "index": 2, "factor": 0.5}]})");
  const Router router(cluster, "balanced");
  const Path& path = router.between(GpuId(0), GpuId(8));
  // Leaf 0 has 4 links to spine 0, 3 to spine 1, and the degraded one; 7 + 1 links carry 1/8 each. The
  // spines now differ, so the healthy 7 are two trunks of 4 and 3. Down from spine 0 and spine 1: 4 each.
  CHECK(hops_of(router, path) == std::vector<Seen>{{"PCIe", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1},
                                                   {"NIC", 1, 1, 1},
                                                   {"leaf-spine", 1, 2, 4},
                                                   {"leaf-spine", 3, 8, 3},
                                                   {"leaf-spine", 1, 8, 1},
                                                   {"leaf-spine", 1, 2, 4},
                                                   {"leaf-spine", 1, 2, 4},
                                                   {"NIC", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1},
                                                   {"PCIe", 1, 1, 1}});
  // The fault changes exactly its own trunk, in both directions.
  const std::vector<ResourceId> hit = router.resources_of(cluster.faults.front());
  REQUIRE(hit.size() == 2);
  for (const ResourceId id : hit) {
    CHECK(router.resources()[id.index()].links.size() == 1);
  }
}

TEST_CASE("a link that is down from the start and for good is routed around") {
  const auto with = [](const std::string& fault) {
    return cluster_of(R"({"name": "c", "host": "dgx-h100", "hosts": 2, "fabric": )" + kTwoTiers +
                      R"(, "faults": [)" + fault + "]}");
  };
  const Cluster gone = with(R"({"link": "leaf0-spine1", "factor": 0})");
  const Router router(gone, "balanced");
  // Only spine 0 is left: 4 links up, 4 down.
  const std::vector<Seen> hops = hops_of(router, router.between(GpuId(0), GpuId(8)));
  REQUIRE(hops.size() == 8);
  CHECK(hops[3] == Seen{"leaf-spine", 1, 1, 4});
  CHECK(hops[4] == Seen{"leaf-spine", 1, 1, 4});

  const Cluster later = with(R"({"link": "leaf0-spine1", "factor": 0, "at": "1 s"})");
  const Router still(later, "balanced");
  CHECK(hops_of(still, still.between(GpuId(0), GpuId(8)))[3] == Seen{"leaf-spine", 1, 2, 4});

  const Cluster cut = with(R"({"link": "leaf0-spine0", "factor": 0}, {"link": "leaf0-spine1", "factor": 0})");
  const Router broken(cut, "balanced");
  CHECK_THROWS_WITH(
      broken.between(GpuId(0), GpuId(8)),
      "c.json:1:57: /fabric: no path from \"h0.nic0\" to \"h1.nic0\": traffic passes through switches, not "
      "through other GPUs, NICs or storage; check the faults that take links down, or join them by links "
      "over "
      "a switch");
  CHECK_NOTHROW(broken.between(GpuId(0), GpuId(1)));
}

TEST_CASE("between pods a path crosses cores, and all spines of a pod are alike") {
  const Cluster cluster =
      cluster_of("dgx-h100", 4,
                 R"({"kind": "fat_tree", "tiers": 3, "hosts_per_leaf": 1, "leaves_per_pod": 2,
                                         "spines": 4, "cores": 2, "spine_oversubscription": 2})");
  const Router router(cluster, "balanced");
  const std::vector<Seen> hops = hops_of(router, router.between(GpuId(0), GpuId(31)));
  REQUIRE(hops.size() == 10);
  // 8 links leaf to spines; a spine has 2 x 2 down and 2 up at 2:1, so 4 x 2 links pod to cores.
  CHECK(hops[3] == Seen{"leaf-spine", 1, 1, 8});
  CHECK(hops[4] == Seen{"spine-core", 1, 1, 8});
  CHECK(hops[5] == Seen{"spine-core", 1, 1, 8});
  CHECK(hops[6] == Seen{"leaf-spine", 1, 1, 8});
  // Inside the pod no core is used.
  CHECK(hops_of(router, router.between(GpuId(0), GpuId(8))).size() == 8);
}

TEST_CASE("on one rail a rail-optimised fabric stays on the leaf") {
  const Cluster cluster =
      cluster_of("dgx-h100", 4, R"({"kind": "rail_optimized", "hosts_per_unit": 4, "spines": 2})");
  const Router router(cluster, "balanced");
  CHECK(router.between(GpuId(3), GpuId(8 + 3)).hops.size() == 6);
  CHECK(router.between(GpuId(3), GpuId(8 + 4)).hops.size() == 8);
  // By the NIC of GPU 4 the path to GPU 4 of the other host stays on rail 4, after NVLink.
  const Path& relayed = router.between_by(GpuId(3), GpuId(4), GpuId(8 + 4));
  const std::vector<Seen> hops = hops_of(router, relayed);
  REQUIRE(hops.size() == 8);
  CHECK(hops[0] == Seen{"NVLink", 1, 1, 4});
  CHECK(hops[1] == Seen{"NVLink", 1, 1, 4});
  CHECK(hops[4] == Seen{"NIC", 1, 1, 1});
  CHECK(hops[5] == Seen{"NIC", 1, 1, 1});
  CHECK(relayed.latency == 200_ns + 4 * 250_ns + 2 * 500_ns);
}

TEST_CASE("a GPU with two NICs uses both equally") {
  const Cluster cluster = cluster_of(R"({"name": "c", "hosts": 2, "host": {"base": "dgx-h100", "nics": 16},
                                         "fabric": {"kind": "fat_tree", "hosts_per_leaf": 1, "spines": 2}})");
  const Router router(cluster, "balanced");
  std::map<std::string, double> nic_share;
  for (const Seen& hop : hops_of(router, router.between(GpuId(0), GpuId(8)))) {
    if (hop.tier == "NIC") {
      CHECK((hop.numerator == 1 && hop.denominator == 2));
    }
    if (hop.tier == "leaf-spine") {
      CHECK((hop.numerator == 1 && hop.denominator == 1));  // both halves in one trunk
    }
    nic_share[hop.tier] += static_cast<double>(hop.numerator) / hop.denominator;
  }
  CHECK(nic_share.at("NIC") == 2);  // out and in
}

TEST_CASE("a storage path ends in the write rate and starts in the read rate") {
  const Cluster cluster =
      cluster_of(R"({"name": "c", "host": "dgx-h100", "hosts": 2, "fabric": )" + kTwoTiers +
                 R"(, "storage": {"read": "100 GB/s", "write": "40 GB/s",
                                          "attach": {"links": 4, "bandwidth": "400 Gb/s"}}})");
  const Router router(cluster, "balanced");
  const std::size_t last = router.resources().size() - 1;
  CHECK(router.resources()[last - 1].bytes_per_second == 100e9);
  CHECK(router.resources()[last].bytes_per_second == 40e9);
  const Path& write = router.to_storage(GpuId(3), 0);
  CHECK(write.hops.back() == Hop{ResourceId(last), 1, 1});
  // PCIe x 2, NIC, 8 up-links, 4 storage links, write rate.
  CHECK(hops_of(router, write) == std::vector<Seen>{{"PCIe", 1, 1, 1},
                                                    {"PCIe", 1, 1, 1},
                                                    {"NIC", 1, 1, 1},
                                                    {"leaf-spine", 1, 1, 8},
                                                    {"storage", 1, 1, 4},
                                                    {"storage", 1, 1, 0}});
  const Path& read = router.from_storage(0, GpuId(3));
  CHECK(read.hops.front() == Hop{ResourceId(last - 1), 1, 1});
  CHECK(read.hops.size() == 6);
}

TEST_CASE("GPUs of one host without a path inside it go over the network") {
  const Cluster cluster = cluster_of(R"({"name": "c", "host": "dgx-h100", "fabric": {"kind": "links",
    "nodes": [{"name": "a", "kind": "gpu", "host": 0}, {"name": "b", "kind": "gpu", "host": 0}, {"name": "s", "kind": "switch"}],
    "links": [{"from": "a", "to": "s", "bandwidth": "100 Gb/s", "latency": "1 us"},
              {"from": "b", "to": "s", "bandwidth": "100 Gb/s", "latency": "1 us"}]}})");
  const Router router(cluster, "balanced");
  CHECK(router.crosses_network(GpuId(0), GpuId(1)));
  CHECK(router.between(GpuId(0), GpuId(1)).hops.size() == 2);
}

TEST_CASE("an unknown routing is answered with the nearest") {
  const Cluster cluster = cluster_of("dgx-h100", 1, R"({"kind": "single_host"})");
  CHECK_THROWS_WITH(Router(cluster, "balance"), "unknown routing \"balance\"; did you mean \"balanced\"?");
}

namespace {

/// Two GPUs behind two switches that two parallel links of 100 and 300 Gb/s join.
std::string unequal_parallel(const std::string& faults) {
  return R"({"name": "c", "host": "dgx-h100", "fabric": {"kind": "links", "nodes": [
    {"name": "g0", "kind": "gpu", "host": 0}, {"name": "g1", "kind": "gpu", "host": 1},
    {"name": "a", "kind": "switch"}, {"name": "b", "kind": "switch"}], "links": [
    {"from": "g0", "to": "a", "bandwidth": "800 Gb/s", "latency": "1 us", "tier": "NIC"},
    {"from": "g1", "to": "b", "bandwidth": "800 Gb/s", "latency": "1 us", "tier": "NIC"},
    {"from": "a", "to": "b", "bandwidth": "100 Gb/s", "latency": "1 us"},
    {"from": "a", "to": "b", "bandwidth": "300 Gb/s", "latency": "2 us"}]}, "faults": )" +
         faults + "}";
}

}  // namespace

TEST_CASE("parallel links of unequal rate are one trunk of their sum") {
  const Cluster cluster = cluster_of(unequal_parallel("[]"));
  const Router router(cluster, "balanced");
  const Path& path = router.between(GpuId(0), GpuId(1));
  CHECK(hops_of(router, path) == std::vector<Seen>{{"NIC", 1, 1, 1}, {"link", 1, 1, 2}, {"NIC", 1, 1, 1}});
  const Resource& trunk = router.resources()[path.hops[1].resource.index()];
  CHECK(trunk.nameplate_bytes_per_second == 50e9);  // 400 Gb/s
  CHECK(path.latency == 4_us);                      // the last byte takes the slower link: 1 + 2 + 1
}

TEST_CASE("parallel links that faults tell apart share by their capacity") {
  const Cluster cluster =
      cluster_of(unequal_parallel(R"([{"link": "a-b", "index": 0, "factor": 0.5, "at": "1 s"}])"));
  const Router router(cluster, "balanced");
  // 100 of 400 Gb/s and 300 of 400 Gb/s.
  CHECK(hops_of(router, router.between(GpuId(0), GpuId(1))) ==
        std::vector<Seen>{{"NIC", 1, 1, 1}, {"link", 1, 4, 1}, {"link", 3, 4, 1}, {"NIC", 1, 1, 1}});
}
