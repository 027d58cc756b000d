#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "base/random.hpp"
#include "routing/router.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using routing::Hop;
using routing::Path;
using routing::Router;
using topology::Cluster;
using topology::Link;
using topology::NodeKind;
using topology::Topology;

namespace {

constexpr std::uint64_t kFar = std::numeric_limits<std::uint32_t>::max();

/// A random connected fabric of switches with GPUs wired to them; few rates and costs, so that some
/// switches come out alike.
Cluster random_fabric(std::uint64_t seed) {
  RandomStream random(seed, "fabric");
  Topology::Draft draft;
  const auto gpus = static_cast<std::uint32_t>(2 + random.below(3));
  const auto switches = static_cast<std::uint32_t>(2 + random.below(6));
  for (std::uint32_t i = 0; i < gpus; ++i) {
    draft.add_node({.kind = NodeKind::kGpu, .host = i, .name = "g" + std::to_string(i)});
  }
  for (std::uint32_t i = 0; i < switches; ++i) {
    draft.add_node({.index = i, .name = "s" + std::to_string(i)});
  }
  const auto cable = [&](std::uint32_t a, std::uint32_t b) {
    const Bandwidth rate =
        Bandwidth::from_bits_per_second(static_cast<std::int64_t>(1 + random.below(2)) * 100'000'000'000);
    const Link like{.capacity = rate,
                    .effective = rate,
                    .latency = Duration::from_ps(static_cast<std::int64_t>(random.below(2)) * 1000),
                    .tier = draft.tier("link"),
                    .cost = static_cast<std::uint16_t>(random.below(8) == 0 ? 2 : 1)};
    draft.add_cable(NodeId(a), NodeId(b), like);
  };
  for (std::uint32_t i = 1; i < switches; ++i) {
    cable(gpus + i, gpus + static_cast<std::uint32_t>(random.below(i)));  // a tree joins all
  }
  for (std::uint64_t extra = random.below(2 * switches); extra > 0; --extra) {
    const auto a = static_cast<std::uint32_t>(random.below(switches));
    const auto b = static_cast<std::uint32_t>(random.below(switches));
    if (a != b) {
      cable(gpus + a, gpus + b);
    }
  }
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint64_t links = 1 + random.below(2); links > 0; --links) {
      cable(i, gpus + static_cast<std::uint32_t>(random.below(switches)));
    }
  }
  return {"random", "", {}, gpus, Topology::build(std::move(draft)), {}, {}};
}

/// Distance of every node to `to` by relaxing all links until nothing changes; GPUs do not forward.
std::vector<std::uint64_t> distances(const Topology& topology, NodeId to) {
  std::vector<std::uint64_t> distance(topology.nodes().size(), kFar);
  distance[to.index()] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : topology.links()) {
      const bool forwards = link.to == to || topology.node(link.to).kind == NodeKind::kSwitch;
      if (forwards && distance[link.to.index()] + link.cost < distance[link.from.index()]) {
        distance[link.from.index()] = distance[link.to.index()] + link.cost;
        changed = true;
      }
    }
  }
  return distance;
}

/// Share of every link by splitting at every node over its next links, depth first, path by path.
void split(const Topology& topology,
           const std::vector<std::uint64_t>& distance,
           NodeId at,
           NodeId to,
           double share,
           Duration latency,
           std::vector<double>& shares,
           Duration& longest) {
  if (at == to) {
    longest = std::max(longest, latency);
    return;
  }
  std::vector<LinkId> next;
  for (const LinkId id : topology.out_links(at)) {
    const Link& link = topology.link(id);
    const bool forwards = link.to == to || topology.node(link.to).kind == NodeKind::kSwitch;
    if (forwards && distance[link.to.index()] + link.cost == distance[at.index()]) {
      next.push_back(id);
    }
  }
  for (const LinkId id : next) {
    const double part = share / static_cast<double>(next.size());
    shares[id.index()] += part;
    split(topology, distance, topology.link(id).to, to, part, latency + topology.link(id).latency, shares,
          longest);
  }
}

}  // namespace

TEST_CASE("balanced shares are those of splitting at every switch of the graph itself") {
  CHECK(rc::check([](std::uint64_t seed) {
    const Cluster cluster = random_fabric(seed);
    const Topology& topology = cluster.topology;
    const Router router(cluster, "balanced");
    for (std::uint32_t from = 0; from < topology.gpu_count(); ++from) {
      for (std::uint32_t to = 0; to < topology.gpu_count(); ++to) {
        if (from == to) {
          continue;
        }
        const NodeId end = topology.gpu_node(GpuId(to));
        std::vector<double> shares(topology.links().size(), 0);
        Duration longest;
        split(topology, distances(topology, end), topology.gpu_node(GpuId(from)), end, 1, Duration(), shares,
              longest);

        const Path& path = router.between(GpuId(from), GpuId(to));
        RC_ASSERT(path.latency == longest);
        std::vector<double> found(topology.links().size(), 0);
        for (const Hop& hop : path.hops) {
          const auto& links = router.resources()[hop.resource.index()].links;
          // All links of a trunk carry the same.
          for (const LinkId link : links) {
            found[link.index()] +=
                static_cast<double>(hop.numerator) / hop.denominator / static_cast<double>(links.size());
          }
        }
        for (std::size_t i = 0; i < shares.size(); ++i) {
          RC_ASSERT(std::abs(shares[i] - found[i]) < 1e-12);
        }
      }
    }
  }));
}

TEST_CASE("every policy delivers all of a flow: what enters a switch leaves it") {
  CHECK(rc::check([](std::uint64_t seed) {
    const Cluster cluster = random_fabric(seed);
    const Topology& topology = cluster.topology;
    for (const routing::PolicyEntry& policy : routing::policies()) {
      const Router router(cluster, policy.name, seed);
      std::vector<double> balance(topology.nodes().size(), 0);  // in minus out
      for (const Hop& hop : router.between(GpuId(0), GpuId(1)).hops) {
        const auto& links = router.resources()[hop.resource.index()].links;
        for (const LinkId id : links) {
          const double share =
              static_cast<double>(hop.numerator) / hop.denominator / static_cast<double>(links.size());
          balance[topology.link(id).from.index()] -= share;
          balance[topology.link(id).to.index()] += share;
        }
      }
      for (std::size_t i = 0; i < balance.size(); ++i) {
        const double expected = i == topology.gpu_node(GpuId(0)).index()   ? -1
                                : i == topology.gpu_node(GpuId(1)).index() ? 1
                                                                           : 0;
        RC_ASSERT(std::abs(balance[i] - expected) < 1e-12);
      }
    }
  }));
}

TEST_CASE("trunks hold every link once and their capacity is the sum") {
  CHECK(rc::check([](std::uint64_t seed) {
    const Cluster cluster = random_fabric(seed);
    for (const routing::PolicyEntry& policy : routing::policies()) {
      const Router router(cluster, policy.name);
      std::vector<int> seen(cluster.topology.links().size(), 0);
      for (const routing::Resource& resource : router.resources()) {
        double sum = 0;
        for (const LinkId link : resource.links) {
          ++seen[link.index()];
          sum += cluster.topology.link(link).effective.bytes_per_second();
        }
        RC_ASSERT(resource.bytes_per_second == sum);
      }
      RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    }
  }));
}
