#include "collective/nccl/communicator.hpp"

#include <algorithm>
#include <map>

#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {
namespace {

/// Hosts that the search looks at: its speeds tell one, two, and more apart.
constexpr std::size_t kNodesSearched = 4;

Speeds speeds_of(const ChannelGraph& graph) {
  return {.channels = graph.channels,
          .intra = graph.intra_gb_per_s,
          .inter = graph.inter_gb_per_s,
          .latency_us = graph.latency_inter_us,
          .nvlink = graph.type_intra <= PathType::kNvb,
          .degraded = graph.pattern == Pattern::kTree};
}

/// One host of every kind, repeated up to as many as the search tells apart.
std::vector<std::vector<std::uint32_t>> representatives(
    const std::vector<std::vector<std::uint32_t>>& nodes) {
  std::vector<std::vector<std::uint32_t>> kinds;
  for (const std::vector<std::uint32_t>& node : nodes) {
    if (std::find(kinds.begin(), kinds.end(), node) == kinds.end()) {
      kinds.push_back(node);
    }
  }
  while (kinds.size() < std::min(nodes.size(), kNodesSearched)) {
    kinds.push_back(kinds.front());
  }
  return kinds;
}

ChannelSettings channel_settings(const Settings& settings) {
  ChannelSettings out;
  out.version = nccl_version(2, settings.version.minor, settings.version.patch);
  out.min_channels = settings.fewest_channels;
  out.max_channels = settings.most_channels;
  out.cross_nic = settings.cross_nic;
  out.nvls = settings.nvls.value_or(true);
  out.pxn = settings.pxn;
  return out;
}

}  // namespace

HostSymmetry::HostSymmetry(const topology::Cluster& cluster) {
  const NodeShape shape = shape_of(cluster);
  std::map<std::uint32_t, std::uint32_t> leaves;
  std::map<std::uint32_t, std::uint32_t> processors;
  std::map<std::uint32_t, std::uint32_t> nics;
  for (const GpuShape& gpu : shape.gpus) {
    ++leaves[gpu.place.leaf];
    ++processors[gpu.place.numa];
  }
  for (const NicShape& nic : shape.nics) {
    ++nics[nic.place.leaf];
  }
  const auto even = [](const auto& counts) {
    return std::all_of(counts.begin(), counts.end(),
                       [&](const auto& count) { return count.second == counts.begin()->second; });
  };
  if (even(leaves) && even(processors) && even(nics) && (nics.empty() || nics.size() == leaves.size()) &&
      shape.direct_links.empty() && processors.begin()->second % leaves.begin()->second == 0) {
    leaf_ = leaves.begin()->second;
    processor_ = processors.begin()->second;
  }
}

std::vector<std::uint32_t> HostSymmetry::canonical(std::vector<std::uint32_t> members) const {
  std::sort(members.begin(), members.end());
  if (leaf_ == 0) {
    return members;
  }
  // Within each leaf the first GPUs, within each processor the first leaves, then the first processors.
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t leaf = members[i] / leaf_;
    const bool first = i == 0 || members[i - 1] / leaf_ != leaf;
    members[i] = first ? leaf * leaf_ : members[i - 1] + 1;
  }
  std::uint32_t processor = 0;
  std::uint32_t leaves = 0;
  std::uint32_t last_leaf = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t own_processor = members[i] / processor_;
    const std::uint32_t own_leaf = members[i] / leaf_;
    if (i == 0 || own_processor != processor) {
      leaves = 0;
    } else if (own_leaf != last_leaf) {
      ++leaves;
    }
    processor = own_processor;
    last_leaf = own_leaf;
    members[i] = own_processor * processor_ + leaves * leaf_ + members[i] % leaf_;
  }
  std::uint32_t processors = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t own = members[i] / processor_;
    processors += i > 0 && own != processor ? 1 : 0;
    processor = own;
    members[i] = processors * processor_ + members[i] % processor_;
  }
  return members;
}

Communicator communicator_of(const topology::Cluster& cluster,
                             const Settings& settings,
                             const std::vector<std::vector<std::uint32_t>>& nodes) {
  const hardware::HostKind& host = cluster.host;
  Communicator made;
  made.ranks = 0;
  for (const auto& node : nodes) {
    made.ranks += static_cast<std::uint32_t>(node.size());
  }
  made.nodes = static_cast<std::uint32_t>(nodes.size());
  made.cpu = host.cpu;
  made.nvswitch = host.nvswitches > 0;
  made.sharp = settings.collnet.value_or(cluster.sharp.has_value()) && cluster.sharp.has_value();

  NodeShape shape = shape_of(cluster);
  shape.multicast = made.nvswitch && host.collective.efficiency_nvls > 0;
  ChannelSettings wanted = channel_settings(settings);
  wanted.collnet = made.sharp;
  const ChannelPlan plan = search_channels(shape, representatives(nodes), wanted);
  made.compute_capability = shape.generation;
  made.multicast = shape.multicast;
  made.identical_channels = plan.ring.same_channels;
  made.connected_channels = plan.collective_channels;
  made.usual_channels = made.connected_channels;
  if (settings.most_channels > 0) {
    ChannelSettings free = wanted;
    free.max_channels = 0;
    const std::uint32_t usual = search_channels(shape, representatives(nodes), free).collective_channels;
    made.usual_channels = usual;
    made.channel_limit = plan.collective_channels < usual ? plan.collective_channels : 0;
  }
  made.nvls_channels = plan.nvls_channels;
  made.ring = speeds_of(plan.ring);
  made.tree = speeds_of(plan.tree);
  made.nvls = speeds_of(plan.nvls);
  made.collnet_chain = speeds_of(plan.collnet_chain);
  made.collnet_direct = speeds_of(plan.collnet_direct);
  return made;
}

}  // namespace stepcast::collective::nccl
