#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/dtype.hpp"
#include "base/units.hpp"
#include "collective/nccl/settings.hpp"
#include "hardware/catalog.hpp"

// NCCL's table of latencies and bandwidths, by which it chooses an algorithm and a protocol. It selects;
// how long a call takes is priced in ../price.hpp.
namespace stepcast::collective::nccl {

/// What NCCL's search found for one pattern: channels before they are doubled when rings are connected.
struct Speeds {
  std::uint32_t channels = 0;  ///< 0 = the pattern cannot be made
  double intra = 0;            ///< GB/s of a channel inside hosts
  double inter = 0;            ///< ... and between hosts
  double latency_us = 0;       ///< of the NIC
  bool nvlink = true;          ///< members of a host reach each other by NVLink, else by PCIe
  bool degraded = false;       ///< trees: a chain's middle does not stand at the NIC (pattern TREE)
};

/// A group as the table sees it.
struct Communicator {
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;                ///< NVLink domains
  std::uint32_t compute_capability = 80;  ///< 60 to 120
  hardware::Cpu cpu = hardware::Cpu::kIntel;
  bool nvlink = true;  ///< members of a node reach each other by NVLink, else by PCIe
  bool nvswitch = true;
  bool multicast = false;                ///< the NVLink switches add and copy
  bool sharp = false;                    ///< the switches between hosts add and copy
  bool identical_channels = false;       ///< all rings run the same way (broadcast, reduce)
  std::uint32_t connected_channels = 1;  ///< of rings, after doubling
  std::uint32_t usual_channels = 1;      ///< connected without the variables that limit them
  std::uint32_t channel_limit = 0;       ///< fewer than NCCL would have, by its variables; 0 = none
  std::uint32_t nvls_channels = 0;
  Speeds ring;
  Speeds tree;
  Speeds collnet_chain;
  Speeds collnet_direct;
  Speeds nvls;
};

/// One candidate. A bandwidth of 0: it cannot be used, for the reason.
struct Cost {
  double latency_us = 0;
  double bandwidth = 0;  ///< GB/s of nccl-tests' algbw
  std::string reason;
};

/// By Family and by protocol (LL, LL128, Simple).
using CostTable = std::array<std::array<Cost, 3>, kFamilies>;

/// The table of one kind among the five that NCCL has tables for. Source: NCCL's src/graph/tuning.cc, 2.18 to
/// 2.30, stated as facts in README.md.
[[nodiscard]] CostTable cost_table(Kind kind, const Communicator& communicator, const Settings& settings);

/// Microseconds that the table gives a call; infinite when the candidate cannot be used.
[[nodiscard]] double table_time_us(const CostTable& table,
                                   Family family,
                                   Protocol protocol,
                                   Kind kind,
                                   Bytes bytes,
                                   const Communicator& communicator,
                                   const Settings& settings);

/// Channels that a call of so many bytes is spread over: fewer for small calls.
[[nodiscard]] std::uint32_t active_channels(Family family,
                                            Protocol protocol,
                                            Bytes bytes,
                                            const Communicator& communicator);

}  // namespace stepcast::collective::nccl
