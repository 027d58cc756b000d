#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"
#include "topology/builder.hpp"
#include "topology/fabric.hpp"

namespace stepcast::topology {
namespace {

// Path lengths: inside a host a path over NVLink (two links) beats any over PCIe.
constexpr std::uint16_t kNvlinkCost = 1;
constexpr std::uint16_t kPcieCost = 10;

// Rates beyond this (absurd factors in a file) are cut, so that arithmetic stays in range.
constexpr std::int64_t kMostBits = 4'000'000'000'000'000'000;

std::uint32_t pcie_switches(const hardware::HostKind& kind) {
  return (kind.gpus + kind.gpus_per_pcie_switch - 1) / kind.gpus_per_pcie_switch;
}

/// True when a GPU uses a NIC that sits on another PCIe switch: several switches share one NIC.
bool shares_nics_across_switches(const hardware::HostKind& kind) {
  for (std::uint32_t gpu = 0; gpu < kind.gpus && kind.nics > 0 && kind.nics < kind.gpus; ++gpu) {
    const std::uint32_t first_user = gpu - gpu % (kind.gpus / kind.nics);  // its NIC sits beside that GPU
    if (gpu / kind.gpus_per_pcie_switch != first_user / kind.gpus_per_pcie_switch) {
      return true;
    }
  }
  return false;
}

/// A host needs a way between its PCIe switches (the processors) when its GPUs have no NVLink, or when
/// some reach their NIC only over another switch.
bool has_pcie_root(const hardware::HostKind& kind) {
  return pcie_switches(kind) > 1 &&
         (kind.nvlink_bandwidth == Bandwidth() || shares_nics_across_switches(kind));
}

std::uint32_t first_nic(const hardware::HostKind& kind) {
  return kind.gpus + kind.nvswitches + pcie_switches(kind) + (has_pcie_root(kind) ? 1 : 0);
}

Bandwidth share(Bandwidth whole, std::uint32_t parts) {
  return Bandwidth::from_bits_per_second(whole.bits_per_second() / parts);
}

/// NVLink: over switches, or a full mesh when there are none.
void add_nvlink(const hardware::HostKind& kind, NodeId first, Topology::Draft& draft) {
  if (kind.nvlink_bandwidth == Bandwidth() || kind.gpus < 2) {
    return;
  }
  const std::uint32_t ways = kind.nvswitches > 0 ? kind.nvswitches : kind.gpus - 1;
  const Link like{.capacity = share(kind.nvlink_bandwidth, ways),
                  .effective = share(kind.nvlink_effective, ways),
                  .latency = kind.nvlink_latency,
                  .tier = draft.tier("NVLink"),
                  .cost = kNvlinkCost};
  for (std::uint32_t gpu = 0; gpu < kind.gpus; ++gpu) {
    if (kind.nvswitches == 0) {
      for (std::uint32_t peer = gpu + 1; peer < kind.gpus; ++peer) {
        draft.add_cable(NodeId(first.index() + gpu), NodeId(first.index() + peer), like);
      }
    }
    for (std::uint32_t nvswitch = 0; nvswitch < kind.nvswitches; ++nvswitch) {
      draft.add_cable(NodeId(first.index() + gpu), NodeId(first.index() + kind.gpus + nvswitch), like);
    }
  }
}

void add_pcie(const hardware::HostKind& kind, std::uint32_t host, NodeId first, Topology::Draft& draft) {
  const Link like{.capacity = kind.pcie_bandwidth,
                  .effective = kind.pcie_bandwidth,
                  .latency = kind.pcie_latency,
                  .tier = draft.tier("PCIe"),
                  .cost = kPcieCost};
  const std::uint32_t first_switch = first.index() + kind.gpus + kind.nvswitches;
  for (std::uint32_t gpu = 0; gpu < kind.gpus; ++gpu) {
    draft.add_cable(NodeId(first.index() + gpu), NodeId(first_switch + gpu / kind.gpus_per_pcie_switch),
                    like);
  }
  if (has_pcie_root(kind)) {
    for (std::uint32_t i = 0; i < pcie_switches(kind); ++i) {
      draft.add_cable(NodeId(first_switch + i), NodeId(first_switch + pcie_switches(kind)), like);
    }
  }
  for (std::uint32_t nic = 0; nic < kind.nics; ++nic) {
    // NIC n sits beside the first GPU that uses it.
    const auto gpu = static_cast<std::uint32_t>(std::uint64_t{nic} * kind.gpus / kind.nics);
    draft.add_cable(nic_node(kind, host, nic), NodeId(first_switch + gpu / kind.gpus_per_pcie_switch), like);
  }
}

void add_host(const hardware::HostKind& kind, std::uint32_t host, Topology::Draft& draft) {
  const NodeId first(draft.nodes.size());
  const auto add = [&](NodeKind node_kind, std::uint32_t count, const char* word) {
    for (std::uint32_t i = 0; i < count; ++i) {
      draft.add_node(
          {.kind = node_kind, .host = host, .index = i, .name = fmt::format("h{}.{}{}", host, word, i)});
    }
  };
  add(NodeKind::kGpu, kind.gpus, "gpu");
  add(NodeKind::kNvSwitch, kind.nvswitches, "nvs");
  add(NodeKind::kPcieSwitch, pcie_switches(kind) + (has_pcie_root(kind) ? 1 : 0), "pcie");
  add(NodeKind::kNic, kind.nics, "nic");
  add_nvlink(kind, first, draft);
  add_pcie(kind, host, first, draft);
  for (std::uint32_t gpu = 0; gpu < kind.gpus; ++gpu) {
    std::vector<NodeId>& nics = draft.gpu_nics.emplace_back();
    const std::uint32_t uses = kind.nics == 0 ? 0 : std::max(1U, kind.nics / kind.gpus);
    for (std::uint32_t i = 0; i < uses; ++i) {
      nics.push_back(
          nic_node(kind, host, static_cast<std::uint32_t>(std::uint64_t{gpu} * kind.nics / kind.gpus) + i));
    }
  }
}

}  // namespace

NodeId nic_node(const hardware::HostKind& kind, std::uint32_t host, std::uint32_t nic) {
  return NodeId(host * (first_nic(kind) + kind.nics) + first_nic(kind) + nic);
}

void add_hosts(const hardware::HostKind& kind, std::uint32_t hosts, Topology::Draft& draft) {
  STEPCAST_CHECK(draft.nodes.empty(), "hosts come first in the node order");
  const std::uint64_t nodes = std::uint64_t{hosts} * (first_nic(kind) + kind.nics);
  STEPCAST_CHECK(nodes < std::numeric_limits<std::uint32_t>::max() / 4, "{} nodes", nodes);
  draft.nodes.reserve(nodes + nodes / 16);
  // And one cable a NIC, and about two more above it.
  draft.links.reserve(2 * hosts * (cables_per_host(kind) + kind.nics * std::uint64_t{3}));
  draft.gpu_nics.reserve(std::uint64_t{hosts} * kind.gpus);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    add_host(kind, host, draft);
  }
}

std::uint64_t cables_per_host(const hardware::HostKind& kind) {
  const std::uint64_t gpus = kind.gpus;
  std::uint64_t nvlink = gpus * kind.nvswitches;
  if (kind.nvswitches == 0 && kind.nvlink_bandwidth > Bandwidth()) {
    nvlink = gpus * (gpus - 1) / 2;
  }
  return nvlink + gpus + kind.nics + (has_pcie_root(kind) ? pcie_switches(kind) : 0);
}

bool check_size(const config::Node& where, std::uint64_t cables) {
  if (cables <= kMostCables) {
    return true;
  }
  where.error(fmt::format("a fabric of {} cables", cables), fmt::format("the most is {}", kMostCables));
  return false;
}

Duration read_link_latency(const config::Node& node) {
  constexpr Duration kLongest = Duration::from_ps(1'000'000'000'000);
  const Duration latency = node.duration();
  if (latency > kLongest) {
    node.error("a link latency above 1 s", "give the time of one crossing, such as \"500 ns\"");
    return {};
  }
  return latency;
}

void attach_nic(const BuildContext& context,
                std::uint32_t host,
                std::uint32_t nic,
                NodeId leaf,
                std::uint32_t route_key,
                Topology::Draft& draft) {
  const hardware::HostKind& kind = context.host;
  const NodeId node = nic_node(kind, host, nic);
  draft.add_cable(node, leaf,
                  {.capacity = kind.nic_bandwidth,
                   .effective = kind.nic_effective,
                   .latency = kind.nic_latency,
                   .tier = draft.tier("NIC")});
  draft.nodes[node.index()].route_key = route_key;
  for (std::uint32_t gpu = host * kind.gpus; gpu < (host + 1) * kind.gpus; ++gpu) {
    if (draft.gpu_nics[gpu].front() == node) {
      const std::uint32_t gpu_node = node.index() - first_nic(kind) - nic + gpu % kind.gpus;
      draft.nodes[gpu_node].route_key = route_key;
    }
  }
}

Link switch_link(const hardware::HostKind& kind, Bandwidth capacity, Duration latency, std::uint16_t tier) {
  const Int128 scaled = Int128{capacity.bits_per_second()} * kind.nic_effective.bits_per_second();
  const auto effective = static_cast<std::int64_t>(scaled / kind.nic_bandwidth.bits_per_second());
  return {.capacity = capacity,
          .effective = Bandwidth::from_bits_per_second(effective),
          .latency = latency,
          .tier = tier};
}

Bandwidth times(std::int64_t ports, Bandwidth rate) {
  const Int128 product = Int128{ports} * rate.bits_per_second();
  return Bandwidth::from_bits_per_second(product < kMostBits ? static_cast<std::int64_t>(product)
                                                             : kMostBits);
}

Uplinks plan_uplinks(Bandwidth down, double ratio, Bandwidth rate, std::uint32_t above) {
  const double up = static_cast<double>(down.bits_per_second()) / ratio;
  const auto port = static_cast<double>(rate.bits_per_second());
  Uplinks plan;
  // A hair below a whole number of ports is that number: the ratio came as decimal text.
  constexpr double kMostPorts = 1e9;  // more than check_size lets pass
  const auto ports = static_cast<std::uint32_t>(std::clamp(std::ceil(up / port - 1e-9), 1.0, kMostPorts));
  plan.switches = above == 0 ? ports : above;
  plan.parallel = (ports + plan.switches - 1) / plan.switches;
  plan.count = plan.parallel * plan.switches;
  plan.capacity = Bandwidth::from_bits_per_second(
      std::llround(std::min(up / plan.count, static_cast<double>(kMostBits))));
  plan.exact = plan.capacity == rate;
  return plan;
}

void note_rounding(const Uplinks& plan, Bandwidth rate, std::string_view which, Topology::Draft& draft) {
  if (!plan.exact) {
    draft.notes.push_back(
        fmt::format("{}: {} up-links of {:.6g} Gb/s instead of {:.6g} Gb/s, so that the "
                    "oversubscription is exact",
                    which, plan.count, static_cast<double>(plan.capacity.bits_per_second()) * 1e-9,
                    static_cast<double>(rate.bits_per_second()) * 1e-9));
  }
}

}  // namespace stepcast::topology
