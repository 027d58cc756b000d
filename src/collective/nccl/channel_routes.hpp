#pragma once

#include <cstdint>
#include <vector>

#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {

/// A way between two devices: directed links, and how it is judged.
struct Route {
  PathType type = PathType::kDis;
  double width_gb_per_s = 0;         ///< of its narrowest link
  std::uint32_t hops = 0;            ///< 0 = to itself
  std::vector<std::uint32_t> links;  ///< indices into `Routes::capacity`
  std::vector<double> load;          ///< by link: load for one unit of flow (over 1 where PCIe is wasteful)
};

/// The members of one node with all ways between them and their NICs.
struct Routes {
  std::uint32_t gpus = 0;
  std::uint32_t nics = 0;  ///< 0 when the group has one node
  std::vector<double> capacity;
  std::vector<std::vector<Route>> gpu_to_gpu;
  std::vector<std::vector<Route>> nic_to_gpu;  ///< [nic][gpu]
  std::vector<std::vector<Route>>
      gpu_to_nic;                        ///< [gpu][nic], over the GPU beside the NIC where that is better
  std::vector<std::uint32_t> pcie_down;  ///< by GPU: links of its own slot
  std::vector<std::uint32_t> pcie_up;
  std::vector<std::uint32_t> nvlink_up;  ///< by GPU: into the switch; empty without NVSwitch
  std::vector<std::uint32_t> nvlink_down;
  std::vector<double> nic_free;                       ///< by NIC: port speed that channels may use
  std::vector<std::uint32_t> nic_gpu;                 ///< by NIC: the GPU that it serves first
  std::vector<std::vector<std::uint32_t>> near_nics;  ///< by GPU: its nearest NICs, its own first
  bool nvswitch = false;
  double widest_gb_per_s = 0;  ///< widest way that one channel can take
  double total_gb_per_s = 0;   ///< all that a GPU can send
};

/// Ways among `members` of a node; `inter`: the group has members on other nodes too.
[[nodiscard]] Routes build_routes(const NodeShape& shape,
                                  const std::vector<std::uint32_t>& members,
                                  bool inter,
                                  const ChannelSettings& settings);

}  // namespace stepcast::collective::nccl
