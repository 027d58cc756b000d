#pragma once

#include <string>

#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "topology/cluster.hpp"

namespace stepcast::test {

/// Two hosts of eight GPUs with round numbers, so that times can be derived by hand:
/// NVLink 100 GB/s, NIC 25 GB/s; a collective or message costs launch 1 us, 2 us per NVLink hop,
/// 5 us per network hop, then bytes / rate (overlap exponent 1, no last-step term: plain sums).
/// Rings in protocol Simple, whatever NCCL would choose. One leaf, network links of 1 us, PCIe without
/// latency, storage of 10 GB/s at the leaf.
inline std::string clean_cluster_text(const std::string& faults = "[]") {
  return R"({
    "name": "clean", "hosts": 2,
    "host": {"base": "dgx-a100-80g",
      "nvswitches": 1, "nvlink_bandwidth": "100 GB/s", "nvlink_effective": "100 GB/s", "nvlink_latency": "100 ns",
      "pcie_bandwidth": "50 GB/s", "pcie_latency": "0 ns",
      "nic_bandwidth": "200 Gb/s", "nic_effective": "200 Gb/s", "nic_latency": "1 us",
      "collective": {"launch": "1 us", "hop_ll": "2 us", "hop_ll128": "2 us", "hop_simple": "2 us",
        "net_hop_ll": "5 us", "net_hop_ll128": "5 us", "net_hop_simple": "5 us",
        "efficiency_ll": 0.5, "efficiency_ll128": 0.5, "last_step_share": 0, "overlap_exponent": 1,
        "exchange_hops": 0}},
    "fabric": {"kind": "fat_tree", "hosts_per_leaf": 2},
    "storage": {"name": "store", "read": "10 GB/s", "write": "10 GB/s",
      "attach": {"links": 1, "bandwidth": "400 Gb/s", "latency": "1 us"}},
    "nccl": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"},
    "faults": )" +
         faults + "}";
}

inline topology::Cluster clean_cluster(const std::string& faults = "[]") {
  config::Diagnostics diagnostics;
  const config::Document document =
      config::Document::parse(clean_cluster_text(faults), "clean.json", diagnostics);
  return topology::read_cluster(document, hardware::Catalog::shipped(), diagnostics);
}

}  // namespace stepcast::test
