#pragma once

#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {

/// A server of 4 or 8 GPUs on two processors, one NIC beside each GPU on a PCIe switch of its own.
inline NodeShape server(std::uint32_t generation,
                        std::uint32_t gpus,
                        std::uint32_t links,
                        bool nvswitch,
                        double nic_gb_per_s,
                        double pcie_gb_per_s) {
  NodeShape shape;
  shape.generation = generation;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    const PciePlace place{.numa = gpus > 1 ? g / ((gpus + 1) / 2) : 0, .root = g, .leaf = g};
    shape.gpus.push_back({.place = place, .pcie_gb_per_s = pcie_gb_per_s});
    shape.nics.push_back({.place = place, .gb_per_s = nic_gb_per_s, .pcie_gb_per_s = pcie_gb_per_s});
  }
  if (nvswitch) {
    shape.nvlinks = links;
  } else {
    shape.multicast = false;
    shape.direct_links.assign(gpus, std::vector<std::uint32_t>(gpus, links));
    for (std::uint32_t g = 0; g < gpus; ++g) {
      shape.direct_links[g][g] = 0;
    }
  }
  return shape;
}

/// All GPUs of `nodes` nodes of this shape.
inline std::vector<std::vector<std::uint32_t>> everyone(const NodeShape& shape, std::uint32_t nodes) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t g = 0; g < shape.gpus.size(); ++g) {
    members.push_back(g);
  }
  return std::vector<std::vector<std::uint32_t>>(nodes, members);
}

}  // namespace stepcast::collective::nccl
