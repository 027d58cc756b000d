#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "topology/cluster.hpp"

namespace stepcast::collective::nccl {

/// How near two devices are, nearest first. The order is what "no worse than" means in the search.
enum class PathType : std::uint8_t {
  kLoc,  ///< the same device
  kNvl,  ///< NVLink
  kNvb,  ///< NVLink over one other GPU
  kC2c,  ///< coherent link between processor and GPU
  kPix,  ///< one PCIe switch
  kPxb,  ///< several PCIe switches, not the processor
  kPxn,  ///< to a NIC over the GPU beside it
  kPhb,  ///< over the processor
  kSys,  ///< over the link between processors
  kDis,  ///< not connected
};
/// "PIX": the word that NCCL and nvidia-smi print.
[[nodiscard]] std::string_view name_of(PathType type);

using CpuKind = hardware::Cpu;

/// Where a device sits: devices on the same leaf are PIX to each other, under the same root PXB, on the same
/// processor PHB, else SYS. Numbers are free names within the node.
struct PciePlace {
  std::uint32_t numa = 0;
  std::uint32_t root = 0;
  std::uint32_t leaf = 0;
};

struct GpuShape {
  PciePlace place;
  double pcie_gb_per_s = 48;  ///< one direction, nominal: 12 a x16 slot of generation 3, doubling with each
};

struct NicShape {
  PciePlace place;
  double gb_per_s = 50;  ///< port speed, one direction
  double pcie_gb_per_s = 48;
  double latency_us = 0;
  bool reduces = false;  ///< can take part in CollNet
};

/// One NVLink domain as NCCL sees it. Bandwidths are nominal, one direction, in GB/s = 1e9 bytes/s.
struct NodeShape {
  std::uint32_t generation = 90;  ///< compute capability x 10: 60 .. 120
  std::vector<GpuShape> gpus;     ///< in the order of their bus numbers
  std::vector<NicShape> nics;     ///< in NCCL's order of devices
  std::uint32_t nvlinks = 0;      ///< links of a GPU into the switches; 0 without NVSwitch
  /// Links between two GPUs without a switch, [gpu][gpu]; empty when there are none.
  std::vector<std::vector<std::uint32_t>> direct_links;
  bool multicast = true;  ///< NVSwitch and driver can do NVLS (looked at from generation 90)
  CpuKind cpu = CpuKind::kIntel;
  double cpu_link_gb_per_s = 0;  ///< between processors; 0 = what NCCL takes for this kind of processor
};

/// Version as one number, as NCCL has it: 2.18.5 is 21805.
[[nodiscard]] constexpr std::uint32_t nccl_version(std::uint32_t major,
                                                   std::uint32_t minor,
                                                   std::uint32_t patch) {
  return 10000 * major + 100 * minor + patch;
}

/// Variables that change channels. Zero or empty: not set.
struct ChannelSettings {
  std::uint32_t version = nccl_version(2, 27, 0);
  std::uint32_t min_channels = 0;  ///< NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS
  std::uint32_t max_channels = 0;  ///< NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS
  std::uint32_t min_p2p_channels = 0;
  std::uint32_t max_p2p_channels = 0;
  std::uint32_t channels_per_net_peer = 0;
  std::uint32_t nvls_channels = 0;  ///< NCCL_NVLS_NCHANNELS
  std::uint32_t cross_nic = 2;      ///< NCCL_CROSS_NIC: 0 stay on the rail, 1 cross, 2 cross if it helps
  bool nvls = true;                 ///< NCCL_NVLS_ENABLE
  bool collnet = false;             ///< NCCL_COLLNET_ENABLE, with a plugin that reduces
  bool pxn = true;                  ///< not NCCL_PXN_DISABLE
};

enum class Pattern : std::uint8_t { kRing, kTree, kBalancedTree, kNvls, kCollnetDirect };

/// What the search finds for one algorithm.
struct ChannelGraph {
  std::uint32_t channels = 0;           ///< of the graph: before every channel is doubled; 0 = none found
  std::uint32_t channels_searched = 0;  ///< before channels were split ("dup"); the selection uses `channels`
  double intra_gb_per_s = 0;            ///< a channel inside the node
  double inter_gb_per_s = 0;            ///< a channel between nodes
  double latency_inter_us = 0;          ///< of the NIC
  PathType type_intra = PathType::kLoc;
  PathType type_inter = PathType::kLoc;
  std::uint32_t cross_nic = 0;       ///< 0 in and out by one NIC, 1 any, 2 pairs of channels exchange NICs
  bool same_channels = false;        ///< all channels visit the GPUs in one order
  Pattern pattern = Pattern::kRing;  ///< a tree may have fallen back from balanced to plain
  std::uint32_t hops = 0;

  // By channel, of the first node: GPUs (indices among its members) in order, the NIC in and the NIC out.
  // NVLS and CollNet direct: the head alone.
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<std::uint32_t> nics_in;  ///< empty on one node
  std::vector<std::uint32_t> nics_out;
};

struct ChannelPlan {
  ChannelGraph ring;
  ChannelGraph tree;
  ChannelGraph nvls;
  ChannelGraph collnet_chain;
  ChannelGraph collnet_direct;
  std::uint32_t collective_channels = 0;  ///< the four counts that NCCL prints
  std::uint32_t nvls_channels = 0;
  std::uint32_t p2p_channels = 0;
  std::uint32_t p2p_channels_per_peer = 0;
  /// By collective channel, over all members; a member's number is its place in the concatenated lists.
  std::vector<std::vector<std::uint32_t>> rings;
};

/// The node of a cluster, with NCCL's nominal speeds; every host of a cluster is alike. PCIe places and
/// processors follow the host kind (two processors a host of 8 GPUs; GB200: one for two GPUs).
/// Source of the nominal speeds: README.md.
[[nodiscard]] NodeShape shape_of(const topology::Cluster& cluster);

/// Compute capability x 10 of an accelerator by its name ("H100", "A100-80GB"); none for a name not known.
[[nodiscard]] std::optional<std::uint32_t> generation_of(std::string_view accelerator);

/// Channels of a group with members on `nodes.size()` nodes of one shape. `nodes[n]`: local indices of the
/// members on node n, in the order in which NCCL numbers them there (ascending).
/// REQUIRES: at least one node, every node with a member, indices below the number of GPUs, no index twice.
[[nodiscard]] ChannelPlan search_channels(const NodeShape& shape,
                                          const std::vector<std::vector<std::uint32_t>>& nodes,
                                          const ChannelSettings& settings);

/// Nominal GB/s of one NVLink, by generation and NCCL version (18, 20, 20.6, 40.1, ...).
[[nodiscard]] double nvlink_gb_per_s(std::uint32_t generation, std::uint32_t version);

}  // namespace stepcast::collective::nccl
