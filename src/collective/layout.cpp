#include "collective/layout.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace stepcast::collective {
namespace {

void check_distinct(std::span<const GpuId> group) {
  std::vector<GpuId> sorted(group.begin(), group.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  STEPCAST_CHECK(twice == sorted.end(), "GPU {} is twice in a group", twice->index());
}

bool is_fabric(const topology::Node& node) {
  return node.kind == topology::NodeKind::kSwitch;
}

}  // namespace

Places places_of(const routing::Router& router, std::span<const GpuId> group) {
  check_distinct(group);
  const topology::Topology& topology = router.topology();
  std::vector<std::vector<std::uint32_t>> hosts;
  std::map<std::uint32_t, std::size_t> place;
  for (std::uint32_t index = 0; index < group.size(); ++index) {
    const std::uint32_t host = topology.host_of(group[index]);
    const auto known = place.find(host);
    if (known != place.end() && !router.crosses_network(group[hosts[known->second][0]], group[index])) {
      hosts[known->second].push_back(index);
      continue;
    }
    place[host] = hosts.size();
    hosts.push_back({index});
  }
  return Places(std::move(hosts));
}

Layout::Layout(const routing::Router& router,
               std::span<const GpuId> group,
               std::shared_ptr<const Places> places,
               const Algorithm& algorithm,
               std::uint32_t channels,
               std::uint32_t root)
    : router_(router), group_(group), pattern_(algorithm.pattern(*places, channels, root)) {
  STEPCAST_CHECK(group.size() >= 2 && group.size() == places->members(), "{} GPUs, {} members", group.size(),
                 places->members());
  footprint_.several_hosts = places->host_count() > 1;
  footprint_.places = std::move(places);
  footprint_.pattern = algorithm.pattern;
  footprint_.channels = channels;
  for (const std::vector<Edge>& edges : pattern_.phases) {
    std::vector<std::uint32_t> crossing(channels, 0);
    footprint_.phases.push_back(walk(edges, crossing));
    if (footprint_.phases.size() == 1) {
      footprint_.crossing_hops = *std::max_element(crossing.begin(), crossing.end());
    }
  }
}

Layout::Layout(const routing::Router& router,
               std::span<const GpuId> group,
               std::shared_ptr<const Places> places,
               std::uint32_t channels)
    : router_(router), group_(group) {
  STEPCAST_CHECK(group.size() >= 2 && group.size() == places->members(), "{} GPUs, {} members", group.size(),
                 places->members());
  footprint_.several_hosts = places->host_count() > 1;
  footprint_.places = std::move(places);
  footprint_.channels = channels;
}

void Layout::index_edges() const {
  if (indexed_) {
    return;
  }
  indexed_ = true;
  for (const std::vector<Edge>& edges : pattern_.phases) {
    for (const Edge& edge : edges) {
      if (edge.via == Via::kUp || edge.via == Via::kDown) {
        ends_.try_emplace({edge.channel, edge.via == Via::kUp ? edge.from : edge.to, edge.via}, edge);
      } else if (edge.exit != edge.from) {
        exits_.try_emplace({edge.channel, edge.from, edge.to}, edge.exit);
      }
    }
  }
}

const routing::Path& Layout::path(const Edge& edge, bool network) const {
  const GpuId source = group_[edge.from];
  const GpuId destination = group_[edge.to];
  const GpuId exit = group_[edge.exit];
  return exit != source && network &&
                 router_.topology().host_of(source) != router_.topology().host_of(destination)
             ? router_.between_by(source, exit, destination, edge.channel)
             : router_.between(source, destination, edge.channel);
}

bool Layout::crosses(const Edge& edge) const {
  return router_.crosses_network(group_[edge.from], group_[edge.to]);
}

routing::Path Layout::part(const Edge& edge) const {
  const bool network = crosses(edge);
  const routing::Path& whole = path(edge, network);
  if (edge.via == Via::kWhole) {
    return whole;
  }
  const topology::Topology& topology = router_.topology();
  const NodeId source = topology.gpu_node(group_[edge.from]);
  const NodeId destination = topology.gpu_node(group_[edge.to]);
  routing::Path part;
  part.latency = Duration::from_ps(whole.latency.ps() / 2);
  for (const routing::Hop& hop : whole.hops) {
    const std::vector<LinkId>& links = router_.resources()[hop.resource.index()].links;
    STEPCAST_CHECK(!links.empty(), "a path over a resource without links");
    const topology::Link& link = topology.link(links.front());
    const topology::Node& from = topology.node(link.from);
    const topology::Node& to = topology.node(link.to);
    const bool between_switches = is_fabric(from) && is_fabric(to);
    // Up is all before the first switch that reduces: an NVLink switch, or over the network a leaf.
    const bool up =
        network ? !is_fabric(from) && from.host == topology.node(source).host : link.from == source;
    const bool down =
        network ? !is_fabric(to) && to.host == topology.node(destination).host : link.to == destination;
    if (edge.via == Via::kTree ? between_switches : edge.via == Via::kUp ? up : down) {
      part.hops.push_back(hop);
    }
  }
  return part;
}

Footprint::Phase Layout::walk(const std::vector<Edge>& edges, std::vector<std::uint32_t>& crossing) const {
  Footprint::Phase phase;
  DemandSum sum;
  DemandSum trees;
  for (const Edge& edge : edges) {
    if (edge.via == Via::kTree) {
      trees.add_largest(part(edge), edge.weight, edge.channel);
      continue;
    }
    const bool network = crosses(edge);
    crossing[edge.channel] += network ? 1 : 0;
    Duration& longest = network ? phase.network_latency : phase.local_latency;
    const routing::Path& whole = path(edge, network);
    longest = std::max(longest, whole.latency);
    if (edge.via == Via::kWhole) {
      sum.add(whole, edge.weight);
    } else {
      sum.add(part(edge), edge.weight);
    }
  }
  sum.add(trees);
  const DemandVector total = sum.total();
  phase.rate = idle_rate(total, router_.resources());
  phase.demands = total.demands;
  phase.divisor = total.divisor;
  return phase;
}

Layout::Hop Layout::hop(std::uint32_t channel, std::uint32_t from, std::uint32_t to, Via via) const {
  index_edges();
  Edge edge{.channel = channel, .from = from, .to = to, .exit = from, .weight = 1, .via = via};
  if (via == Via::kWhole) {
    const auto known = exits_.find({channel, from, to});
    edge.exit = known == exits_.end() ? from : known->second;
  } else {
    edge = ends_.at({channel, via == Via::kUp ? from : to, via});
  }
  const routing::Path taken = part(edge);
  DemandSum sum;
  sum.add(taken);
  Hop hop;
  hop.demands = sum.total();
  hop.rate = idle_rate(hop.demands, router_.resources());
  hop.network = crosses(edge);
  hop.latency = taken.latency;
  return hop;
}

}  // namespace stepcast::collective
