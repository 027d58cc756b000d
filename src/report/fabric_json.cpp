#include "report/fabric_json.hpp"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepcast::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(topology::NodeKind kind) {
  switch (kind) {
    case topology::NodeKind::kGpu: return "gpu";
    case topology::NodeKind::kNvSwitch: return "nvswitch";
    case topology::NodeKind::kPcieSwitch: return "pcie_switch";
    case topology::NodeKind::kNic: return "nic";
    case topology::NodeKind::kSwitch: return "switch";
    case topology::NodeKind::kStorage: return "storage";
  }
  return "";
}

void add_list(const char* name, const std::vector<std::string>& lines, std::string& out) {
  out += fmt::format(",\n  \"{}\": [", name);
  const char* separator = "\n";
  for (const std::string& line : lines) {
    out += separator;
    out += "    " + line;
    separator = ",\n";
  }
  out += "\n  ]";
}

}  // namespace

std::string fabric_json(const topology::Cluster& cluster) {
  const topology::Topology& topology = cluster.topology;
  std::vector<double> factor(topology.links().size(), 1);
  std::size_t timed = 0;
  for (const topology::Fault& fault : cluster.faults) {
    if (fault.at != TimePoint() || fault.until != TimePoint::never()) {
      ++timed;
      continue;
    }
    for (const LinkId link : fault.links) {
      factor[link.index()] *= fault.factor;
    }
  }
  std::vector<std::string> nodes;
  for (const topology::Node& node : topology.nodes()) {
    Json line{{"name", node.name}, {"kind", name_of(node.kind)}};
    if (node.host != topology::Node::kNoHost) {
      line["host"] = node.host;
    }
    nodes.push_back(line.dump());
  }
  std::vector<std::string> links;
  for (std::size_t index = 0; index < topology.links().size(); ++index) {
    const topology::Link& link = topology.links()[index];
    if (link.from.index() > link.to.index()) {
      continue;  // the other direction of a cable that is listed
    }
    links.push_back(Json{
        {"from", topology.node(link.from).name},
        {"to", topology.node(link.to).name},
        {"tier", topology.tiers()[link.tier]},
        {"bits_per_second", link.capacity.bytes_per_second() * 8},
        {"latency_s", link.latency.seconds()},
        {"factor",
         factor[index]}}.dump());
  }
  std::string out =
      fmt::format("{{\n  \"cluster\": {},\n  \"hosts\": {},\n  \"gpus\": {},\n  \"timed_faults\": {}",
                  Json(cluster.name).dump(), cluster.hosts, topology.gpu_count(), timed);
  add_list("nodes", nodes, out);
  add_list("links", links, out);
  return out + "\n}\n";
}

}  // namespace stepcast::report
