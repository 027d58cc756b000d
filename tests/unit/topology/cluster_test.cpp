#include "topology/cluster.hpp"

#include "support/catch.hpp"
#include "unit/topology/read_text.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using test::cluster_of;
using test::error_of;
using topology::Cluster;
using topology::Fault;

namespace {

constexpr const char* kTwoLeaves = R"({"kind": "fat_tree", "hosts_per_leaf": 1, "spines": 2})";

std::string with(const std::string& rest) {
  return R"({"name": "c", "host": "dgx-h100", "hosts": 2, "fabric": )" + std::string(kTwoLeaves) + ",\n" +
         rest + "}";
}

}  // namespace

TEST_CASE("storage is attached to the highest switches, its links spread over them") {
  const Cluster cluster = cluster_of(with(
      R"("storage": {"name": "fs", "read": "100 GB/s", "write": "50 GB/s", "attach": {"links": 4, "bandwidth": "200 Gb/s"}})"));
  REQUIRE(cluster.storage.size() == 1);
  CHECK(cluster.storage[0].write == 50_GBps);
  const NodeId node = cluster.storage[0].node;
  CHECK(cluster.topology.node(node).name == "fs");
  const auto links = cluster.topology.out_links(node);
  REQUIRE(links.size() == 4);
  CHECK(cluster.topology.node(cluster.topology.link(links[0]).to).name == "spine0");
  CHECK(cluster.topology.node(cluster.topology.link(links[3]).to).name == "spine1");
  CHECK(cluster.topology.storage_nodes().front() == node);
}

TEST_CASE("faults name a GPU by number or name, and links by both ends") {
  const Cluster cluster = cluster_of(with(R"("faults": [
    {"gpu": 9, "factor": 0.5},
    {"gpu": "h1.gpu2", "factor": 0.9, "at": "1 s", "until": "2 s"},
    {"link": "leaf0-spine1", "factor": 0.25},
    {"link": "leaf0-spine1", "index": 3, "factor": 0}])"));
  REQUIRE(cluster.faults.size() == 4);
  CHECK(cluster.faults[0].gpu == GpuId(9));
  CHECK(cluster.faults[0].until == TimePoint::never());
  CHECK(cluster.faults[1].gpu == GpuId(10));
  CHECK(cluster.faults[1].at == TimePoint::from_start(1_s));
  // 8 up-links over 2 spines: 4 parallel links, both directions.
  CHECK(cluster.faults[2].links.size() == 8);
  CHECK(cluster.faults[3].links.size() == 2);
  CHECK(cluster.topology.link(cluster.faults[3].links[0]).to ==
        cluster.topology.link(cluster.faults[3].links[1]).from);
}

TEST_CASE("a name with a dash still names a link's end") {
  const Cluster cluster =
      cluster_of("dgx-h100", 2, R"({"kind": "links", "nodes": [{"name": "tor-1", "kind": "switch"}],
    "links": [{"from": "h0.nic0", "to": "tor-1", "bandwidth": "400 Gb/s", "latency": "1 us"},
              {"from": "h1.nic0", "to": "tor-1", "bandwidth": "400 Gb/s", "latency": "1 us"}]})");
  CHECK(cluster.topology.find("tor-1").has_value());
  CHECK(
      cluster_of(
          R"({"name": "c", "host": "dgx-h100", "hosts": 2, "faults": [{"link": "h1.nic0-tor-1", "factor": 0.5}],
    "fabric": {"kind": "links", "nodes": [{"name": "tor-1", "kind": "switch"}],
    "links": [{"from": "h0.nic0", "to": "tor-1", "bandwidth": "400 Gb/s", "latency": "1 us"},
              {"from": "h1.nic0", "to": "tor-1", "bandwidth": "400 Gb/s", "latency": "1 us"}]}})")
          .faults.front()
          .links.size() == 2);
}

TEST_CASE("mistakes in a cluster are answered with place and remedy") {
  CHECK(error_of(R"({"name": "c", "host": "dgx-h1000", "hosts": 1, "fabric": {"kind": "fat_trees"}})") ==
        "c.json:1:23: /host: unknown host kind \"dgx-h1000\"; did you mean \"dgx-h100\"?\n"
        "c.json:1:67: /fabric/kind: unknown value \"fat_trees\"; did you mean \"fat_tree\"?");
  CHECK(error_of(R"({"name": "c", "host": "dgx-h100", "hosts": 4, "fabric": {"kind": "single_host"}})") ==
        "c.json:1:57: /fabric: single_host does not join 4 hosts; use fat_tree, rail_optimized or links, or "
        "\"hosts\": "
        "1");
  CHECK(error_of(R"({"name": "c", "host": "dgx-h100", "hosts": 4,
"fabric": {"kind": "fat_tree", "hosts_per_leaf": 1, "leaves": 3}})") ==
        "c.json:2:11: /fabric: 3 leaves of 1 hosts hold fewer than 4 hosts; give at least 4 leaves");
  CHECK(error_of(with(R"("faults": [{"link": "leaf0-spine7", "factor": 0.5}])")) ==
        "c.json:2:21: /faults/0/link: no node is named \"spine7\"; did you mean \"spine0\"?");
  CHECK(
      error_of(with(R"("faults": [{"link": "leaf0-leaf1", "factor": 0.5}])")) ==
      "c.json:2:21: /faults/0/link: no link joins \"leaf0\" and \"leaf1\"; name two nodes that a link joins");
  CHECK(error_of(with(R"("faults": [{"link": "leaf0-spine1", "index": 4, "factor": 0.5}])")) ==
        "c.json:2:46: /faults/0/index: there are 4 parallel links; give an index from 0 to 3");
  CHECK(error_of(with(R"("faults": [{"factor": 0.5}])")) ==
        "c.json:2:12: /faults/0: a fault hits either a GPU or a link; give exactly one of \"gpu\" and "
        "\"link\"");
  CHECK(error_of(with(R"("faults": [{"gpu": 1, "factor": 0.5, "at": "2 s", "until": "1 s"}])")) ==
        "c.json:2:60: /faults/0/until: the fault ends before it begins; give a time after \"at\"");
}

TEST_CASE("a fabric beyond any memory is refused, not built") {
  CHECK(error_of(R"({"name": "c", "host": "dgx-h100", "hosts": 1000, "fabric": {"kind": "fat_tree",
    "hosts_per_leaf": 1, "spines": 1000000}})") ==
        "c.json:1:60: /fabric: a fabric of 1000000000 cables; the most is 50000000");
  CHECK(error_of(R"({"name": "c", "host": "dgx-h100", "hosts": 1000000, "fabric": {"kind": "fat_tree",
    "hosts_per_leaf": 1}})") == "c.json:1:63: /fabric: a fabric of 56000000 cables; the most is 50000000");
}

TEST_CASE("mistakes in explicit links are answered with place and remedy") {
  const auto links = [](const std::string& list) {
    return error_of(R"({"name": "c", "host": "dgx-h100", "hosts": 2, "fabric": {"kind": "links",
"nodes": [{"name": "s", "kind": "switch"}], "links": [
)" + list + "]}}");
  };
  CHECK(links(R"({"from": "s", "to": "s", "bandwidth": "1 Gb/s", "latency": "1 us"})") ==
        "c.json:3:1: /fabric/links/0: link from \"s\" to itself; join two different nodes");
  CHECK(links(R"({"from": "h0.nic9", "to": "s", "bandwidth": "1 Gb/s", "latency": "1 us"})") ==
        "c.json:3:10: /fabric/links/0/from: no node is named \"h0.nic9\"; did you mean \"h0.nic0\"?");
  CHECK(links(R"({"from": "h0.nic0", "to": "s", "bandwidth": "1 Gb/s", "latency": "1 us"})") ==
        "c.json:1:57: /fabric: GPUs \"h0.gpu0\" and \"h1.gpu0\" are not connected; add links so that every "
        "GPU reaches "
        "every other, in both directions");
}
