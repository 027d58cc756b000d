#include "topology/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "topology/builder.hpp"
#include "topology/fabric.hpp"

namespace stepcast::topology {
namespace {

constexpr std::int64_t kMostHosts = 1'000'000;
constexpr std::int64_t kMostQueuePairs = 128;  // NCCL_IB_QPS_PER_CONNECTION goes as far
constexpr std::int64_t kMostGpus = 16'000'000;

const Builder* find_builder(const config::Node& fabric) {
  std::vector<std::string> names;
  for (const Builder& builder : builders()) {
    names.emplace_back(builder.name);
  }
  const config::Node kind = fabric.require("kind");
  const std::size_t errors = fabric.diagnostics().size();
  const std::size_t index = kind.one_of(names);
  return kind.present() && fabric.diagnostics().size() == errors ? &builders()[index] : nullptr;
}

/// The switches of the highest tier: core, else spine, else leaf.
std::vector<NodeId> top_switches(const Topology::Draft& draft) {
  std::vector<NodeId> top;
  std::uint8_t tier = 0;
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    const Node& node = draft.nodes[i];
    if (node.kind != NodeKind::kSwitch || node.tier < tier) {
      continue;
    }
    if (node.tier > tier) {
      tier = node.tier;
      top.clear();
    }
    top.emplace_back(i);
  }
  return top;
}

void add_storage(const config::Node& node,
                 const hardware::HostKind& host,
                 Topology::Draft& draft,
                 std::vector<Storage>& storage) {
  node.allow_only({"name", "read", "write", "attach"});
  const config::Node name = node.get("name");
  const config::Node read = node.require("read");
  const config::Node write = node.require("write");
  Storage added;
  added.name = name.present() ? name.name() : "storage";
  added.read = read.bandwidth();
  added.write = write.bandwidth();
  const config::Node attach = node.require("attach");
  attach.allow_only({"links", "bandwidth", "latency"});
  const std::int64_t links = attach.require("links").integer(1, kMostHosts);
  const Bandwidth rate = attach.require("bandwidth").bandwidth();
  const config::Node latency = attach.get("latency");
  const Duration wait = latency.present() ? read_link_latency(latency) : Duration::from_ps(500'000);
  for (const auto& [value, where] : {std::pair(added.read, read), std::pair(added.write, write),
                                     std::pair(rate, attach.get("bandwidth"))}) {
    if (value == Bandwidth() && where.present() && node.diagnostics().empty()) {
      where.error("a rate of zero", "give a rate above zero");
    }
  }
  const std::vector<NodeId> top = top_switches(draft);
  if (!node.diagnostics().empty()) {
    return;
  }
  if (top.empty()) {
    node.error("storage needs a fabric with switches", "use fat_tree, rail_optimized or links");
    return;
  }
  const auto same_name = [&](const Storage& other) { return other.name == added.name; };
  if (std::any_of(storage.begin(), storage.end(), same_name)) {
    node.error(fmt::format("two storage systems are named \"{}\"", added.name),
               "give each a name of its own");
    return;
  }
  added.node = draft.add_node(
      {.kind = NodeKind::kStorage, .index = static_cast<std::uint32_t>(storage.size()), .name = added.name});
  const Link like = switch_link(host, rate, wait, draft.tier("storage"));
  for (std::int64_t i = 0; i < links; ++i) {
    draft.add_cable(added.node, top[static_cast<std::size_t>(i) % top.size()], like);
  }
  if (static_cast<std::size_t>(links) % top.size() != 0) {
    draft.notes.push_back(fmt::format("storage \"{}\": {} links do not spread evenly over {} switches",
                                      added.name, links, top.size()));
  }
  storage.push_back(std::move(added));
}

/// Both ends of a link named "A-B"; a name may itself hold a '-', so every split is tried.
std::optional<std::pair<NodeId, NodeId>> link_ends(const Topology& topology, std::string_view text) {
  for (std::size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    const auto a = topology.find(text.substr(0, dash));
    const auto b = topology.find(text.substr(dash + 1));
    if (a && b) {
      return std::pair(*a, *b);
    }
  }
  return std::nullopt;
}

std::vector<LinkId> links_between(const Topology& topology, NodeId from, NodeId to) {
  std::vector<LinkId> links;
  for (const LinkId link : topology.out_links(from)) {
    if (topology.link(link).to == to) {
      links.push_back(link);
    }
  }
  return links;
}

/// Says which end of "A-B" does not exist, with the nearest name.
void report_unknown_ends(const config::Node& where, const Topology& topology, const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) {
    where.error(fmt::format("\"{}\" is not the name of a link", text),
                "write the names of both ends, such as \"leaf3-spine1\"");
    return;
  }
  const bool first_known = topology.find(text.substr(0, dash)).has_value();
  const std::string unknown = first_known ? text.substr(dash + 1) : text.substr(0, dash);
  std::vector<std::string> names;
  for (const Node& node : topology.nodes()) {
    names.push_back(node.name);
  }
  where.error(fmt::format("no node is named \"{}\"", unknown), suggest(unknown, names));
}

void read_link_target(const config::Node& node, const Topology& topology, Fault& fault) {
  const config::Node link = node.get("link");
  const config::Node index = node.get("index");
  const std::int64_t chosen = index.present() ? index.integer(0, kMostHosts) : 0;
  const std::string text = link.text();
  fault.link = text;
  const auto ends = link_ends(topology, text);
  if (!ends) {
    if (link.is_text()) {
      report_unknown_ends(link, topology, text);
    }
    return;
  }
  const std::vector<LinkId> there = links_between(topology, ends->first, ends->second);
  const std::vector<LinkId> back = links_between(topology, ends->second, ends->first);
  if (there.empty()) {
    link.error(fmt::format("no link joins \"{}\" and \"{}\"", topology.node(ends->first).name,
                           topology.node(ends->second).name),
               "name two nodes that a link joins");
    return;
  }
  if (!index.present()) {
    fault.links = there;
    fault.links.insert(fault.links.end(), back.begin(), back.end());
    return;
  }
  const auto position = static_cast<std::size_t>(chosen);
  if (position >= there.size()) {
    index.error(fmt::format("there are {} parallel links", there.size()),
                fmt::format("give an index from 0 to {}", there.size() - 1));
    return;
  }
  fault.links = {there[position]};
  if (position < back.size()) {
    fault.links.push_back(back[position]);
  }
}

void read_gpu_target(const config::Node& node, const Topology& topology, Fault& fault) {
  const config::Node gpu = node.get("gpu");
  if (!gpu.is_text()) {
    fault.gpu = GpuId(static_cast<std::uint32_t>(gpu.integer(0, std::int64_t{topology.gpu_count()} - 1)));
    return;
  }
  const std::string name = gpu.text();
  for (std::uint32_t i = 0; i < topology.gpu_count(); ++i) {
    if (topology.node(topology.gpu_node(GpuId(i))).name == name) {
      fault.gpu = GpuId(i);
      return;
    }
  }
  gpu.error(fmt::format("no GPU is named \"{}\"", name),
            "write its number in cluster order or a name such as \"h0.gpu3\"");
}

Fault read_fault(const config::Node& node, const Topology& topology) {
  node.allow_only({"comment", "gpu", "link", "index", "factor", "at", "until"});
  Fault fault;
  fault.place = node.place();
  const bool is_gpu = node.get("gpu").present();
  if (is_gpu == node.get("link").present()) {
    node.error("a fault hits either a GPU or a link", "give exactly one of \"gpu\" and \"link\"");
    return fault;
  }
  fault.target = is_gpu ? Fault::Target::kGpu : Fault::Target::kLink;
  if (is_gpu) {
    read_gpu_target(node, topology, fault);
  } else {
    read_link_target(node, topology, fault);
  }
  constexpr double kSlowest = 1e-6;  // a GPU that stands still would never finish a step
  const config::Node factor = node.require("factor");
  fault.factor = factor.factor(is_gpu ? kSlowest : 0.0, 1.0);
  if (!is_gpu && fault.factor > 0 && fault.factor < kSlowest) {
    factor.error(fmt::format("a link at {:g} of its capacity", fault.factor),
                 "write 0 for a link that is down, else at least 1e-6");
  }
  if (const config::Node at = node.get("at"); at.present()) {
    fault.at = TimePoint::from_start(at.duration());
  }
  if (const config::Node until = node.get("until"); until.present()) {
    fault.until = TimePoint::from_start(until.duration());
    if (fault.until <= fault.at && until.is_text()) {
      until.error("the fault ends before it begins", "give a time after \"at\"");
    }
  }
  return fault;
}

std::vector<config::Node> one_or_many(const config::Node& node) {
  if (!node.present()) {
    return {};
  }
  return node.is_array() ? node.items() : std::vector<config::Node>{node};
}

/// Number of hosts: given, or none for a `links` fabric that lists its own GPUs.
std::uint32_t read_hosts(const config::Node& root, const Builder* builder) {
  const bool may_lack = builder != nullptr && builder->name == "links";
  const config::Node hosts = may_lack ? root.get("hosts") : root.require("hosts");
  return hosts.present() ? static_cast<std::uint32_t>(hosts.integer(may_lack ? 0 : 1, kMostHosts)) : 0;
}

std::uint32_t count_hosts(const Topology& topology) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    hosts.push_back(topology.host_of(GpuId(gpu)));
  }
  std::sort(hosts.begin(), hosts.end());
  return static_cast<std::uint32_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
}

/// Reduction in the switches, if the file has it.
/// {"version": "2.27.7", "NCCL_ALGO": "Ring", ...}: values as text or whole numbers.
Nccl read_nccl(const config::Node& node) {
  Nccl nccl;
  if (!node.present()) {
    return nccl;
  }
  for (const auto& [name, value] : node.members()) {
    if (name == "version") {
      nccl.version = value.name();
      nccl.version_place = value.place();
    } else if (name != "comment") {
      std::string text = value.is_number()
                             ? std::to_string(value.integer(std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()))
                             : value.name();
      nccl.variables.push_back({name, std::move(text), value.place()});
    }
  }
  return nccl;
}

std::optional<Sharp> read_sharp(const config::Node& node) {
  if (!node.present()) {
    return std::nullopt;
  }
  node.allow_only({"trees", "largest_call"});
  Sharp sharp;
  if (const config::Node trees = node.get("trees"); trees.present()) {
    sharp.trees = static_cast<std::uint32_t>(trees.integer(1, kMostHosts));
  }
  if (const config::Node largest = node.get("largest_call"); largest.present()) {
    sharp.largest_call = largest.bytes();
  }
  return sharp;
}

}  // namespace

std::optional<std::int64_t> declared_gpus(const config::Document& document,
                                          const hardware::Catalog& catalog) {
  // Looks without recording: read_cluster says what is wrong.
  const config::Node root = document.root();
  if (!root.is_object()) {
    return std::nullopt;
  }
  const config::Node hosts = root.get("hosts");
  const config::Node fabric = root.get("fabric");
  const config::Node kind = fabric.is_object() ? fabric.get("kind") : config::Node();
  config::Node host = root.get("host");
  if (host.is_object()) {
    host = host.get("gpus").present() ? config::Node() : host.get("base");
  }
  const std::vector<std::string> known = catalog.host_names();
  if (!hosts.is_number() || hosts.number(-1e300, 1e300) < 1 || hosts.number(-1e300, 1e300) > kMostHosts ||
      !kind.is_text() || kind.text() == "links" || !host.is_text() ||
      std::find(known.begin(), known.end(), host.text()) == known.end()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(hosts.number(1, kMostHosts)) * catalog.host(host).gpus;
}

Cluster read_cluster(const config::Document& document,
                     const hardware::Catalog& catalog,
                     config::Diagnostics& diagnostics) {
  const config::Node root = document.root();
  root.allow_only({"name", "description", "host", "hosts", "fabric", "storage", "faults", "sharp", "nccl",
                   "queue_pairs"});
  const std::string name = root.require("name").name();
  const std::string description = root.get("description").text();
  hardware::HostKind host = catalog.host(root.require("host"));
  const config::Node fabric = root.require("fabric");
  const Builder* builder = fabric.present() ? find_builder(fabric) : nullptr;
  std::uint32_t hosts = read_hosts(root, builder);
  if (std::int64_t{hosts} * host.gpus > kMostGpus) {
    root.get("hosts").error(fmt::format("{} GPUs", std::int64_t{hosts} * host.gpus),
                            fmt::format("a cluster has at most {}", kMostGpus));
  }
  static_cast<void>(check_size(fabric, hosts * (cables_per_host(host) + host.nics)));
  diagnostics.throw_if_any();

  Topology::Draft draft;
  add_hosts(host, hosts, draft);
  builder->build({host, hosts, fabric}, draft);
  std::vector<Storage> storage;
  for (const config::Node& node : one_or_many(root.get("storage"))) {
    add_storage(node, host, draft, storage);
  }
  diagnostics.throw_if_any();

  Topology topology = Topology::build(std::move(draft), fabric);
  hosts = hosts == 0 ? count_hosts(topology) : hosts;
  std::vector<Fault> faults;
  if (const config::Node list = root.get("faults"); list.present()) {
    for (const config::Node& node : list.items()) {
      faults.push_back(read_fault(node, topology));
    }
  }
  std::optional<Sharp> sharp = read_sharp(root.get("sharp"));
  Nccl nccl = read_nccl(root.get("nccl"));
  const config::Node pairs = root.get("queue_pairs");
  const auto queue_pairs =
      pairs.present() ? static_cast<std::uint32_t>(pairs.integer(1, kMostQueuePairs)) : 1U;
  diagnostics.throw_if_any();
  return {name,
          description,
          std::move(host),
          hosts,
          std::move(topology),
          std::move(storage),
          std::move(faults),
          sharp,
          std::move(nccl),
          queue_pairs,
          fabric.place()};
}

}  // namespace stepcast::topology
