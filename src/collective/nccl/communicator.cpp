#include "collective/nccl/communicator.hpp"

#include <algorithm>

namespace stepcast::collective::nccl {

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
  if (host.accelerator.compute_capability > 0) {
    made.compute_capability = host.accelerator.compute_capability;
  }
  made.cpu = host.cpu;
  made.nvlink = host.nvlink_bandwidth > Bandwidth();
  made.nvswitch = host.nvswitches > 0;
  made.multicast = made.nvswitch && host.collective.efficiency_nvls > 0;
  made.sharp = settings.collnet.value_or(cluster.sharp.has_value());
  const std::uint32_t per_node = static_cast<std::uint32_t>(nodes[0].size());
  const bool a100 = made.compute_capability < 90;
  const bool b200 = made.compute_capability >= 100;
  if (made.nodes == 1) {
    made.ring = made.tree = a100 ? Speeds{12, 20, 20} : b200 ? Speeds{16, 45, 45} : Speeds{12, 30, 30};
    made.nvls = {per_node, b200 ? 90.0 : 50.0, 0};
  } else {
    const double nic = a100 ? 24 : 48;
    made.ring = {std::max(1U, per_node * host.nics / host.gpus), nic, nic};
    made.tree = made.ring;
    made.tree.intra = std::min(2 * nic, a100 ? 24.0 : 60.0);
    made.nvls = {made.ring.channels, b200 ? 90.0 : 50.0, nic};
  }
  made.nvls_heads = made.nvls.channels;
  made.connected_channels = 2 * made.ring.channels;
  return made;
}

}  // namespace stepcast::collective::nccl
