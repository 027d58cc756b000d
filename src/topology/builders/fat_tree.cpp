// Folded Clos of two or three tiers: all NICs of a host on one leaf switch.
//
// Scope:       leaf-spine fabrics, and pods of leaf-spine under a core tier, with any oversubscription.
// Assumes:     equal switches per tier; up-links spread evenly over the switches above; a partly filled
//              leaf or pod has the up-links of a full one.
// Not covered: hosts whose NICs go to different leaves (rail_optimized), irregular wiring (links).
// Source:      Leiserson, IEEE Trans. Comput. C-34(10), 1985; pods and oversubscription as in The Llama 3
//              Herd of Models, arXiv:2407.21783, section 3.3.
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
    Option{"tiers", OptionType::kInteger, "", "2", 2, 3,
           "switch tiers: leaf and spine, or leaf, spine and core", ""},
    Option{"hosts_per_leaf", OptionType::kInteger, "", "", 1, 1e6, "hosts on one leaf switch", ""},
    Option{"leaves", OptionType::kInteger, "", "0", 0, 1e6, "leaf switches; 0 = as many as the hosts need",
           ""},
    Option{"leaves_per_pod", OptionType::kInteger, "", "0", 0, 1e6,
           "leaf switches of one pod (three tiers only)", ""},
    Option{"spines", OptionType::kInteger, "", "0", 0, 1e6,
           "spine switches of the fabric (two tiers) or of each pod (three); 0 = one per up-link of a leaf",
           ""},
    Option{"cores", OptionType::kInteger, "", "0", 0, 1e6,
           "core switches (three tiers only); 0 = one per up-link of a spine. "
           "More cores than up-links form planes; spine s of a pod is wired to plane s mod planes",
           ""},
    Option{"leaf_oversubscription", OptionType::kNumber, "", "1", 1e-3, 1e6,
           "capacity down : capacity up of a full leaf", ""},
    Option{"spine_oversubscription", OptionType::kNumber, "", "1", 1e-3, 1e6,
           "capacity down : capacity up of a spine of a full pod", ""},
    Option{"uplink_bandwidth", OptionType::kBandwidth, "", "0 b/s", 0, 1e15,
           "rate of a switch-to-switch port; 0 = the NIC's rate", ""},
    Option{"link_latency", OptionType::kDuration, "", kDefaultLinkLatency, 0, 1,
           "latency of a switch-to-switch link", kLinkLatencySource},
};

/// The numbers of one fat tree, derived from its options.
struct Plan {
  std::uint32_t tiers = 2;
  std::uint32_t hosts_per_leaf = 1;
  std::uint32_t leaves = 1;
  std::uint32_t leaves_per_pod = 1;
  std::uint32_t pods = 1;
  Bandwidth port;
  Duration latency;
  Uplinks leaf;   // of a leaf
  Uplinks spine;  // of a spine; three tiers only
  std::uint32_t planes = 1;
};

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

/// Up-links of a spine. More cores than up-links are wired as planes: as many as divide both the cores
/// and the spines of a pod, and leave a spine at least the up-links it needs.
void plan_cores(Bandwidth down, double ratio, std::uint32_t cores, Plan& plan) {
  const std::uint32_t ports = plan_uplinks(down, ratio, plan.port, 0).count;
  plan.planes = std::max(1U, cores / ports);
  while (cores % plan.planes != 0 || plan.leaf.switches % plan.planes != 0) {
    --plan.planes;
  }
  plan.spine = plan_uplinks(down, ratio, plan.port, cores / plan.planes);
}

bool make_plan(const BuildContext& context, Plan& plan) {
  const config::OptionValues options(context.fabric, kOptions, {"kind"});
  if (!context.fabric.diagnostics().empty()) {
    return false;
  }
  const auto whole = [&](std::string_view name) { return static_cast<std::uint32_t>(options.integer(name)); };
  plan.tiers = whole("tiers");
  plan.hosts_per_leaf = whole("hosts_per_leaf");
  const std::uint32_t needed = divide_up(context.hosts, plan.hosts_per_leaf);
  plan.leaves = whole("leaves") == 0 ? needed : whole("leaves");
  if (plan.leaves < needed) {
    context.fabric.error(fmt::format("{} leaves of {} hosts hold fewer than {} hosts", plan.leaves,
                                     plan.hosts_per_leaf, context.hosts),
                         fmt::format("give at least {} leaves", needed));
    return false;
  }
  if (context.host.nics == 0) {
    context.fabric.error(fmt::format("host kind \"{}\" has no NICs", context.host.name),
                         "use a host kind with NICs");
    return false;
  }
  for (const std::string_view name : {"leaves_per_pod", "cores", "spine_oversubscription"}) {
    if (plan.tiers == 2 && options.given(name)) {
      context.fabric.error(fmt::format("{} needs three tiers", name), "give \"tiers\": 3 or leave it out");
    }
  }
  plan.leaves_per_pod = plan.tiers == 2 ? plan.leaves : whole("leaves_per_pod");
  if (plan.leaves_per_pod == 0) {
    context.fabric.error("three tiers without leaves_per_pod", "give leaves_per_pod");
    return false;
  }
  plan.pods = divide_up(plan.leaves, plan.leaves_per_pod);
  plan.port =
      options.given("uplink_bandwidth") ? options.bandwidth("uplink_bandwidth") : context.host.nic_bandwidth;
  if (plan.port == Bandwidth()) {
    plan.port = context.host.nic_bandwidth;
  }
  plan.latency = options.duration("link_latency");
  const Bandwidth leaf_down =
      times(std::int64_t{plan.hosts_per_leaf} * context.host.nics, context.host.nic_bandwidth);
  plan.leaf = plan_uplinks(leaf_down, options.number("leaf_oversubscription"), plan.port, whole("spines"));
  if (plan.tiers == 2) {
    return true;
  }
  const Bandwidth spine_down =
      times(std::int64_t{plan.leaves_per_pod} * plan.leaf.parallel, plan.leaf.capacity);
  plan_cores(spine_down, options.number("spine_oversubscription"), whole("cores"), plan);
  return true;
}

/// Cables above the NICs.
std::uint64_t cables_of(const Plan& plan) {
  const std::uint64_t up = std::uint64_t{plan.leaves} * plan.leaf.count;
  const std::uint64_t spines = std::uint64_t{plan.pods} * plan.leaf.switches;
  return up + (plan.pods > 1 ? spines * plan.spine.count : 0);
}

NodeId add_switch(Topology::Draft& draft, std::uint8_t tier, std::uint32_t index, std::string name) {
  return draft.add_node({.kind = NodeKind::kSwitch, .tier = tier, .index = index, .name = std::move(name)});
}

void cable(Topology::Draft& draft, NodeId below, NodeId above, std::uint32_t parallel, const Link& like) {
  for (std::uint32_t i = 0; i < parallel; ++i) {
    draft.add_cable(below, above, like);
  }
}

void add_cores(const BuildContext& context,
               const Plan& plan,
               const std::vector<NodeId>& spines,
               Topology::Draft& draft) {
  std::vector<NodeId> cores;
  for (std::uint32_t core = 0; core < plan.spine.switches * plan.planes; ++core) {
    cores.push_back(add_switch(draft, 2, core, fmt::format("core{}", core)));
  }
  const Link up = switch_link(context.host, plan.spine.capacity, plan.latency, draft.tier("spine-core"));
  for (std::uint32_t s = 0; s < spines.size(); ++s) {
    const std::uint32_t plane = s % plan.leaf.switches % plan.planes;
    for (std::uint32_t c = 0; c < plan.spine.switches; ++c) {
      cable(draft, spines[s], cores[plane * plan.spine.switches + c], plan.spine.parallel, up);
    }
  }
  note_rounding(plan.spine, plan.port, "spine", draft);
}

void build(const BuildContext& context, Topology::Draft& draft) {
  Plan plan;
  if (!make_plan(context, plan) || !check_size(context.fabric, cables_of(plan))) {
    return;
  }
  std::vector<NodeId> leaves;
  for (std::uint32_t leaf = 0; leaf < plan.leaves; ++leaf) {
    leaves.push_back(add_switch(draft, 0, leaf, fmt::format("leaf{}", leaf)));
  }
  for (std::uint32_t host = 0; host < context.hosts; ++host) {
    for (std::uint32_t nic = 0; nic < context.host.nics; ++nic) {
      attach_nic(context, host, nic, leaves[host / plan.hosts_per_leaf], host * context.host.nics + nic,
                 draft);
    }
  }
  if (plan.leaves == 1) {
    draft.notes.emplace_back("one leaf holds every host: no spine switches");
    return;
  }
  std::vector<NodeId> spines;
  for (std::uint32_t pod = 0; pod < plan.pods; ++pod) {
    for (std::uint32_t s = 0; s < plan.leaf.switches; ++s) {
      const std::string name =
          plan.tiers == 2 ? fmt::format("spine{}", s) : fmt::format("pod{}.spine{}", pod, s);
      spines.push_back(add_switch(draft, 1, pod * plan.leaf.switches + s, name));
    }
  }
  const Link up = switch_link(context.host, plan.leaf.capacity, plan.latency, draft.tier("leaf-spine"));
  for (std::uint32_t leaf = 0; leaf < plan.leaves; ++leaf) {
    const std::uint32_t first = leaf / plan.leaves_per_pod * plan.leaf.switches;
    for (std::uint32_t s = 0; s < plan.leaf.switches; ++s) {
      cable(draft, leaves[leaf], spines[first + s], plan.leaf.parallel, up);
    }
  }
  note_rounding(plan.leaf, plan.port, "leaf", draft);
  if (plan.pods > 1) {
    add_cores(context, plan, spines, draft);
  }
}

}  // namespace

Builder fat_tree_builder() {
  return {"fat_tree", "leaf-spine(-core) Clos, all NICs of a host on one leaf", kOptions, &build};
}

}  // namespace stepcast::topology
