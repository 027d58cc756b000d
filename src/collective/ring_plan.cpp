#include "collective/ring_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.hpp"

namespace stepcast::collective {
namespace {

/// Group indices by host, hosts in order of first appearance.
std::vector<std::vector<std::uint32_t>> members_by_host(const topology::Topology& topology,
                                                        std::span<const GpuId> group) {
  std::vector<std::vector<std::uint32_t>> hosts;
  std::map<std::uint32_t, std::size_t> place;
  for (std::uint32_t index = 0; index < group.size(); ++index) {
    const auto [at, added] = place.try_emplace(topology.host_of(group[index]), hosts.size());
    if (added) {
      hosts.emplace_back();
    }
    hosts[at->second].push_back(index);
  }
  return hosts;
}

void check_distinct(std::span<const GpuId> group) {
  std::vector<GpuId> sorted(group.begin(), group.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  STEPCAST_CHECK(twice == sorted.end(), "GPU {} is twice in a group", twice->index());
}

}  // namespace

RingPlan::RingPlan(const routing::Router& router,
                   std::span<const GpuId> group,
                   RingOrder order,
                   std::uint32_t most_rings)
    : router_(router), group_(group) {
  STEPCAST_CHECK(group.size() >= 2, "a ring of {} members", group.size());
  check_distinct(group);
  make_orders(order, most_rings);
  walk();
}

void RingPlan::make_orders(RingOrder order, std::uint32_t most_rings) {
  const auto hosts = members_by_host(router_.topology(), group_);
  several_hosts_ = hosts.size() > 1;
  if (order == RingOrder::kGroup || !several_hosts_) {
    orders_.emplace_back(group_.size());
    std::iota(orders_[0].begin(), orders_[0].end(), 0U);
    exits_ = orders_;
    return;
  }
  const std::size_t per_host = hosts[0].size();
  const bool equal = std::all_of(hosts.begin(), hosts.end(),
                                 [&](const auto& members) { return members.size() == per_host; });
  std::size_t rings = equal ? per_host : 1;
  rings = most_rings == 0 ? rings : std::min<std::size_t>(rings, most_rings);
  for (std::size_t ring = 0; ring < rings; ++ring) {
    auto& members = orders_.emplace_back();
    auto& exits = exits_.emplace_back();
    for (const std::vector<std::uint32_t>& host : hosts) {
      for (std::size_t i = 0; i < host.size(); ++i) {
        members.push_back(host[(ring + i) % host.size()]);
        exits.push_back(equal ? host[ring] : members.back());
      }
    }
  }
}

const routing::Path& RingPlan::path(std::uint32_t ring, std::uint32_t from, std::uint32_t to) const {
  const GpuId source = gpu(ring, from);
  const GpuId destination = gpu(ring, to);
  const GpuId exit = group_[exits_[ring][from]];
  return exit != source && crosses(ring, from, to) &&
                 router_.topology().host_of(source) != router_.topology().host_of(destination)
             ? router_.between_by(source, exit, destination, ring)
             : router_.between(source, destination, ring);
}

bool RingPlan::crosses(std::uint32_t ring, std::uint32_t from, std::uint32_t to) const {
  return router_.crosses_network(gpu(ring, from), gpu(ring, to));
}

/// Follows every ring once: demands, crossing hops and physical latencies.
void RingPlan::walk() {
  DemandSum sum;
  const auto members = static_cast<std::uint32_t>(group_.size());
  for (std::uint32_t ring = 0; ring < rings(); ++ring) {
    std::uint32_t crossing = 0;
    for (std::uint32_t from = 0; from < members; ++from) {
      const std::uint32_t to = (from + 1) % members;
      const routing::Path& hop = path(ring, from, to);
      sum.add(hop);
      const bool network = crosses(ring, from, to);
      crossing += network ? 1 : 0;
      Duration& longest = network ? network_latency_ : local_latency_;
      longest = std::max(longest, hop.latency);
    }
    crossing_ = std::max(crossing_, crossing);
  }
  demands_ = sum.total();
}

}  // namespace stepcast::collective
