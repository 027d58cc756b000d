// Hashed equal-cost multi-path: one path per flow, picked hop by hop by a hash.
//
// Scope:       RoCE and Ethernet fabrics with per-flow hashing.
// Assumes:     the hash input is (seed, flow number, source NIC, destination NIC, switch), uniform.
// Not covered: weighted ECMP, flowlets, rehashing during a flow.
// Source:      RFC 2992, Analysis of an Equal-Cost Multi-Path Algorithm.
// Validated by: tests/unit/routing/policies_test.cpp
#include <utility>

#include "base/fingerprint.hpp"
#include "base/random.hpp"
#include "routing/route_graph.hpp"
#include "routing/router.hpp"

namespace stepcast::routing {
namespace {

class Ecmp final : public Policy {
 public:
  Ecmp(const topology::Topology& topology, std::span<const topology::Fault> faults, std::uint64_t seed)
      : graph_(topology, faults, RouteGraph::Links::kEach), key_(RandomStream(seed, "ecmp").next()) {}

  [[nodiscard]] std::vector<Resource> resources() const override { return graph_.resources(); }
  [[nodiscard]] ResourceId resource_of(LinkId link) const override { return graph_.resource_of(link); }
  void prepare(std::span<const NodeId> destinations) const override { graph_.prepare(destinations); }
  [[nodiscard]] std::optional<Path> path(NodeId from,
                                         NodeId to,
                                         Reach reach,
                                         std::uint64_t flow) const override {
    const std::uint64_t pair = mix(mix(mix(key_, flow), from.index()), to.index());
    return graph_.walk(from, to, reach, [pair](NodeId at, std::uint32_t candidates, std::uint64_t /*above*/) {
      return static_cast<std::uint32_t>(mix(pair, at.index()) % candidates);
    });
  }

 private:
  RouteGraph graph_;
  std::uint64_t key_;
};

std::unique_ptr<Policy> make(const topology::Topology& topology,
                             std::span<const topology::Fault> faults,
                             std::uint64_t seed) {
  return std::make_unique<Ecmp>(topology, faults, seed);
}

}  // namespace

PolicyEntry ecmp_policy() {
  return {"ecmp", "a hash picks one of the equal-cost links at every switch", {}, true, &make};
}

}  // namespace stepcast::routing
