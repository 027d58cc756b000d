#include "collective/nccl/channel_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <functional>
#include <map>

#include <pthread.h>

#include "base/check.hpp"
#include "collective/nccl/channel_finder.hpp"
#include "collective/nccl/channel_routes.hpp"

namespace stepcast::collective::nccl {
namespace {

// Most channels of a communicator.
constexpr std::uint32_t kMostBefore25 = 32;
constexpr std::uint32_t kMost = 64;
// Most heads of NVLS and of CollNet direct.
constexpr std::uint32_t kMostNvlsHeads = 32;
constexpr std::uint32_t kMostDirectHeads = 8;
// Hopper and later double few fast rings once more between nodes.
constexpr double kFastRingGbPerS = 45;
constexpr std::uint32_t kFewRings = 16;
// Send and receive: one channel carries this much of a NIC (from 2.28).
constexpr double kNetPerChannelGbPerS = 14;
constexpr std::uint32_t kPeersAtOnce = 8;

struct NodeGraphs {
  ChannelGraph ring, tree, nvls, chain, direct;
};

std::uint32_t most_channels(std::uint32_t version) {
  return version < nccl_version(2, 25, 0) ? kMostBefore25 : kMost;
}

NodeGraphs find_graphs(const NodeShape& shape,
                       const Routes& routes,
                       const ChannelSettings& settings,
                       std::uint32_t least_members) {
  NodeGraphs graphs;
  graphs.ring = find_graph(shape, routes, settings,
                           {.pattern = Pattern::kRing, .max_channels = most_channels(settings.version) / 2});
  const std::uint32_t rings = graphs.ring.channels;
  graphs.tree = find_graph(shape, routes, settings,
                           {.pattern = Pattern::kBalancedTree, .min_channels = rings, .max_channels = rings});
  if (settings.nvls && shape.multicast && least_members > 2) {
    graphs.nvls =
        find_graph(shape, routes, settings,
                   {.pattern = Pattern::kNvls, .max_channels = std::min(kMostNvlsHeads, routes.gpus)});
  }
  if (settings.collnet && routes.nics > 0) {
    graphs.chain = find_graph(
        shape, routes, settings,
        {.pattern = Pattern::kTree, .min_channels = rings, .max_channels = rings, .collnet = true});
    graphs.direct = find_graph(shape, routes, settings,
                               {.pattern = Pattern::kCollnetDirect,
                                .max_channels = std::min(kMostDirectHeads, routes.gpus),
                                .collnet = true});
  }
  return graphs;
}

/// Every rank takes part with what the weakest node has.
void weaken(ChannelGraph& graph, const ChannelGraph& other) {
  graph.channels = std::min(graph.channels, other.channels);
  graph.channels_searched = std::min(graph.channels_searched, other.channels_searched);
  graph.intra_gb_per_s = std::min(graph.intra_gb_per_s, other.intra_gb_per_s);
  graph.inter_gb_per_s = std::min(graph.inter_gb_per_s, other.inter_gb_per_s);
  graph.type_intra = std::max(graph.type_intra, other.type_intra);
  graph.type_inter = std::max(graph.type_inter, other.type_inter);
  graph.cross_nic = std::max(graph.cross_nic, other.cross_nic);
  graph.same_channels = graph.same_channels && other.same_channels;
}

class Planner {
 public:
  Planner(const NodeShape& shape,
          const std::vector<std::vector<std::uint32_t>>& nodes,
          const ChannelSettings& settings)
      : shape_(shape), nodes_(nodes), settings_(settings), several_(nodes.size() > 1) {
    least_members_ = static_cast<std::uint32_t>(nodes[0].size());
    for (const std::vector<std::uint32_t>& members : nodes) {
      STEPCAST_CHECK(!members.empty(), "a node without members");
      first_.push_back(ranks_);
      ranks_ += static_cast<std::uint32_t>(members.size());
      least_members_ = std::min(least_members_, static_cast<std::uint32_t>(members.size()));
    }
  }

  ChannelPlan plan() {
    for (const std::vector<std::uint32_t>& members : nodes_) {
      for (const std::uint32_t gpu : members) {
        STEPCAST_CHECK(gpu < shape_.gpus.size(), "GPU {} of {}", gpu, shape_.gpus.size());
      }
      if (!found_.contains(members)) {
        Routes routes = build_routes(shape_, members, several_, settings_);
        NodeGraphs graphs = find_graphs(shape_, routes, settings_, least_members_);
        count_p2p(routes);
        found_.emplace(members, std::move(graphs));
      }
    }
    combine();
    count();
    connect();
    count_p2p_total();
    return std::move(plan_);
  }

 private:
  void combine() {
    const NodeGraphs& first = found_.at(nodes_[0]);
    plan_.ring = first.ring;
    plan_.tree = first.tree;
    plan_.nvls = first.nvls;
    plan_.collnet_chain = first.chain;
    plan_.collnet_direct = first.direct;
    for (const auto& [members, graphs] : found_) {
      weaken(plan_.ring, graphs.ring);
      weaken(plan_.tree, graphs.tree);
      weaken(plan_.nvls, graphs.nvls);
      weaken(plan_.collnet_chain, graphs.chain);
      weaken(plan_.collnet_direct, graphs.direct);
    }
  }

  /// Which graph ring every channel repeats.
  void count() {
    const std::uint32_t most = most_channels(settings_.version);
    const std::uint32_t graph = std::min(plan_.ring.channels, plan_.tree.channels);
    for (std::uint32_t c = 0; c < std::min(most, 2 * graph); ++c) {
      repeats_.push_back(c % graph);
    }
    const auto extend = [&](std::uint32_t to) {
      const std::size_t before = repeats_.size();
      for (std::size_t c = before; c < std::min(most, to); ++c) {
        repeats_.push_back(repeats_[c - before]);
      }
    };
    const auto size = [&] { return static_cast<std::uint32_t>(repeats_.size()); };
    if (plan_.collnet_chain.channels > 0 &&
        plan_.collnet_chain.intra_gb_per_s > plan_.collnet_chain.inter_gb_per_s && ranks_ > nodes_.size()) {
      extend(size() + size() / 2);
    }
    if (shape_.generation >= 90 && several_ && plan_.ring.intra_gb_per_s > kFastRingGbPerS &&
        size() < kFewRings) {
      extend(2 * size());
    }
    if (settings_.max_channels > 0 && settings_.max_channels < repeats_.size()) {
      repeats_.resize(settings_.max_channels);
    }
    while (size() < std::min(settings_.min_channels, most)) {
      extend(std::min(settings_.min_channels, 2 * size()));
    }
    plan_.collective_channels = size();
    if (plan_.nvls.channels > 0) {
      plan_.nvls_channels = nvls_channels();
    }
  }

  [[nodiscard]] std::uint32_t nvls_channels() const {
    if (settings_.nvls_channels > 0) {
      return settings_.nvls_channels;
    }
    if (shape_.generation < 100) {
      return 16;
    }
    return several_ || settings_.version < nccl_version(2, 27, 0) ? 32 : 24;
  }

  /// Rings over all members: node after node, each in the order of its own graph.
  void connect() {
    const bool exchange =
        several_ && plan_.ring.cross_nic == 2 && plan_.ring.channels % 2 == 0;  // odd nodes swap pairs
    std::vector<std::vector<std::uint32_t>> rings(plan_.ring.channels);
    for (std::uint32_t c = 0; c < plan_.ring.channels; ++c) {
      for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        const std::uint32_t own = exchange && n % 2 == 1 ? (c ^ 1U) : c;
        for (const std::uint32_t member : found_.at(nodes_[n]).ring.orders[own]) {
          rings[c].push_back(first_[n] + member);
        }
      }
    }
    for (const std::uint32_t c : repeats_) {
      plan_.rings.push_back(rings[c]);
    }
  }

  /// Channels between one GPU of this node and the peer that allows fewest.
  void count_p2p(const Routes& routes) {
    for (std::uint32_t a = 0; a < routes.gpus; ++a) {
      for (std::uint32_t b = 0; b < routes.gpus; ++b) {
        if (a == b) {
          continue;
        }
        const Route& route = routes.gpu_to_gpu[a][b];
        double channels = 2;
        if (route.type == PathType::kNvl) {
          channels *= std::max(
              1.0, std::floor(route.width_gb_per_s / nvlink_gb_per_s(shape_.generation, settings_.version) +
                              1e-6));
        }
        per_peer_ = std::min(per_peer_, static_cast<std::uint32_t>(channels));
      }
    }
    if (routes.nics == 0) {
      return;
    }
    for (std::uint32_t g = 0; g < routes.gpus; ++g) {
      const std::uint32_t nic = routes.near_nics[g].front();
      local_nics_ = std::min(local_nics_, static_cast<std::uint32_t>(routes.near_nics[g].size()));
      net_gb_per_s_ = std::min(net_gb_per_s_,
                               shape_.nics[nic].gb_per_s * static_cast<double>(routes.near_nics[g].size()));
    }
  }

  void count_p2p_total() {
    std::uint32_t channels = plan_.collective_channels;
    if (settings_.max_p2p_channels > 0) {
      channels = std::min(channels, settings_.max_p2p_channels);
    }
    channels = std::max({channels, settings_.min_p2p_channels, 1U});
    std::uint32_t per_peer = std::min(per_peer_, channels);
    if (several_) {
      per_peer = std::min(per_peer, net_channels(channels));
    }
    plan_.p2p_channels = std::bit_ceil(channels);
    per_peer = std::bit_ceil(std::max(1U, per_peer));
    if (several_ && settings_.version >= nccl_version(2, 28, 0) && settings_.channels_per_net_peer == 0) {
      const std::uint32_t rounds = (ranks_ + kPeersAtOnce - 1) / kPeersAtOnce;
      while (per_peer > 1 && per_peer * rounds > plan_.p2p_channels) {
        per_peer /= 2;
      }
    }
    plan_.p2p_channels_per_peer = per_peer;
  }

  [[nodiscard]] std::uint32_t net_channels(std::uint32_t channels) const {
    if (settings_.channels_per_net_peer > 0) {
      return settings_.channels_per_net_peer;
    }
    if (settings_.version < nccl_version(2, 19, 0)) {
      return 2;
    }
    if (settings_.version < nccl_version(2, 28, 0)) {
      std::uint32_t most = 2;
      while (most > 1 && most * ranks_ > 4 * channels) {
        most /= 2;
      }
      return std::max(local_nics_, most);
    }
    const auto by_rate = static_cast<std::uint32_t>(std::ceil(net_gb_per_s_ / kNetPerChannelGbPerS));
    return std::max({2U, local_nics_, by_rate});
  }

  const NodeShape& shape_;
  const std::vector<std::vector<std::uint32_t>>& nodes_;
  const ChannelSettings& settings_;
  bool several_;
  std::uint32_t ranks_ = 0;
  std::uint32_t least_members_ = 0;
  std::vector<std::uint32_t> first_;  // by node: number of its first member
  std::map<std::vector<std::uint32_t>, NodeGraphs> found_;
  std::vector<std::uint32_t> repeats_;
  std::uint32_t per_peer_ = kMost;
  std::uint32_t local_nics_ = kMost;
  double net_gb_per_s_ = 1e9;
  ChannelPlan plan_;
};

struct Known {
  std::string_view prefix;
  std::uint32_t generation;
};
// Longest prefix first where one name begins another.
constexpr Known kGenerations[] = {
    {"GB300", 103}, {"GB200", 100}, {"B300", 103},   {"B200", 100},    {"GH200", 90}, {"H100", 90},
    {"H200", 90},   {"H800", 90},   {"H20", 90},     {"A100", 80},     {"A800", 80},  {"V100", 70},
    {"P100", 60},   {"L40", 89},    {"RTX4090", 89}, {"RTX 4090", 89}, {"A10", 86},   {"RTX PRO 6000", 120}};

double gb_per_s_of(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bits_per_second()) / 8e9;
}

/// Runs `work` on a stack of its own: an attempt calls itself for every GPU of every channel, thousands deep
/// in a large NVLink domain.
void on_deep_stack(const std::function<void()>& work) {
  struct Call {
    const std::function<void()>& work;
    std::exception_ptr failure;
  };
  constexpr std::size_t kStackBytes = std::size_t{256} << 20U;  // reserved, not used unless needed
  Call call{work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    auto& given = *static_cast<Call*>(argument);
    try {
      given.work();
    } catch (...) {
      given.failure = std::current_exception();
    }
    return nullptr;
  };
  const bool made = pthread_attr_init(&attributes) == 0 &&
                    pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                    pthread_create(&thread, &attributes, run, &call) == 0;
  if (made) {
    pthread_join(thread, nullptr);
  } else {
    work();  // no room for another stack: the usual one is enough for hosts of 8
  }
  if (call.failure) {
    std::rethrow_exception(call.failure);
  }
}

}  // namespace

std::string_view name_of(PathType type) {
  static constexpr std::string_view kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                                "PXB", "PXN", "PHB", "SYS", "DIS"};
  return kNames[static_cast<std::size_t>(type)];
}

double nvlink_gb_per_s(std::uint32_t generation, std::uint32_t version) {
  if (generation >= 100) {
    return version < nccl_version(2, 28, 0) ? 40.0 : 40.1;
  }
  if (generation >= 90) {
    return version < nccl_version(2, 20, 0) ? 20.0 : 20.6;
  }
  if (generation >= 86) {
    return 12;
  }
  return generation >= 70 ? 20 : 18;
}

std::optional<std::uint32_t> generation_of(std::string_view accelerator) {
  for (const Known& known : kGenerations) {
    if (accelerator.starts_with(known.prefix)) {
      return known.generation;
    }
  }
  return std::nullopt;
}

NodeShape shape_of(const topology::Cluster& cluster) {
  const hardware::HostKind& kind = cluster.host;
  NodeShape shape;
  const double nvlink = gb_per_s_of(kind.nvlink_bandwidth);
  // A name that is not known: by what its NVLink can do.
  const std::uint32_t given = kind.accelerator.compute_capability;
  shape.generation = given > 0 ? given
                               : generation_of(kind.accelerator.name)
                                     .value_or(nvlink >= 900   ? 100
                                               : nvlink >= 450 ? 90
                                               : nvlink > 0    ? 80
                                                               : 89);
  const bool grace = kind.cpu == hardware::Cpu::kArm;
  shape.cpu = kind.cpu;
  // Nameplate of a slot to NCCL's number: 12 of a x16 of generation 3, twice as much with each.
  const double slot = gb_per_s_of(kind.pcie_bandwidth);
  const double generations = slot > 0 ? std::round(std::log2(slot / 15.75)) : 0;
  const double pcie = 12 * std::exp2(std::max(0.0, generations));
  const std::uint32_t numa_gpus = grace ? 2 : std::max(1U, (kind.gpus + 1) / 2);
  for (std::uint32_t g = 0; g < kind.gpus; ++g) {
    const std::uint32_t leaf = g / std::max(1U, kind.gpus_per_pcie_switch);
    shape.gpus.push_back(
        {.place = {.numa = g / numa_gpus, .root = leaf, .leaf = leaf}, .pcie_gb_per_s = pcie});
  }
  for (std::uint32_t n = 0; n < kind.nics; ++n) {
    const auto gpu = static_cast<std::uint32_t>(std::uint64_t{n} * kind.gpus / kind.nics);
    shape.nics.push_back({.place = shape.gpus[gpu].place,
                          .gb_per_s = gb_per_s_of(kind.nic_bandwidth),
                          .pcie_gb_per_s = pcie,
                          .reduces = cluster.sharp.has_value()});
  }
  // Nameplate of a link: 25 GB/s from Volta to Hopper, 50 from Blackwell.
  const double plate = shape.generation >= 100 ? 50 : shape.generation >= 70 ? 25 : 20;
  const auto links = static_cast<std::uint32_t>(std::lround(nvlink / plate));
  if (kind.nvswitches > 0) {
    shape.nvlinks = links;
  } else if (links > 0 && kind.gpus > 1) {
    shape.direct_links.assign(kind.gpus, std::vector<std::uint32_t>(kind.gpus, links / (kind.gpus - 1)));
    for (std::uint32_t g = 0; g < kind.gpus; ++g) {
      shape.direct_links[g][g] = 0;
    }
  }
  return shape;
}

ChannelPlan search_channels(const NodeShape& shape,
                            const std::vector<std::vector<std::uint32_t>>& nodes,
                            const ChannelSettings& settings) {
  STEPCAST_CHECK(!nodes.empty(), "a group on no node");
  ChannelPlan plan;
  on_deep_stack([&] { plan = Planner(shape, nodes, settings).plan(); });
  return plan;
}

}  // namespace stepcast::collective::nccl
