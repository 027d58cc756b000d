#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {

/// What a topology file may leave out: those of clouds list processors and PCIe alone, because NCCL adds the
/// rest on the machine.
struct TopologyDefaults {
  std::optional<std::uint32_t> generation = {};  ///< where no <gpu> has its "sm"
  std::uint32_t nvlinks = 0;                     ///< into switches, where no <gpu> is listed
  double nic_gb_per_s = 50;                      ///< where no <net> has its "speed"
};

/// The node that a topology file of NCCL describes (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE). `name` stands for
/// the file in messages. Throws InputError `NAME:LINE: problem; remedy`.
[[nodiscard]] NodeShape read_topology_xml(const std::string& text,
                                          const std::string& name,
                                          const TopologyDefaults& defaults = {});

}  // namespace stepcast::collective::nccl
