// Equal-cost paths share every flow equally.
//
// Scope:       ideal packet spraying and adaptive routing in steady state; the default.
// Assumes:     each switch splits each flow over its next neighbours on shortest paths by their number of
//              links, and over links to one neighbour by their capacity; so links wired alike carry
//              shares alike and are one resource (a trunk).
// Not covered: weighting neighbours by rate or load, paths longer than the shortest.
// Source:      Dixit et al., On the impact of packet spraying in data center networks, INFOCOM 2013;
//              equitable partitions: Paige & Tarjan, SIAM J. Comput. 16(6), 1987.
// Validated by: tests/unit/routing/balanced_test.cpp (against brute force on the graph itself)
#include <utility>

#include "routing/route_graph.hpp"
#include "routing/router.hpp"

namespace stepcast::routing {
namespace {

class Balanced final : public Policy {
 public:
  Balanced(const topology::Topology& topology, std::span<const topology::Fault> faults)
      : graph_(topology, faults, RouteGraph::Links::kTrunks) {}

  [[nodiscard]] std::vector<Resource> resources() const override { return graph_.resources(); }
  [[nodiscard]] ResourceId resource_of(LinkId link) const override { return graph_.resource_of(link); }
  void prepare(std::span<const NodeId> destinations) const override { graph_.prepare(destinations); }
  [[nodiscard]] std::optional<Path> path(NodeId from,
                                         NodeId to,
                                         Reach reach,
                                         std::uint64_t /*flow*/) const override {
    return graph_.spread(from, to, reach);
  }

 private:
  RouteGraph graph_;
};

std::unique_ptr<Policy> make(const topology::Topology& topology,
                             std::span<const topology::Fault> faults,
                             std::uint64_t /*seed*/) {
  return std::make_unique<Balanced>(topology, faults);
}

}  // namespace

PolicyEntry balanced_policy() {
  return {"balanced", "equal-cost paths share each flow equally", {}, false, &make};
}

}  // namespace stepcast::routing
