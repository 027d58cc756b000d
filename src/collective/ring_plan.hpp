#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/collective.hpp"
#include "collective/demand_sum.hpp"
#include "routing/router.hpp"

namespace stepcast::collective {

/// The rings of one collective on a fabric: who follows whom, and by which path.
///
/// All members on one host, or RingOrder::kGroup: one ring in group order. Hosts (in order of first
/// appearance) with g members each: g rings; ring c visits members c, c+1, ..., c+g-1 (mod g) of each
/// host and leaves by the NIC of member c to member c of the next host, so that its traffic stays on
/// one rail. Hosts with unequal numbers: one ring, host by host.
class RingPlan {
 public:
  /// `most_rings`: at most so many rings (0 = no limit). REQUIRES: at least two members, all different.
  RingPlan(const routing::Router& router,
           std::span<const GpuId> group,
           RingOrder order,
           std::uint32_t most_rings);

  [[nodiscard]] std::uint32_t rings() const { return static_cast<std::uint32_t>(orders_.size()); }
  /// Group index of the member at `position` of a ring.
  [[nodiscard]] std::uint32_t member(std::uint32_t ring, std::uint32_t position) const {
    return orders_[ring][position];
  }
  [[nodiscard]] GpuId gpu(std::uint32_t ring, std::uint32_t position) const {
    return group_[orders_[ring][position]];
  }
  /// Path between two positions of a ring.
  [[nodiscard]] const routing::Path& path(std::uint32_t ring, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool crosses(std::uint32_t ring, std::uint32_t from, std::uint32_t to) const;

  /// One byte on every hop of every ring.
  [[nodiscard]] const DemandVector& demands() const { return demands_; }
  /// Hops of one ring that cross the network (the largest over rings).
  [[nodiscard]] std::uint32_t crossing_hops() const { return crossing_; }
  /// Physical latency of the longest hop inside hosts and over the network.
  [[nodiscard]] Duration local_latency() const { return local_latency_; }
  [[nodiscard]] Duration network_latency() const { return network_latency_; }
  [[nodiscard]] bool several_hosts() const { return several_hosts_; }

 private:
  void make_orders(RingOrder order, std::uint32_t most_rings);
  void walk();

  const routing::Router& router_;
  std::span<const GpuId> group_;
  std::vector<std::vector<std::uint32_t>> orders_;  // by ring and position: group index
  std::vector<std::vector<std::uint32_t>> exits_;   // by ring and position: group index whose NIC is used
  DemandVector demands_;
  std::uint32_t crossing_ = 0;
  Duration local_latency_;
  Duration network_latency_;
  bool several_hosts_ = false;
};

}  // namespace stepcast::collective
