// Rail-optimised leaf-spine fabric: NIC i of every host of a scale unit on the leaf of rail i.
//
// Scope:       DGX SuperPOD-like clusters of one or more scale units under one spine tier.
// Assumes:     every leaf is wired to every spine; a partly filled unit has the leaves of a full one.
// Not covered: a third tier; rail-only fabrics without spines (links).
// Source:      NVIDIA DGX SuperPOD reference architecture: compute fabric, rail-optimised.
// Validated by: tests/unit/topology/builders_test.cpp
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "topology/builder.hpp"
#include "topology/fabric.hpp"

namespace stepcast::topology {
namespace {

using config::Option;
using config::OptionType;

constexpr std::array kOptions = {
    Option{"hosts_per_unit", OptionType::kInteger, "", "", 1, 1e6, "hosts of one scale unit", ""},
    Option{"rails", OptionType::kInteger, "", "0", 0, 4096,
           "leaves of one unit; NIC i is on rail i mod rails; 0 = one per NIC of a host", ""},
    Option{"spines", OptionType::kInteger, "", "0", 0, 1e6, "spine switches; 0 = one per up-link of a leaf",
           ""},
    Option{"oversubscription", OptionType::kNumber, "", "1", 1e-3, 1e6,
           "capacity down : capacity up of a leaf of a full unit", ""},
    Option{"uplink_bandwidth", OptionType::kBandwidth, "", "0 b/s", 0, 1e15,
           "rate of a switch-to-switch port; 0 = the NIC's rate", ""},
    Option{"link_latency", OptionType::kDuration, "", kDefaultLinkLatency, 0, 1,
           "latency of a switch-to-switch link", kLinkLatencySource},
};

void add_spines(const BuildContext& context,
                const std::vector<NodeId>& leaves,
                const Uplinks& plan,
                Duration latency,
                Topology::Draft& draft) {
  std::vector<NodeId> spines;
  for (std::uint32_t s = 0; s < plan.switches; ++s) {
    spines.push_back(draft.add_node(
        {.kind = NodeKind::kSwitch, .tier = 1, .index = s, .name = fmt::format("spine{}", s)}));
  }
  const Link up = switch_link(context.host, plan.capacity, latency, draft.tier("leaf-spine"));
  for (const NodeId leaf : leaves) {
    for (const NodeId spine : spines) {
      for (std::uint32_t i = 0; i < plan.parallel; ++i) {
        draft.add_cable(leaf, spine, up);
      }
    }
  }
}

void build(const BuildContext& context, Topology::Draft& draft) {
  const config::OptionValues options(context.fabric, kOptions, {"kind"});
  if (!context.fabric.diagnostics().empty()) {
    return;
  }
  const hardware::HostKind& kind = context.host;
  if (kind.nics == 0) {
    context.fabric.error(fmt::format("host kind \"{}\" has no NICs", kind.name), "use a host kind with NICs");
    return;
  }
  const auto hosts_per_unit = static_cast<std::uint32_t>(options.integer("hosts_per_unit"));
  const auto asked = static_cast<std::uint32_t>(options.integer("rails"));
  const std::uint32_t rails = asked == 0 ? kind.nics : asked;
  if (kind.nics % rails != 0) {
    context.fabric.error(fmt::format("{} NICs of a host do not divide into {} rails", kind.nics, rails),
                         "give a number of rails that divides the NICs of a host");
    return;
  }
  const std::uint32_t nics_per_rail = kind.nics / rails;
  const std::uint32_t units = (context.hosts + hosts_per_unit - 1) / hosts_per_unit;

  std::vector<NodeId> leaves;
  for (std::uint32_t leaf = 0; leaf < units * rails; ++leaf) {
    leaves.push_back(
        draft.add_node({.kind = NodeKind::kSwitch, .index = leaf, .name = fmt::format("leaf{}", leaf)}));
  }
  for (std::uint32_t host = 0; host < context.hosts; ++host) {
    for (std::uint32_t nic = 0; nic < kind.nics; ++nic) {
      const NodeId leaf = leaves[host / hosts_per_unit * rails + nic % rails];
      attach_nic(context, host, nic, leaf, host * nics_per_rail + nic / rails, draft);
    }
  }
  if (leaves.size() == 1) {
    draft.notes.emplace_back("one leaf holds every NIC: no spine switches");
    return;
  }
  const Bandwidth given = options.bandwidth("uplink_bandwidth");
  const Bandwidth port = given == Bandwidth() ? kind.nic_bandwidth : given;
  const Uplinks plan = plan_uplinks(times(std::int64_t{hosts_per_unit} * nics_per_rail, kind.nic_bandwidth),
                                    options.number("oversubscription"), port,
                                    static_cast<std::uint32_t>(options.integer("spines")));
  if (check_size(context.fabric, leaves.size() * std::uint64_t{plan.count})) {
    add_spines(context, leaves, plan, options.duration("link_latency"), draft);
    note_rounding(plan, port, "leaf", draft);
  }
}

}  // namespace

Builder rail_optimized_builder() {
  return {"rail_optimized", "leaf-spine, NIC i of every host of a unit on the leaf of rail i", kOptions,
          &build};
}

}  // namespace stepcast::topology
