#include "collective/layout.hpp"

#include <algorithm>
#include <numeric>
#include <set>
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

// Beyond this many edges, and many for each member, the paths of a phase are many times the links.
constexpr std::size_t kFewEdges = 50'000;

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

namespace {

/// Hosts of a group while levels are found: joined by switches that their NICs reach in ever more hops.
class FabricUnits {
 public:
  FabricUnits(const routing::Router& router, std::span<const GpuId> group, const Places& places)
      : topology_(router.topology()) {
    for (std::uint32_t host = 0; host < places.host_count(); ++host) {
      const GpuId gpu = group[places.hosts()[host][0]];
      const std::span<const NodeId> nics = topology_.nics_of(gpu);
      unit_of_.push_back(host);
      reached_.push_back({nics.empty() ? topology_.gpu_node(gpu) : nics.front()});
      seen_.emplace_back(reached_.back().begin(), reached_.back().end());
    }
  }

  /// One more hop; false when nothing new is reached.
  bool advance() {
    std::map<NodeId, std::uint32_t> first;  // host of each switch
    bool further = false;
    const std::vector<std::uint32_t> before = unit_of_;
    for (std::uint32_t host = 0; host < unit_of_.size(); ++host) {
      if (before[host] != host) {
        continue;  // what its unit reaches, it reaches
      }
      std::vector<NodeId> next;
      for (const NodeId at : reached_[host]) {
        for (const LinkId link : topology_.out_links(at)) {
          const NodeId to = topology_.link(link).to;
          if (is_fabric(topology_.node(to)) && seen_[host].insert(to).second) {
            next.push_back(to);
          }
        }
      }
      further = further || !next.empty();
      reached_[host] = std::move(next);
      for (const NodeId at : reached_[host]) {
        const auto [known, fresh] = first.try_emplace(at, host);
        if (!fresh) {
          join(known->second, host);
        }
      }
    }
    for (std::uint32_t host = 0; host < unit_of_.size(); ++host) {
      unit_of_[host] = root(host);
    }
    return further;
  }

  /// The first host of each host's unit.
  [[nodiscard]] const std::vector<std::uint32_t>& unit_of() const { return unit_of_; }

 private:
  [[nodiscard]] std::uint32_t root(std::uint32_t host) const {
    while (unit_of_[host] != host) {
      host = unit_of_[host];
    }
    return host;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    unit_of_[std::max(a, b)] = std::min(a, b);
  }

  const topology::Topology& topology_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<std::vector<NodeId>> reached_;  // by the first host of a unit: switches of the last hop
  std::vector<std::set<NodeId>> seen_;
};

/// Hosts in a unit when all units have as many, else 0.
std::uint32_t equal_size(const std::vector<std::uint32_t>& unit_of) {
  std::map<std::uint32_t, std::uint32_t> sizes;
  for (const std::uint32_t unit : unit_of) {
    ++sizes[unit];
  }
  const std::uint32_t size = sizes.begin()->second;
  return std::all_of(sizes.begin(), sizes.end(), [&](const auto& one) { return one.second == size; }) ? size
                                                                                                      : 0;
}

}  // namespace

Places places_in_fabric(const routing::Router& router, std::span<const GpuId> group, const Places& places) {
  const std::uint32_t count = places.host_count();
  if (!places.equal() || count == 1) {
    return places;
  }
  FabricUnits units(router, group, places);
  std::vector<std::vector<std::uint32_t>> levels;  // unit of each host, innermost level first
  std::vector<std::uint32_t> sizes;
  std::uint32_t inner = 1;
  while (inner < count && units.advance()) {
    const std::uint32_t size = equal_size(units.unit_of());
    if (size > inner && size < count && size % inner == 0) {
      levels.push_back(units.unit_of());
      sizes.push_back(size / inner);
      inner = size;
    }
    if (size == count) {
      break;
    }
  }
  sizes.push_back(count / inner);
  std::vector<std::uint32_t> hosts(count);
  std::iota(hosts.begin(), hosts.end(), 0U);
  for (const std::vector<std::uint32_t>& unit_of : levels) {
    std::stable_sort(hosts.begin(), hosts.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return unit_of[a] < unit_of[b]; });
  }
  return places.with_levels(hosts, sizes);
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

routing::Path Layout::path(const Edge& edge, bool network) const {
  const GpuId source = group_[edge.from];
  const GpuId destination = group_[edge.to];
  const GpuId exit = group_[edge.exit];
  return exit != source && network &&
                 router_.topology().host_of(source) != router_.topology().host_of(destination)
             ? router_.find_by(source, exit, destination, edge.channel)
             : router_.find(source, destination, edge.channel);
}

bool Layout::crosses(const Edge& edge) const {
  return router_.crosses_network(group_[edge.from], group_[edge.to]);
}

routing::Path Layout::part(const Edge& edge) const {
  const bool network = crosses(edge);
  const routing::Path whole = path(edge, network);
  return edge.via == Via::kWhole ? whole : part(edge, whole, network);
}

routing::Path Layout::part(const Edge& edge, const routing::Path& whole, bool network) const {
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

Duration Layout::shortest_network_hop() const {
  const hardware::CollectiveConstants& constants = router_.cluster().host.collective;
  return std::min({constants.net_hop_ll, constants.net_hop_ll128, constants.net_hop_simple});
}

void Layout::note_ring(const std::vector<Edge>& edges,
                       std::vector<std::vector<RingHop>>& hops,
                       Footprint::Phase& phase) const {
  if (phase.network_latency <= shortest_network_hop()) {
    return;
  }
  // One closed way through each channel, and hops that differ.
  std::vector<const Edge*> first(hops.size());
  std::vector<const Edge*> last(hops.size());
  for (const Edge& edge : edges) {
    const Edge*& before = last[edge.channel];
    if (edge.via != Via::kWhole || (before != nullptr && before->to != edge.from)) {
      return;
    }
    first[edge.channel] = first[edge.channel] == nullptr ? &edge : first[edge.channel];
    before = &edge;
  }
  Int128 most = -1;
  std::size_t longest = 0;
  bool differ = false;
  for (std::size_t channel = 0; channel < hops.size(); ++channel) {
    if (first[channel] == nullptr || last[channel]->to != first[channel]->from) {
      return;
    }
    Int128 around = 0;
    for (const RingHop& hop : hops[channel]) {
      around += hop.latency.ps();
      differ = differ || (hop.network && hop.latency != phase.network_latency);
    }
    longest = around > most ? channel : longest;
    most = std::max(most, around);
  }
  if (differ) {
    phase.ring = std::move(hops[longest]);
  }
}

void Layout::add_paths(const std::vector<Edge>& edges, Footprint::Phase& phase, DemandSum& sum) const {
  // A path by the NIC of another GPU is the path to that GPU and the path from it.
  struct Part {
    std::uint64_t ends = 0;  // channel, from, to
    std::uint32_t weight = 0;
    Duration before;  // latency of what leads there
  };
  std::vector<Part> parts;
  parts.reserve(edges.size());
  const std::uint64_t members = group_.size();
  const auto ends = [&](std::uint32_t channel, std::uint32_t from, std::uint32_t to) {
    return (channel * members + from) * members + to;
  };
  // Latency and load of what leads to the NIC, by sender and exit.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, Duration>> leads;
  for (const Edge& edge : edges) {
    const bool network = !footprint_.places->together(edge.from, edge.to);
    if (!network || edge.exit == edge.from ||
        router_.topology().host_of(group_[edge.from]) == router_.topology().host_of(group_[edge.to])) {
      parts.push_back({ends(edge.channel, edge.from, edge.to), edge.weight, {}});
      continue;
    }
    const auto [lead, fresh] = leads.try_emplace({edge.channel, edge.from, edge.exit});
    if (fresh) {
      lead->second.second = router_.between(group_[edge.from], group_[edge.exit], edge.channel).latency;
    }
    lead->second.first += edge.weight;
    parts.push_back({ends(edge.channel, edge.exit, edge.to), edge.weight, lead->second.second});
  }
  for (const auto& [lead, load] : leads) {
    const auto& [channel, from, exit] = lead;
    STEPCAST_CHECK(load.first <= 0xffffffffULL, "{} edges by one NIC", load.first);
    sum.add(router_.between(group_[from], group_[exit], channel), static_cast<std::uint32_t>(load.first));
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.ends < b.ends; });
  for (std::size_t first = 0; first < parts.size();) {
    std::uint64_t weight = 0;
    Duration before;
    std::size_t last = first;
    for (; last < parts.size() && parts[last].ends == parts[first].ends; ++last) {
      weight += parts[last].weight;
      before = std::max(before, parts[last].before);
    }
    const std::uint64_t pair = parts[first].ends % (members * members);
    const auto from = static_cast<std::uint32_t>(pair / members);
    const auto to = static_cast<std::uint32_t>(pair % members);
    const routing::Path path =
        router_.find(group_[from], group_[to], parts[first].ends / (members * members));
    Duration& longest = footprint_.places->together(from, to) ? phase.local_latency : phase.network_latency;
    longest = std::max(longest, before + path.latency);
    STEPCAST_CHECK(weight <= 0xffffffffULL, "{} edges between two members", weight);
    sum.add(path, static_cast<std::uint32_t>(weight));
    first = last;
  }
}

Footprint::Phase Layout::walk(const std::vector<Edge>& edges, std::vector<std::uint32_t>& crossing) const {
  Footprint::Phase phase;
  DemandSum sum;
  DemandSum trees;
  bool many =
      edges.size() > kFewEdges && edges.size() / 4 > group_.size() &&
      std::all_of(edges.begin(), edges.end(), [](const Edge& edge) { return edge.via == Via::kWhole; });
  if (many) {
    for (const Edge& edge : edges) {
      crossing[edge.channel] += footprint_.places->together(edge.from, edge.to) ? 0 : 1;
    }
    add_paths(edges, phase, sum);
    if (edges.size() / 32 <= group_.size() && phase.network_latency > shortest_network_hop()) {
      // Perhaps rings, whose hops are then told apart.
      many = false;
      phase = {};
      sum = {};
      std::fill(crossing.begin(), crossing.end(), 0U);
    }
  }
  std::vector<std::vector<RingHop>> hops(crossing.size());
  for (const Edge& edge : many ? std::span<const Edge>() : std::span<const Edge>(edges)) {
    if (edge.via == Via::kTree) {
      trees.add_largest(part(edge), edge.weight, edge.channel);
      continue;
    }
    const bool network = crosses(edge);
    crossing[edge.channel] += network ? 1 : 0;
    Duration& longest = network ? phase.network_latency : phase.local_latency;
    const routing::Path whole = path(edge, network);
    longest = std::max(longest, whole.latency);
    hops[edge.channel].push_back({whole.latency, network});
    if (edge.via == Via::kWhole) {
      sum.add(whole, edge.weight);
    } else {
      sum.add(part(edge, whole, network), edge.weight);
    }
  }
  sum.add(trees);
  note_ring(edges, hops, phase);
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
