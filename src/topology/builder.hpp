#pragma once

#include <span>
#include <string_view>

#include "config/node.hpp"
#include "config/option.hpp"
#include "hardware/catalog.hpp"
#include "topology/topology.hpp"

namespace stepcast::topology {

/// What a builder is given: hosts are already in the draft (see add_hosts) unless `makes_hosts`.
struct BuildContext {
  const hardware::HostKind& host;
  std::uint32_t hosts = 0;
  const config::Node& fabric;  ///< the `fabric` object of the cluster file
};

/// A fabric builder: one leaf in builders/, one line in builders.def.
struct Builder {
  std::string_view name;
  std::string_view summary;
  std::span<const config::Option> options;
  /// Adds switches and links to `draft`. Records input errors at `context.fabric`.
  void (*build)(const BuildContext& context, Topology::Draft& draft);
};

/// Adds `hosts` hosts of a kind: GPUs, NVSwitches, PCIe switches, NICs and the links between them.
/// Node order: host by host, GPUs first. GpuId = host * gpus + index.
void add_hosts(const hardware::HostKind& kind, std::uint32_t hosts, Topology::Draft& draft);

/// All builders, in the order of builders.def.
[[nodiscard]] std::span<const Builder> builders();

}  // namespace stepcast::topology
