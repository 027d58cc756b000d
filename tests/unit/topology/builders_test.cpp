#include <algorithm>
#include <map>

#include "routing/router.hpp"
#include "support/catch.hpp"
#include "topology/builder.hpp"
#include "unit/topology/read_text.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using test::cluster_of;
using topology::Cluster;
using topology::Link;
using topology::NodeKind;
using topology::Topology;

namespace {

/// Links and capacity from switches of one tier to those of another.
struct Bundle {
  std::size_t links = 0;
  std::int64_t bits_per_second = 0;
};

Bundle between_tiers(const Topology& topology, std::uint8_t from, std::uint8_t to) {
  Bundle bundle;
  for (const Link& link : topology.links()) {
    const auto& a = topology.node(link.from);
    const auto& b = topology.node(link.to);
    if (a.kind == NodeKind::kSwitch && b.kind == NodeKind::kSwitch && a.tier == from && b.tier == to) {
      ++bundle.links;
      bundle.bits_per_second += link.capacity.bits_per_second();
    }
  }
  return bundle;
}

/// Ports of a node towards each tier, by the name of the tier.
std::map<std::string, std::size_t> ports(const Topology& topology, std::string_view name) {
  std::map<std::string, std::size_t> counts;
  for (const LinkId id : topology.out_links(*topology.find(name))) {
    ++counts[topology.tiers()[topology.link(id).tier]];
  }
  return counts;
}

using Ports = std::map<std::string, std::size_t>;

}  // namespace

TEST_CASE("a DGX A100 has its NVLink, PCIe and NIC links") {
  const Cluster cluster = cluster_of("dgx-a100-80g", 1, R"({"kind": "single_host"})");
  const Topology& topology = cluster.topology;
  CHECK(topology.gpu_count() == 8);
  // 8 GPUs + 6 NVSwitches + 4 PCIe switches + 8 NICs.
  CHECK(topology.nodes().size() == 26);
  // Both directions of 8 x 6 NVLink + 8 GPU and 8 NIC PCIe cables.
  CHECK(topology.links().size() == 2 * (48 + 16));
  CHECK(ports(topology, "h0.gpu3") == Ports{{"NVLink", 6}, {"PCIe", 1}});
  CHECK(ports(topology, "h0.pcie1") == Ports{{"PCIe", 4}});
  // 300 GB/s over 6 switches.
  const Link& nvlink = topology.link(topology.out_links(*topology.find("h0.gpu0")).front());
  CHECK(nvlink.capacity == 50_GBps);
  CHECK(topology.nics_of(GpuId(5)).front() == *topology.find("h0.nic5"));
}

TEST_CASE("GPUs share NICs, or have several, evenly") {
  const auto nics = [](int count) {
    return cluster_of(R"({"name": "c", "hosts": 1, "fabric": {"kind": "single_host"},
                          "host": {"base": "dgx-h100", "nics": )" +
                      std::to_string(count) + "}}");
  };
  const Cluster shared = nics(4);
  CHECK(shared.topology.nics_of(GpuId(5)).size() == 1);
  CHECK(shared.topology.nics_of(GpuId(5)).front() == *shared.topology.find("h0.nic2"));  // 5 * 4 / 8
  const Cluster several = nics(16);
  REQUIRE(several.topology.nics_of(GpuId(5)).size() == 2);
  CHECK(several.topology.nics_of(GpuId(5)).back() == *several.topology.find("h0.nic11"));
}

TEST_CASE("hosts without NVLink switches are a mesh, hosts without NVLink share a PCIe root") {
  const auto host = [](const std::string& changes) {
    return cluster_of(R"({"name": "c", "hosts": 1, "fabric": {"kind": "single_host"},
                          "host": {"base": "dgx-h100", )" +
                      changes + "}}");
  };
  const Cluster mesh = host(R"("gpus": 4, "nics": 4, "nvswitches": 0)");
  // Three peers, 450 / 3 GB/s each.
  CHECK(ports(mesh.topology, "h0.gpu0") == Ports{{"NVLink", 3}, {"PCIe", 1}});
  CHECK(mesh.topology.link(mesh.topology.out_links(NodeId(0)).front()).capacity == 150_GBps);
  const Cluster pcie = host(R"("nvswitches": 0, "nvlink_bandwidth": "0 B/s", "nvlink_effective": "0 B/s")");
  // Four PCIe switches under the root, which is the fifth.
  CHECK(ports(pcie.topology, "h0.pcie4") == Ports{{"PCIe", 4}});
}

TEST_CASE("a two-tier fat tree at 1:1 has as much capacity up as down") {
  const Cluster cluster =
      cluster_of("dgx-h100", 5, R"({"kind": "fat_tree", "hosts_per_leaf": 2, "spines": 4})");
  const Topology& topology = cluster.topology;
  // A leaf has 2 x 8 NICs of 400 Gb/s, so 16 up-links: 4 to each of 4 spines. Five hosts need 3 leaves.
  CHECK(ports(topology, "leaf0") == Ports{{"NIC", 16}, {"leaf-spine", 16}});
  CHECK(ports(topology, "leaf2") == Ports{{"NIC", 8}, {"leaf-spine", 16}});
  CHECK(ports(topology, "spine3") == Ports{{"leaf-spine", 12}});
  CHECK_FALSE(topology.find("leaf3").has_value());
  const Bundle up = between_tiers(topology, 0, 1);
  CHECK(up.links == 48);
  CHECK(up.bits_per_second == 48 * 400'000'000'000);
  CHECK(between_tiers(topology, 1, 0).links == 48);
  CHECK(topology.notes().empty());
  // The payload share of a link is the NIC's: 0.98 of 400 Gb/s.
  const LinkId nic = topology.out_links(*topology.find("leaf0")).back();
  CHECK(topology.link(nic).effective == 392_Gbps);
  // Destination number of a NIC: its number in the fabric; its GPU has the same.
  CHECK(topology.node(*topology.find("h3.nic2")).route_key == 26);
  CHECK(topology.node(*topology.find("h3.gpu2")).route_key == 26);
}

TEST_CASE("oversubscription is an exact ratio of capacities") {
  const Cluster cluster = cluster_of(
      "dgx-h100", 4, R"({"kind": "fat_tree", "hosts_per_leaf": 2, "spines": 2, "leaf_oversubscription": 3})");
  // 6,400 Gb/s down; 2,133.3 up need 6 ports of 400, 3 to each spine, of 355.555... Gb/s.
  const Bundle up = between_tiers(cluster.topology, 0, 1);
  CHECK(up.links == 2 * 6);
  // Each port is rounded to 1 b/s, so the 12 of both leaves are within 6 b/s of 12,800 / 3 Gb/s.
  CHECK(std::abs(up.bits_per_second * 3 - 2 * 6'400'000'000'000) <= 3 * 6);
  REQUIRE(cluster.topology.notes().size() == 1);
  CHECK(cluster.topology.notes().front() ==
        "leaf: 6 up-links of 355.556 Gb/s instead of 400 Gb/s, so that the oversubscription is exact");
}

TEST_CASE("a three-tier fat tree has pods, and cores above them") {
  const Cluster cluster =
      cluster_of("dgx-h100", 8,
                 R"({"kind": "fat_tree", "tiers": 3, "hosts_per_leaf": 1, "leaves_per_pod": 3,
                                         "spines": 4, "cores": 3, "spine_oversubscription": 2})");
  const Topology& topology = cluster.topology;
  // 8 leaves in pods of 3, 3 and 2; 8 up-links of a leaf: 2 to each of 4 spines of its pod.
  CHECK(ports(topology, "leaf7") == Ports{{"NIC", 8}, {"leaf-spine", 8}});
  // A spine has 3 x 2 links down (2 x 2 in the last pod) and 3 up at 2:1, one to each core.
  CHECK(ports(topology, "pod0.spine3") == Ports{{"leaf-spine", 6}, {"spine-core", 3}});
  CHECK(ports(topology, "pod2.spine0") == Ports{{"leaf-spine", 4}, {"spine-core", 3}});
  CHECK(ports(topology, "core2") == Ports{{"spine-core", 12}});
  // Bisection between pods: 12 spines x 3 links x 400 Gb/s, half of the spines' 6 x 400 each.
  CHECK(between_tiers(topology, 1, 2).bits_per_second == 36 * 400'000'000'000);
  CHECK(topology.notes().empty());
}

TEST_CASE("more cores than up-links of a spine form planes") {
  const Cluster cluster =
      cluster_of("dgx-h100", 4,
                 R"({"kind": "fat_tree", "tiers": 3, "hosts_per_leaf": 1, "leaves_per_pod": 2,
                                         "spines": 8, "cores": 16})");
  // A leaf has one link to each of 8 spines, so a spine has 2 up-links: 16 / 2 = 8 planes of 2 cores.
  CHECK(ports(cluster.topology, "pod0.spine5") == Ports{{"leaf-spine", 2}, {"spine-core", 2}});
  CHECK(ports(cluster.topology, "core11") == Ports{{"spine-core", 2}});  // spine 5 of both pods
  const auto up = cluster.topology.out_links(*cluster.topology.find("core11"));
  CHECK(cluster.topology.node(cluster.topology.link(up.front()).to).name == "pod0.spine5");
}

TEST_CASE("a rail-optimised fabric has one leaf per rail and unit") {
  const Cluster cluster =
      cluster_of("dgx-h100", 5, R"({"kind": "rail_optimized", "hosts_per_unit": 4, "spines": 2})");
  const Topology& topology = cluster.topology;
  // Two units x 8 rails; a leaf has 4 NICs down and 4 links up, 2 to each spine.
  CHECK(ports(topology, "leaf3") == Ports{{"NIC", 4}, {"leaf-spine", 4}});
  CHECK(ports(topology, "leaf11") == Ports{{"NIC", 1}, {"leaf-spine", 4}});
  CHECK(ports(topology, "spine0") == Ports{{"leaf-spine", 32}});
  const auto down = topology.out_links(*topology.find("h4.nic3"));  // host 4 is in unit 1: leaf 8 + 3
  CHECK(topology.node(topology.link(down.back()).to).name == "leaf11");
  CHECK(topology.node(*topology.find("h4.nic3")).route_key == 4);  // the host
}

TEST_CASE("rails may be fewer than the NICs of a host") {
  const Cluster cluster =
      cluster_of("gb200-nvl72", 2, R"({"kind": "rail_optimized", "hosts_per_unit": 1, "rails": 4})");
  // 72 NICs on 4 rails: 18 down and 18 up, one to each of 18 spines.
  CHECK(ports(cluster.topology, "leaf6") == Ports{{"NIC", 18}, {"leaf-spine", 18}});
  CHECK(ports(cluster.topology, "spine17") == Ports{{"leaf-spine", 8}});
  // NIC 9 of host 1 is on rail 1, third of it: destination 18 + 2.
  CHECK(cluster.topology.node(*cluster.topology.find("h1.nic9")).route_key == 20);
}

TEST_CASE("explicit links may describe a whole fabric or join given hosts") {
  const Cluster graph = cluster_of(R"({"name": "c", "host": "dgx-h100", "fabric": {"kind": "links",
    "nodes": [{"name": "g0", "kind": "gpu", "host": 0, "nics": ["n0"]}, {"name": "n0", "kind": "nic", "host": 0},
              {"name": "g1", "kind": "gpu", "host": 1}, {"name": "s", "kind": "switch"}],
    "links": [{"from": "g0", "to": "n0", "bandwidth": "50 GB/s", "latency": "1 us", "tier": "PCIe"},
              {"from": "n0", "to": "s", "bandwidth": "100 Gb/s", "latency": "1 us", "count": 4},
              {"from": "s", "to": "g1", "bandwidth": "400 Gb/s", "effective": "300 Gb/s", "latency": "1 us"}]}})");
  CHECK(graph.hosts == 2);
  CHECK(graph.topology.links().size() == 2 * 6);
  CHECK(graph.topology.nics_of(GpuId(0)).front() == *graph.topology.find("n0"));
  CHECK(graph.topology.link(LinkId(10)).effective == 300_Gbps);

  const Cluster joined =
      cluster_of("dgx-h100", 2, R"({"kind": "links", "nodes": [{"name": "s", "kind": "switch"}],
    "links": [{"from": "h0.nic0", "to": "s", "bandwidth": "400 Gb/s", "latency": "1 us"},
              {"from": "h1.nic0", "to": "s", "bandwidth": "400 Gb/s", "latency": "1 us"}]})");
  CHECK(joined.topology.gpu_count() == 16);
}

TEST_CASE("every builder is listed once, with a summary") {
  std::vector<std::string_view> names;
  for (const topology::Builder& builder : topology::builders()) {
    CHECK_FALSE(builder.summary.empty());
    names.push_back(builder.name);
  }
  CHECK(names == std::vector<std::string_view>{"single_host", "fat_tree", "rail_optimized", "links"});
}

TEST_CASE("GPUs that share a NIC of another PCIe switch reach it over the PCIe root") {
  const auto host = [](int nics) {
    return cluster_of(R"({"name": "c", "hosts": 2, "fabric": {"kind": "fat_tree", "hosts_per_leaf": 2},
                          "host": {"base": "dgx-h100", "gpus_per_pcie_switch": 2, "nics": )" +
                      std::to_string(nics) + "}}");
  };
  // One NIC, on the first of four PCIe switches: the fifth is the root.
  CHECK(ports(host(1).topology, "h0.pcie4") == Ports{{"PCIe", 4}});
  // A NIC on every switch needs none.
  CHECK_FALSE(host(4).topology.find("h0.pcie4").has_value());
  const Cluster shared = host(1);
  CHECK(routing::Router(shared, "balanced").between(GpuId(7), GpuId(8 + 7)).hops.size() == 10);
}
