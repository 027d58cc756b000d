// D-mod-k: the up-port follows from the destination's number, so traffic to one destination is one tree.
//
// Scope:       InfiniBand fat trees with deterministic destination routing.
// Assumes:     with key = the destination's route_key and k candidates at a hop upwards, candidate
//              floor(key / product of the candidate counts of the hops before) mod k is taken: key mod k
//              at the leaf. A choice on the way down is key mod k. Candidates are ordered by neighbour,
//              parallel links counted each. Storage has no number: its flows use the source's.
// Not covered: tables of a real subnet manager, rerouting during a run.
// Source:      Zahavi, D-Mod-K routing providing non-blocking traffic for shift permutations on real life
//              fat trees, CCIT Report 776, Technion, 2010.
// Validated by: tests/unit/routing/policies_test.cpp
#include <utility>

#include "routing/route_graph.hpp"
#include "routing/router.hpp"

namespace stepcast::routing {
namespace {

class DModK final : public Policy {
 public:
  DModK(const topology::Topology& topology, std::span<const topology::Fault> faults)
      : topology_(topology), graph_(topology, faults, RouteGraph::Links::kEach) {}

  [[nodiscard]] std::vector<Resource> resources() const override { return graph_.resources(); }
  [[nodiscard]] ResourceId resource_of(LinkId link) const override { return graph_.resource_of(link); }
  void prepare(std::span<const NodeId> destinations) const override { graph_.prepare(destinations); }
  [[nodiscard]] std::optional<Path> path(NodeId from,
                                         NodeId to,
                                         Reach reach,
                                         std::uint64_t /*flow*/) const override {
    const topology::Node& end = topology_.node(to);
    const bool storage = end.kind == topology::NodeKind::kStorage;
    const std::uint64_t key = storage ? topology_.node(from).route_key : end.route_key;
    return graph_.walk(from, to, reach, [key](NodeId /*at*/, std::uint32_t candidates, std::uint64_t above) {
      return static_cast<std::uint32_t>(key / above % candidates);
    });
  }

 private:
  const topology::Topology& topology_;
  RouteGraph graph_;
};

std::unique_ptr<Policy> make(const topology::Topology& topology,
                             std::span<const topology::Fault> faults,
                             std::uint64_t /*seed*/) {
  return std::make_unique<DModK>(topology, faults);
}

}  // namespace

PolicyEntry dmodk_policy() {
  return {"dmodk", "up-links by destination number modulo their count", {}, false, &make};
}

}  // namespace stepcast::routing
