#include "routing/route_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/parallel.hpp"

namespace stepcast::routing {

using topology::Fault;
using topology::Link;
using topology::Node;
using topology::NodeKind;

namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

bool is_end_point(const Node& node) {
  return node.kind == NodeKind::kGpu || node.kind == NodeKind::kNic || node.kind == NodeKind::kStorage;
}

bool is_fabric_switch(const Node& node) {
  return node.kind == NodeKind::kSwitch && node.host == Node::kNoHost;
}

/// Down from the start and for good: the network routes around it.
bool is_gone(const Fault& fault) {
  return fault.target == Fault::Target::kLink && fault.factor == 0 && fault.at == TimePoint() &&
         fault.until == TimePoint::never();
}

/// A share of a flow: an exact, reduced fraction.
struct Share {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;

  void reduce() {
    const std::uint64_t divisor = std::gcd(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    if (denominator > std::numeric_limits<std::uint32_t>::max()) {
      throw UnsupportedError(
          fmt::format("a path of this fabric splits into shares of 1/{}, beyond exact arithmetic; use the "
                      "routing \"ecmp\"",
                      denominator));
    }
  }
  void add(Share other) {
    // Both denominators are below 2^32, so the products fit.
    const std::uint64_t common = std::lcm(denominator, other.denominator);
    numerator = numerator * (common / denominator) + other.numerator * (common / other.denominator);
    denominator = common;
    reduce();
  }
  [[nodiscard]] Share part(std::uint64_t of, std::uint64_t whole) const {
    const std::uint64_t divisor = std::gcd(of, whole);
    Share share{numerator * (of / divisor), denominator * (whole / divisor)};
    share.reduce();
    return share;
  }
};

}  // namespace

RouteGraph::RouteGraph(const topology::Topology& topology, std::span<const Fault> faults, Links links)
    : topology_(topology) {
  colour_links(faults, links);
  colour_nodes(links);
  make_trunks();
  number_scopes();
  make_adjacency();
}

void RouteGraph::colour_links(std::span<const Fault> faults, Links links) {
  const std::span<const Link> all = topology_.links();
  link_colour_.resize(all.size());
  link_bundle_.resize(all.size());
  down_.assign(all.size(), 0);
  // Faults by link. The profile is which faults hit it, not how hard: each changes whole trunks.
  std::vector<std::uint64_t> profile(faults.empty() ? 0 : all.size(), 0);
  for (std::size_t f = 0; f < faults.size(); ++f) {
    for (const LinkId link : faults[f].links) {
      profile[link.index()] = mix(profile[link.index()], f + 1);
      if (is_gone(faults[f])) {
        down_[link.index()] = 1;
      }
    }
  }
  using Key = std::tuple<Bandwidth, Bandwidth, Duration, std::uint16_t, std::uint16_t, std::uint64_t>;
  std::map<Key, std::uint32_t> colours;
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint64_t>, std::uint32_t> bundles;
  std::uint32_t next = 0;
  std::uint32_t next_bundle = 0;
  std::uint32_t bundle = 0;  // of `last`
  const std::pair<const Key, std::uint32_t>* last = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Link& link = all[i];
    const bool fabric =
        is_fabric_switch(topology_.node(link.from)) || is_fabric_switch(topology_.node(link.to));
    if (links == Links::kEach && fabric) {
      link_colour_[i] = next++;
      link_bundle_[i] = next_bundle++;
      continue;
    }
    const Key key{link.capacity, link.effective, link.latency,
                  link.tier,     link.cost,      profile.empty() ? 0 : profile[i]};
    if (last == nullptr || last->first != key) {
      const auto [at, added] = colours.emplace(key, next);
      next += added ? 1 : 0;
      last = &*at;
      // Rates and latency may differ within a bundle: it carries their sum, and arrives with the last.
      const std::tuple like(link.tier, link.cost, std::get<5>(key));
      const auto [found, is_new] = bundles.emplace(like, next_bundle);
      next_bundle += is_new ? 1 : 0;
      bundle = found->second;
    }
    link_colour_[i] = last->second;
    link_bundle_[i] = bundle;
  }
}

void RouteGraph::colour_nodes(Links links) {
  const std::size_t count = topology_.nodes().size();
  std::vector<std::uint64_t> colour(count);
  std::vector<std::uint32_t> switches;  // nodes whose colour is refined
  for (std::size_t v = 0; v < count; ++v) {
    const Node& node = topology_.node(NodeId(v));
    const bool own = is_end_point(node) || (links == Links::kEach && is_fabric_switch(node));
    colour[v] = own ? mix(1, v) : mix(mix(2, static_cast<std::uint64_t>(node.kind)), node.host);
    if (!own) {
      switches.push_back(static_cast<std::uint32_t>(v));
    }
  }
  const auto distinct = [&] {
    std::vector<std::uint64_t> seen;
    seen.reserve(switches.size());
    for (const std::uint32_t v : switches) {
      seen.push_back(colour[v]);
    }
    std::sort(seen.begin(), seen.end());
    return std::unique(seen.begin(), seen.end()) - seen.begin();
  };
  std::vector<std::uint64_t> next(switches.size());
  for (auto before = distinct();;) {
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const NodeId v(switches[i]);
      std::uint64_t sum = 0;  // of hashes: the order of links does not matter, their number does
      for (const LinkId link : topology_.out_links(v)) {
        sum += mix(mix(3, link_colour_[link.index()]), colour[topology_.link(link).to.index()]);
      }
      for (const LinkId link : topology_.in_links(v)) {
        sum += mix(mix(4, link_colour_[link.index()]), colour[topology_.link(link).from.index()]);
      }
      next[i] = mix(colour[v.index()], sum);
    }
    for (std::size_t i = 0; i < switches.size(); ++i) {
      colour[switches[i]] = next[i];
    }
    const auto after = distinct();
    if (after == before) {
      break;
    }
    before = after;
  }

  // Classes in order of their first node.
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(colour[a], a) < std::pair(colour[b], b);
  });
  std::vector<std::uint32_t> first_of(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = i > 0 && colour[order[i]] == colour[order[i - 1]];
    first_of[order[i]] = same ? first_of[order[i - 1]] : order[i];
  }
  class_of_.resize(count);
  for (std::uint32_t v = 0; v < count; ++v) {
    if (first_of[v] == v) {
      class_of_[v] = static_cast<std::uint32_t>(classes_.size());
      classes_.push_back({.representative = NodeId(v)});
    } else {
      class_of_[v] = class_of_[first_of[v]];
    }
    ++classes_[class_of_[v]].size;
  }
}

void RouteGraph::make_trunks() {
  using End = std::tuple<std::uint32_t, std::uint32_t, LinkId>;  // class of the other end, bundle
  const auto same_trunk = [](const End& a, const End& b) {
    return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
  };
  std::vector<End> ends;  // of the links of one node
  first_trunk_.assign(1, 0);
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    const NodeId node = classes_[c].representative;
    const std::uint32_t host = topology_.node(node).host;
    ends.clear();
    for (const LinkId link : topology_.out_links(node)) {
      ends.emplace_back(class_of_[topology_.link(link).to.index()], link_bundle_[link.index()], link);
    }
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 0; i < ends.size();) {
      std::size_t same = i;
      std::uint64_t bits = 0;
      Duration latency;
      for (; same < ends.size() && same_trunk(ends[i], ends[same]); ++same) {
        const Link& one = topology_.link(std::get<2>(ends[same]));
        bits += static_cast<std::uint64_t>(one.capacity.bits_per_second());
        latency = std::max(latency, one.latency);
      }
      const LinkId id = std::get<2>(ends[i]);
      const Link& link = topology_.link(id);
      const bool inside = host != Node::kNoHost && topology_.node(link.to).host == host;
      trunks_.push_back({.from = c,
                         .to = std::get<0>(ends[i]),
                         .bundle = std::get<1>(ends[i]),
                         .links_per_node = static_cast<std::uint32_t>(same - i),
                         .bits_per_node = bits,
                         .cost = link.cost,
                         .usable = down_[id.index()] == 0,
                         .network = !inside,
                         .latency = latency});
      i = same;
    }
    first_trunk_.push_back(static_cast<std::uint32_t>(trunks_.size()));
  }

  // Every link finds its trunk, and the counts agree: the partition is equitable.
  trunk_of_link_.resize(topology_.links().size());
  std::vector<std::uint32_t> links_in(trunks_.size(), 0);
  for (std::size_t i = 0; i < trunk_of_link_.size(); ++i) {
    const Link& link = topology_.link(LinkId(i));
    const std::uint32_t from = class_of_[link.from.index()];
    const auto begin = trunks_.begin() + first_trunk_[from];
    const auto end = trunks_.begin() + first_trunk_[from + 1];
    const std::pair key(class_of_[link.to.index()], link_bundle_[i]);
    const auto found = std::lower_bound(begin, end, key, [](const Trunk& trunk, const auto& wanted) {
      return std::pair(trunk.to, trunk.bundle) < wanted;
    });
    STEPCAST_CHECK(found != end && std::pair(found->to, found->bundle) == key, "link {} has no trunk", i);
    trunk_of_link_[i] = ResourceId(static_cast<std::uint32_t>(found - trunks_.begin()));
    ++links_in[trunk_of_link_[i].index()];
  }
  for (std::size_t t = 0; t < trunks_.size(); ++t) {
    const Trunk& trunk = trunks_[t];
    STEPCAST_CHECK(links_in[t] == classes_[trunk.from].size * trunk.links_per_node &&
                       links_in[t] % classes_[trunk.to].size == 0,
                   "trunk {} has {} links", t, links_in[t]);
  }
}

void RouteGraph::number_scopes() {
  // Scopes: one per host number (some may be empty), then the network.
  std::uint32_t most = 0;
  for (const NodeClass& node_class : classes_) {
    const std::uint32_t host = topology_.node(node_class.representative).host;
    most = host == Node::kNoHost ? most : std::max(most, host + 1);
  }
  network_scope_ = most;
  scope_size_.assign(most + 1, 0);
  for (NodeClass& node_class : classes_) {
    const Node& node = topology_.node(node_class.representative);
    if (!is_end_point(node)) {
      node_class.scope = node.host == Node::kNoHost ? network_scope_ : node.host;
      node_class.index = scope_size_[node_class.scope]++;
    }
  }
  network_distances_.resize(classes_.size());
  host_distances_.resize(classes_.size());
}

void RouteGraph::make_adjacency() {
  const auto build = [&](bool network, bool back, Adjacency& adjacency) {
    adjacency.begin.assign(classes_.size() + 1, 0);
    const auto visit = [&](const auto& take) {
      for (std::uint32_t t = 0; t < trunks_.size(); ++t) {
        const Trunk& trunk = trunks_[t];
        const std::uint32_t at = back ? trunk.to : trunk.from;
        const std::uint32_t other = back ? trunk.from : trunk.to;
        const bool forwards =
            classes_[other].scope != kNoScope && (classes_[other].scope == network_scope_) == network;
        if (trunk.usable && trunk.network == network && forwards) {
          take(at, Arc{t, other, classes_[other].index, trunk.cost});
        }
      }
    };
    visit([&](std::uint32_t at, const Arc&) { ++adjacency.begin[at + 1]; });
    std::partial_sum(adjacency.begin.begin(), adjacency.begin.end(), adjacency.begin.begin());
    std::vector<std::uint32_t> next(adjacency.begin.begin(), adjacency.begin.end() - 1);
    adjacency.arcs.resize(adjacency.begin.back());
    visit([&](std::uint32_t at, const Arc& arc) { adjacency.arcs[next[at]++] = arc; });
  };
  for (const bool network : {false, true}) {
    build(network, false, forward_[network ? 1 : 0]);
    build(network, true, backward_[network ? 1 : 0]);
  }
}

std::vector<Resource> RouteGraph::resources() const {
  std::vector<Resource> resources(trunks_.size());
  for (std::size_t t = 0; t < trunks_.size(); ++t) {
    resources[t].links.reserve(std::size_t{classes_[trunks_[t].from].size} * trunks_[t].links_per_node);
  }
  for (std::size_t i = 0; i < trunk_of_link_.size(); ++i) {
    resources[trunk_of_link_[i].index()].links.emplace_back(i);
  }
  for (Resource& resource : resources) {
    Int128 payload = 0;
    Int128 nameplate = 0;
    for (const LinkId id : resource.links) {
      payload += topology_.link(id).effective.bits_per_second();
      nameplate += topology_.link(id).capacity.bits_per_second();
    }
    constexpr double kBitsPerByte = 8;
    resource.bytes_per_second = static_cast<double>(payload) / kBitsPerByte;
    resource.nameplate_bytes_per_second = static_cast<double>(nameplate) / kBitsPerByte;
    resource.tier = topology_.link(resource.links.front()).tier;
  }
  return resources;
}

std::uint32_t RouteGraph::scope_of(NodeId from, NodeId to, Reach reach) const {
  if (reach == Reach::kNetwork) {
    return network_scope_;
  }
  const std::uint32_t host = topology_.node(from).host;
  STEPCAST_CHECK(host != Node::kNoHost && host == topology_.node(to).host, "nodes {} and {} share no host",
                 from.index(), to.index());
  return host;
}

const RouteGraph::Distances& RouteGraph::distances(std::uint32_t destination, std::uint32_t scope) const {
  const bool network = scope == network_scope_;
  Distances& known = network ? network_distances_[destination] : host_distances_[destination];
  if (!known.empty()) {
    return known;
  }
  known.assign(std::max(1U, scope_size_[scope]), kFar);   // never empty: empty means not computed
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // (distance, class)
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto relax = [&](std::uint32_t node_class, std::uint32_t base) {
    for (const Arc& arc : backward_[network ? 1 : 0].of(node_class)) {
      if (base + arc.cost < known[arc.other_index]) {
        known[arc.other_index] = base + arc.cost;
        queue.emplace(base + arc.cost, arc.other);
      }
    }
  };
  if (classes_[destination].scope == scope) {
    known[classes_[destination].index] = 0;
  }
  relax(destination, 0);
  while (!queue.empty()) {
    const auto [distance, node_class] = queue.top();
    queue.pop();
    if (distance == known[classes_[node_class].index]) {
      relax(node_class, distance);
    }
  }
  return known;
}

std::uint32_t RouteGraph::network_root(std::uint32_t destination) const {
  // A NIC on one leaf shares the leaf's distances with its neighbours.
  const std::span<const Arc> before = backward_[1].of(destination);
  const bool shared = before.size() == 1 && classes_[destination].scope == kNoScope;
  return shared ? before.front().other : destination;
}

void RouteGraph::prepare(std::span<const NodeId> destinations) const {
  std::vector<std::uint32_t> roots;
  for (const NodeId node : destinations) {
    const std::uint32_t root = network_root(class_of_[node.index()]);
    if (network_distances_[root].empty()) {
      roots.push_back(root);
    }
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  constexpr std::uint64_t kWorthThreads = 200'000;  // distances: some milliseconds
  if (std::uint64_t{scope_size_[network_scope_]} * roots.size() >= kWorthThreads) {
    parallel_for(roots.size(), thread_count(),
                 [&](std::size_t i) { static_cast<void>(distances(roots[i], network_scope_)); });
  }
}

RouteGraph::Target RouteGraph::target(std::uint32_t destination, std::uint32_t scope) const {
  Target target{.destination = destination, .network = scope == network_scope_};
  const std::uint32_t root = target.network ? network_root(destination) : destination;
  target.tail = root == destination ? 0 : backward_[1].of(destination).front().cost;
  target.distances = &distances(root, scope);
  return target;
}

template <class Visit>
void RouteGraph::for_each_next(std::uint32_t node_class, const Target& target, const Visit& visit) const {
  const auto begin = trunks_.begin() + first_trunk_[node_class];
  const auto end = trunks_.begin() + first_trunk_[node_class + 1];
  const auto direct =
      std::lower_bound(begin, end, target.destination,
                       [](const Trunk& trunk, std::uint32_t destination) { return trunk.to < destination; });
  for (auto trunk = direct; trunk != end && trunk->to == target.destination; ++trunk) {
    if (trunk->usable && trunk->network == target.network) {
      visit(static_cast<std::uint32_t>(trunk - trunks_.begin()), trunk->cost);
    }
  }
  for (const Arc& arc : forward_[target.network ? 1 : 0].of(node_class)) {
    const std::uint32_t rest = (*target.distances)[arc.other_index];
    if (rest != kFar && arc.other != target.destination) {
      visit(arc.trunk, arc.cost + rest + target.tail);
    }
  }
}

std::uint32_t RouteGraph::shortest(std::uint32_t node_class, const Target& target) const {
  std::uint32_t best = kFar;
  for_each_next(node_class, target,
                [&](std::uint32_t /*trunk*/, std::uint32_t distance) { best = std::min(best, distance); });
  return best;
}

bool RouteGraph::joined(std::uint32_t from, std::uint32_t to) const {
  const auto begin = trunks_.begin() + first_trunk_[from];
  const auto end = trunks_.begin() + first_trunk_[from + 1];
  return std::any_of(begin, end, [to](const Trunk& trunk) { return trunk.to == to; });
}

std::optional<Path> RouteGraph::spread(NodeId from, NodeId to, Reach reach) const {
  const std::uint32_t start = class_of_[from.index()];
  const std::uint32_t destination = class_of_[to.index()];
  const std::uint32_t scope = scope_of(from, to, reach);
  if (scope == network_scope_ && classes_[start].scope == kNoScope && !joined(start, destination)) {
    const std::span<const Arc> first = forward_[1].of(start);
    if (first.size() == 1 && network_root(destination) != destination) {
      return between_ends(first.front(), backward_[1].of(destination).front());
    }
  }
  return search(start, target(destination, scope));
}

std::optional<Path> RouteGraph::between_ends(const Arc& first, const Arc& last) const {
  Path path;
  const Path* middle = nullptr;
  if (first.other != last.other) {
    constexpr std::size_t kMostKept = 100'000;
    if (between_switches_.size() > kMostKept) {
      between_switches_.clear();
    }
    const auto [known, fresh] =
        between_switches_.try_emplace((std::uint64_t{first.other} << 32U) | last.other);
    if (fresh) {
      known->second = search(first.other, target(last.other, network_scope_));
    }
    if (!known->second) {
      return std::nullopt;
    }
    middle = &*known->second;
  }
  path.hops.reserve(2 + (middle == nullptr ? 0 : middle->hops.size()));
  path.hops.push_back({ResourceId(first.trunk), 1, 1});
  path.latency = trunks_[first.trunk].latency + trunks_[last.trunk].latency;
  if (middle != nullptr) {
    path.hops.insert(path.hops.end(), middle->hops.begin(), middle->hops.end());
    path.latency += middle->latency;
  }
  path.hops.push_back({ResourceId(last.trunk), 1, 1});
  return path;
}

std::optional<Path> RouteGraph::search(std::uint32_t start, const Target& goal) const {
  struct Arrived {
    Share share{0, 1};
    Duration latency;
  };
  // Farthest first: all that reaches a class has arrived when it is split. A class is at one distance.
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Key, Arrived, std::greater<>> open;
  const std::uint32_t total = shortest(start, goal);
  if (total == kFar) {
    return std::nullopt;
  }
  open[{total, start}].share = {1, 1};
  Path path;
  std::vector<std::uint32_t> next_trunks;
  while (!open.empty()) {
    const std::uint32_t distance = open.begin()->first.first;
    const std::uint32_t node_class = open.begin()->first.second;
    const Arrived arrived = open.begin()->second;
    open.erase(open.begin());
    next_trunks.clear();
    std::uint64_t links = 0;
    for_each_next(node_class, goal, [&](std::uint32_t trunk, std::uint32_t over) {
      if (over == distance) {
        next_trunks.push_back(trunk);
        links += trunks_[trunk].links_per_node;
      }
    });
    // Trunks to one class stand side by side: the class has its part by links, each trunk by capacity.
    std::size_t group_end = 0;
    std::uint64_t group_bits = 0;
    Share group;
    for (std::size_t i = 0; i < next_trunks.size(); ++i) {
      const std::uint32_t t = next_trunks[i];
      const Trunk& trunk = trunks_[t];
      if (i == group_end) {
        std::uint64_t group_links = 0;
        for (group_bits = 0; group_end < next_trunks.size() && trunks_[next_trunks[group_end]].to == trunk.to;
             ++group_end) {
          group_links += trunks_[next_trunks[group_end]].links_per_node;
          group_bits += trunks_[next_trunks[group_end]].bits_per_node;
        }
        group = arrived.share.part(group_links, links);
      }
      const Share share = group.part(trunk.bits_per_node, group_bits);
      path.hops.push_back({ResourceId(t), static_cast<std::uint32_t>(share.numerator),
                           static_cast<std::uint32_t>(share.denominator)});
      const Duration latency = arrived.latency + trunk.latency;
      if (trunk.to == goal.destination) {
        path.latency = std::max(path.latency, latency);
        continue;
      }
      Arrived& next = open[{distance - trunk.cost, trunk.to}];
      next.share.add(share);
      next.latency = std::max(next.latency, latency);
    }
  }
  return path;
}

std::optional<Path> RouteGraph::walk(NodeId from, NodeId to, Reach reach, const Choice& choose) const {
  const std::uint32_t scope = scope_of(from, to, reach);
  if (scope != network_scope_) {
    return spread(from, to, reach);
  }
  const Target goal = target(class_of_[to.index()], scope);
  std::uint32_t node_class = class_of_[from.index()];
  std::uint32_t distance = shortest(node_class, goal);
  if (distance == kFar) {
    return std::nullopt;
  }
  Path path;
  std::uint64_t above = 1;
  std::vector<std::uint32_t> candidates;
  while (node_class != goal.destination) {
    candidates.clear();
    for_each_next(node_class, goal, [&](std::uint32_t trunk, std::uint32_t over) {
      if (over == distance) {
        candidates.push_back(trunk);
      }
    });
    const auto count = static_cast<std::uint32_t>(candidates.size());
    const NodeId at = classes_[node_class].representative;
    const Node& next = topology_.node(classes_[trunks_[candidates.front()].to].representative);
    const bool down = next.kind == NodeKind::kSwitch && next.tier < topology_.node(at).tier;
    const std::uint32_t chosen = choose(at, count, down ? 1 : above);
    STEPCAST_CHECK(chosen < count, "candidate {} of {}", chosen, count);
    const Trunk& trunk = trunks_[candidates[chosen]];
    path.hops.push_back({ResourceId(candidates[chosen]), 1, 1});
    path.latency += trunk.latency;
    distance -= trunk.cost;
    node_class = trunk.to;
    above *= down ? 1 : count;
  }
  return path;
}

}  // namespace stepcast::routing
