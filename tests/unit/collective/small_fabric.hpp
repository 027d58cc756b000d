#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "collective/collective.hpp"
#include "routing/router.hpp"
#include "support/catch.hpp"
#include "topology/builder.hpp"
#include "topology/cluster.hpp"

namespace stepcast::collective::test {

/// A host of round numbers: NVLink 80 GB/s behind one switch, one 10 GB/s NIC per GPU, PCIe 40 GB/s,
/// no physical latency. Protocols: launch 5 us; hops of 1, 2, 10 us on NVLink and 3, 4, 20 us over the
/// network; useful share 0.5 and 0.8; plain sum of latency and transfer (p = 1), no exposed last step.
inline hardware::HostKind round_host(std::uint32_t gpus) {
  using namespace literals;
  hardware::HostKind host;
  host.name = "round";
  host.gpus = gpus;
  host.nvswitches = 1;
  host.nvlink_bandwidth = 100_GBps;
  host.nvlink_effective = 80_GBps;
  host.gpus_per_pcie_switch = 1;
  host.pcie_bandwidth = 40_GBps;
  host.nics = gpus;
  host.nic_bandwidth = 12_GBps;
  host.nic_effective = 10_GBps;
  hardware::CollectiveConstants& constants = host.collective;
  constants.launch = 5_us;
  constants.hop_ll = 1_us;
  constants.hop_ll128 = 2_us;
  constants.hop_simple = 10_us;
  constants.net_hop_ll = 3_us;
  constants.net_hop_ll128 = 4_us;
  constants.net_hop_simple = 20_us;
  constants.efficiency_ll = 0.5;
  constants.efficiency_ll128 = 0.8;
  constants.last_step_share = 0;
  constants.overlap_exponent = 1;
  constants.ll_channel_bytes = 0;
  constants.channels = 8;
  return host;
}

/// Every latency zero: only bytes take time.
inline hardware::HostKind without_latency(hardware::HostKind host) {
  hardware::CollectiveConstants& constants = host.collective;
  for (Duration* latency : {&constants.launch, &constants.hop_ll, &constants.hop_ll128, &constants.hop_simple,
                            &constants.net_hop_ll, &constants.net_hop_ll128, &constants.net_hop_simple}) {
    *latency = Duration{};
  }
  return host;
}

inline NodeId node_named(const topology::Topology::Draft& draft, std::string_view name) {
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    if (draft.nodes[i].name == name) {
      return NodeId(i);
    }
  }
  FAIL("no node " << name);
  return {};
}

/// Hosts of a kind, all NICs on one switch "leaf", and a storage of 6 GB/s read, 4 GB/s write on it.
inline topology::Cluster one_leaf(const hardware::HostKind& host, std::uint32_t hosts) {
  using namespace literals;
  topology::Topology::Draft draft;
  topology::add_hosts(host, hosts, draft);
  const NodeId leaf = draft.add_node({.kind = topology::NodeKind::kSwitch, .name = "leaf"});
  const NodeId store = draft.add_node({.kind = topology::NodeKind::kStorage, .name = "store"});
  const topology::Link cable{.capacity = host.nic_bandwidth,
                             .effective = host.nic_effective,
                             .latency = host.nic_latency,
                             .tier = draft.tier("NIC")};
  for (std::uint32_t h = 0; h < hosts; ++h) {
    for (std::uint32_t nic = 0; nic < host.nics; ++nic) {
      draft.add_cable(node_named(draft, fmt::format("h{}.nic{}", h, nic)), leaf, cable);
    }
  }
  topology::Link wide = cable;
  wide.capacity = 100_GBps;
  wide.effective = 100_GBps;
  draft.add_cable(leaf, store, wide);
  return {.name = "test",
          .description = "",
          .host = host,
          .hosts = hosts,
          .topology = topology::Topology::build(std::move(draft)),
          .storage = {{.name = "store", .node = store, .read = 6_GBps, .write = 4_GBps}},
          .faults = {}};
}

inline std::vector<GpuId> first_gpus(std::uint32_t count) {
  std::vector<GpuId> gpus;
  for (std::uint32_t i = 0; i < count; ++i) {
    gpus.emplace_back(i);
  }
  return gpus;
}

/// Bytes per unit of progress that the demands put on the links from one node to another.
inline double load_between(const routing::Router& router,
                           const std::vector<network::Demand>& demands,
                           std::uint32_t divisor,
                           std::string_view from,
                           std::string_view to) {
  const topology::Topology& topology = router.topology();
  double load = 0;
  for (const network::Demand& demand : demands) {
    for (const LinkId link : router.resources()[demand.resource.index()].links) {
      if (topology.node(topology.link(link).from).name == from &&
          topology.node(topology.link(link).to).name == to) {
        load += static_cast<double>(demand.weight) / divisor;
      }
    }
  }
  return load;
}

/// Bytes that an activity moves over all resources.
inline double moved(const CoupledActivity& activity) {
  double weights = 0;
  for (const network::Demand& demand : activity.demands) {
    weights += demand.weight;
  }
  return weights / activity.divisor * static_cast<double>(activity.work);
}

}  // namespace stepcast::collective::test
