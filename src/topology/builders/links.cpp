// A fabric given node by node and link by link.
//
// Scope:       any graph: irregular wiring, test fabrics, hosts of unequal shape.
// Assumes:     links are cables (both directions, equal rates). With "hosts" in the cluster file the GPUs,
//              NICs and switches inside them exist already and links may name them ("h0.nic3"). The order
//              of both lists means nothing: GPUs are numbered by host, index and name.
// Not covered: one-way links.
// Source:      the cluster file.
// Validated by: tests/unit/topology/builders_test.cpp
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "topology/builder.hpp"
#include "topology/fabric.hpp"

namespace stepcast::topology {
namespace {

using Names = std::map<std::string, NodeId, std::less<>>;

constexpr std::int64_t kMostLinks = 1'000'000;
constexpr std::int64_t kMostHosts = 1'000'000;

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = {"gpu", "nvswitch", "pcie_switch",
                                                 "nic", "switch",   "storage"};
  return names;
}

void add_node(const config::Node& node, Topology::Draft& draft, Names& names) {
  node.allow_only({"name", "kind", "host", "index", "tier", "route_key", "nics"});
  constexpr std::int64_t kMostIds = 1'000'000'000;
  const config::Node name = node.require("name");
  Node added;
  added.name = name.name();
  added.kind = static_cast<NodeKind>(node.require("kind").one_of(kind_names()));
  if (const config::Node host = node.get("host"); host.present()) {
    added.host = static_cast<std::uint32_t>(host.integer(0, kMostHosts - 1));
  } else if (added.kind != NodeKind::kSwitch && added.kind != NodeKind::kStorage) {
    static_cast<void>(node.require("host"));
  }
  const auto whole = [&](std::string_view key, std::int64_t upper) {
    const config::Node value = node.get(key);
    return value.present() ? value.integer(0, upper) : 0;
  };
  added.index = static_cast<std::uint32_t>(whole("index", kMostIds));
  added.route_key = static_cast<std::uint32_t>(whole("route_key", kMostIds));
  added.tier = static_cast<std::uint8_t>(whole("tier", 255));
  const std::string key = added.name;
  const NodeId id = draft.add_node(std::move(added));
  if (!names.emplace(key, id).second) {
    name.error(fmt::format("two nodes are named \"{}\"", key), "give every node a name of its own");
  }
}

std::optional<NodeId> find_node(const config::Node& where, const Names& names) {
  const std::string name = where.text();
  if (const auto found = names.find(name); found != names.end()) {
    return found->second;
  }
  if (where.is_text()) {
    std::vector<std::string> known;
    for (const auto& [key, id] : names) {
      known.push_back(key);
    }
    where.error(fmt::format("no node is named \"{}\"", name), suggest(name, known));
  }
  return std::nullopt;
}

/// The NICs that a GPU names; a GPU without any reaches the network by its own links.
void add_gpu_nics(const config::Node& node, NodeId gpu, const Names& names, Topology::Draft& draft) {
  std::vector<NodeId>& nics = draft.gpu_nics.emplace_back();
  const config::Node list = node.get("nics");
  if (!list.present()) {
    return;
  }
  for (const config::Node& item : list.items()) {
    if (const auto nic = find_node(item, names)) {
      if (draft.nodes[nic->index()].kind != NodeKind::kNic) {
        item.error(fmt::format("\"{}\" is not a NIC", item.text()), "name nodes of kind \"nic\"");
      } else if (draft.nodes[nic->index()].host != draft.nodes[gpu.index()].host) {
        item.error(fmt::format("\"{}\" is a NIC of host {}, but this GPU is in host {}", item.text(),
                               draft.nodes[nic->index()].host, draft.nodes[gpu.index()].host),
                   "name NICs of its own host, or leave nics out: the GPU then uses its own links");
      } else {
        nics.push_back(*nic);
      }
    }
  }
}

void add_link(const BuildContext& context,
              const config::Node& node,
              const Names& names,
              Topology::Draft& draft) {
  node.allow_only({"from", "to", "bandwidth", "effective", "latency", "count", "tier", "cost"});
  const auto from = find_node(node.require("from"), names);
  const auto to = find_node(node.require("to"), names);
  const Bandwidth capacity = node.require("bandwidth").bandwidth();
  const config::Node latency = node.require("latency");
  const config::Node tier = node.get("tier");
  Link link = switch_link(context.host, capacity, read_link_latency(latency),
                          draft.tier(tier.present() ? tier.name() : std::string("link")));
  if (const config::Node effective = node.get("effective"); effective.present()) {
    link.effective = effective.bandwidth();
    if (link.effective > capacity) {
      effective.error("effective is above bandwidth", "give the payload rate, at most the nameplate");
    }
  }
  if (const config::Node cost = node.get("cost"); cost.present()) {
    link.cost = static_cast<std::uint16_t>(cost.integer(1, 10'000));
  }
  const config::Node count = node.get("count");
  const std::int64_t parallel = count.present() ? count.integer(1, kMostLinks) : 1;
  if (!from || !to) {
    return;
  }
  if (*from == *to) {
    node.error(fmt::format("link from \"{}\" to itself", draft.nodes[from->index()].name),
               "join two different nodes");
    return;
  }
  if (node.get("bandwidth").is_text() && capacity == Bandwidth()) {
    node.get("bandwidth").error("a link without bandwidth", "take a link down with a fault of factor 0");
  }
  if (!check_size(node, draft.links.size() / 2 + static_cast<std::uint64_t>(parallel))) {
    return;
  }
  for (std::int64_t i = 0; i < parallel; ++i) {
    draft.add_cable(*from, *to, link);
  }
}

void build(const BuildContext& context, Topology::Draft& draft) {
  context.fabric.allow_only({"kind", "nodes", "links"});
  Names names;
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    names.emplace(draft.nodes[i].name, NodeId(i));
  }
  std::vector<config::Node> nodes;
  if (const config::Node list = context.fabric.get("nodes"); list.present()) {
    nodes = list.items();
  }
  const DraftSize before = size_of(draft);
  const std::size_t first = before.nodes;
  for (const config::Node& node : nodes) {
    add_node(node, draft, names);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (draft.nodes[first + i].kind == NodeKind::kGpu) {
      add_gpu_nics(nodes[i], NodeId(first + i), names, draft);
    } else if (const config::Node nics = nodes[i].get("nics"); nics.present()) {
      nics.error("only a GPU has NICs", "leave out nics");
    }
  }
  for (const config::Node& link : context.fabric.require("links").items()) {
    add_link(context, link, names, draft);
  }
  order_draft(before, draft);
}

}  // namespace

Builder links_builder() {
  return {"links", "any graph, node by node and link by link", {}, &build};
}

}  // namespace stepcast::topology
