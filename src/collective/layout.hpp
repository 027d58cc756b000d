#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "collective/collective.hpp"
#include "collective/demand_sum.hpp"
#include "routing/router.hpp"

namespace stepcast::collective {

/// The members of a group by host, hosts in order of first appearance; GPUs of one host that reach each
/// other over the network only are hosts of their own. REQUIRES: all GPUs different.
[[nodiscard]] Places places_of(const routing::Router& router, std::span<const GpuId> group);

/// The same members with the levels that the switches between their hosts make: hosts whose first NICs meet
/// in one switch are a unit, units that meet one switch further a level, as far as all have equal sizes.
[[nodiscard]] Places places_in_fabric(const routing::Router& router,
                                      std::span<const GpuId> group,
                                      const Places& places);

/// A pattern on a fabric: the path of every edge, and what each phase takes from the resources.
class Layout {
 public:
  /// REQUIRES: at least two members. The router and the group outlive the layout.
  Layout(const routing::Router& router,
         std::span<const GpuId> group,
         std::shared_ptr<const Places> places,
         const Algorithm& algorithm,
         std::uint32_t channels,
         std::uint32_t root);

  /// For a schedule that brings no pattern: no phases, and every message leaves by its sender's own NIC.
  Layout(const routing::Router& router,
         std::span<const GpuId> group,
         std::shared_ptr<const Places> places,
         std::uint32_t channels);

  [[nodiscard]] const Footprint& footprint() const { return footprint_; }
  void set_costs(std::shared_ptr<const nccl::GroupCosts> costs) { footprint_.costs = std::move(costs); }

  /// One message of a schedule, between two members or between a member and a switch that reduces.
  struct Hop {
    DemandVector demands;
    double rate = 0;  ///< bytes/s alone on the fabric
    bool network = false;
    Duration latency;  ///< physical
  };
  /// By the NIC that the pattern has for this pair. kWhole: from member to member; kUp: from member `from`
  /// to its switch, kDown: from its switch to member `to` (the other end is not used).
  [[nodiscard]] Hop hop(std::uint32_t channel, std::uint32_t from, std::uint32_t to, Via via) const;

 private:
  using End = std::tuple<std::uint32_t, std::uint32_t, Via>;  // channel, member, side

  void index_edges() const;
  [[nodiscard]] routing::Path path(const Edge& edge, bool network) const;
  /// The hops of the path that an edge takes.
  [[nodiscard]] routing::Path part(const Edge& edge) const;
  /// ... of its whole path. REQUIRES: not kWhole.
  [[nodiscard]] routing::Path part(const Edge& edge, const routing::Path& whole, bool network) const;
  /// A network hop of this physical latency costs what the protocols' constants say.
  [[nodiscard]] Duration shortest_network_hop() const;
  [[nodiscard]] bool crosses(const Edge& edge) const;
  /// `crossing`: edges of each channel that cross the network.
  [[nodiscard]] Footprint::Phase walk(const std::vector<Edge>& edges,
                                      std::vector<std::uint32_t>& crossing) const;
  /// Notes hop by hop what a ring takes where its hops differ (Footprint::Phase::ring).
  void note_ring(const std::vector<Edge>& edges,
                 std::vector<std::vector<RingHop>>& hops,
                 Footprint::Phase& phase) const;
  /// Adds up whole paths, each pair of ends once.
  void add_paths(const std::vector<Edge>& edges, Footprint::Phase& phase, DemandSum& sum) const;

  const routing::Router& router_;
  std::span<const GpuId> group_;
  Pattern pattern_;
  Footprint footprint_;
  // Only what is played step by step asks for single hops.
  mutable bool indexed_ = false;
  mutable std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      exits_;                         // if not `from`
  mutable std::map<End, Edge> ends_;  // edges to and from switches
};

}  // namespace stepcast::collective
