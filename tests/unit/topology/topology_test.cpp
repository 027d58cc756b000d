#include "topology/topology.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using topology::Link;
using topology::NodeKind;
using topology::Topology;

namespace {

Link link_of(Topology::Draft& draft, Bandwidth rate = 100_Gbps) {
  return {.capacity = rate, .effective = rate, .latency = 1_us, .tier = draft.tier("link")};
}

/// gpu0 - s - gpu1
Topology::Draft line() {
  Topology::Draft draft;
  const NodeId a = draft.add_node({.kind = NodeKind::kGpu, .host = 0, .name = "a"});
  const NodeId s = draft.add_node({.name = "s"});
  const NodeId b = draft.add_node({.kind = NodeKind::kGpu, .host = 1, .name = "b"});
  draft.add_cable(a, s, link_of(draft));
  draft.add_cable(s, b, link_of(draft));
  return draft;
}

std::string error_of(Topology::Draft draft) {
  try {
    static_cast<void>(Topology::build(std::move(draft)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a topology answers by node, by name and by GPU") {
  const Topology topology = Topology::build(line());
  CHECK(topology.gpu_count() == 2);
  CHECK(topology.gpu_node(GpuId(1)) == NodeId(2));
  CHECK(topology.host_of(GpuId(1)) == 1);
  CHECK(topology.find("s") == NodeId(1));
  CHECK_FALSE(topology.find("x").has_value());
  CHECK(topology.nics_of(GpuId(0)).empty());
  // Cables are links 0 (a-s), 1 (s-a), 2 (s-b), 3 (b-s).
  const auto out = topology.out_links(NodeId(1));
  CHECK(std::vector<LinkId>(out.begin(), out.end()) == std::vector<LinkId>{LinkId(1), LinkId(2)});
  const auto in = topology.in_links(NodeId(1));
  CHECK(std::vector<LinkId>(in.begin(), in.end()) == std::vector<LinkId>{LinkId(0), LinkId(3)});
}

TEST_CASE("parallel links are separate links, in link order") {
  Topology::Draft draft = line();
  draft.add_cable(NodeId(0), NodeId(1), link_of(draft, 200_Gbps));
  const Topology topology = Topology::build(std::move(draft));
  const auto out = topology.out_links(NodeId(0));
  REQUIRE(out.size() == 2);
  CHECK(topology.link(out[0]).capacity == 100_Gbps);
  CHECK(topology.link(out[1]).capacity == 200_Gbps);
}

TEST_CASE("a bad draft is refused with what is wrong") {
  Topology::Draft draft = line();
  draft.add_cable(NodeId(1), NodeId(1), link_of(draft));
  CHECK(error_of(std::move(draft)) == "link from \"s\" to itself; join two different nodes");

  draft = line();
  draft.links.resize(2);  // only a - s is left
  CHECK(error_of(std::move(draft)) ==
        "GPUs \"a\" and \"b\" are not connected; add links so that every GPU reaches every other, in both "
        "directions");

  draft = line();
  draft.links.pop_back();  // b cannot send
  CHECK(error_of(std::move(draft)).find("GPUs \"a\" and \"b\" are not connected") == 0);

  draft = line();
  draft.nodes[2].name = "a";
  CHECK(error_of(std::move(draft)) == "two nodes are named \"a\"; give every node a name of its own");

  draft = line();
  draft.links[0].capacity = Bandwidth();
  CHECK(error_of(std::move(draft)) ==
        "link from \"a\" to \"s\" has no bandwidth; give a bandwidth above zero; take a link down with a "
        "fault of "
        "factor 0");
}
