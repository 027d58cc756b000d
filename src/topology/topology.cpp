#include "topology/topology.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/property_map/property_map.hpp>
#include <fmt/format.h>

#include "base/check.hpp"
#include "base/fingerprint.hpp"

namespace stepcast::topology {
namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS,
                                                 boost::no_property,
                                                 LinkId,
                                                 boost::no_property,
                                                 std::uint32_t,
                                                 std::uint32_t>;

/// Name -> node by open addressing: four bytes a slot instead of a map node a name.
class NameIndex {
 public:
  /// Returns the first pair of nodes with one name, if any.
  std::optional<std::pair<NodeId, NodeId>> build(std::span<const Node> nodes) {
    std::size_t size = 16;
    while (size < 2 * nodes.size()) {
      size *= 2;
    }
    slots_.assign(size, NodeId());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      NodeId& slot = slots_[slot_of(nodes[i].name, nodes)];
      if (slot.valid()) {
        return std::pair(slot, NodeId(i));
      }
      slot = NodeId(i);
    }
    return std::nullopt;
  }

  [[nodiscard]] NodeId find(std::string_view name, std::span<const Node> nodes) const {
    return slots_[slot_of(name, nodes)];
  }

 private:
  /// The slot that holds `name`, or the free one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::span<const Node> nodes) const {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
    for (const char letter : name) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    }
    std::size_t slot = mix(0, hash) & (slots_.size() - 1);
    while (slots_[slot].valid() && nodes[slots_[slot].index()].name != name) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  std::vector<NodeId> slots_;
};

/// Records problems at `where` when there is one, else collects them; then throws.
class Problems {
 public:
  explicit Problems(const config::Node& where) : where_(where) {}

  void add(std::string_view problem, std::string_view remedy) {
    any_ = true;
    if (where_.present()) {
      where_.error(problem, remedy);
    } else {
      own_.add(problem, remedy);
    }
  }
  void throw_if_any() const {
    if (any_) {
      (where_.present() ? where_.diagnostics() : own_).throw_if_any();
    }
  }

 private:
  const config::Node& where_;
  config::Diagnostics own_;
  bool any_ = false;
};

void check_links(const Topology::Draft& draft, Problems& problems) {
  const std::size_t nodes = draft.nodes.size();
  for (std::size_t i = 0; i < draft.links.size(); ++i) {
    const Link& link = draft.links[i];
    if (!link.from.valid() || !link.to.valid() || link.from.index() >= nodes || link.to.index() >= nodes) {
      problems.add(fmt::format("link {} has an end that does not exist", i), "join existing nodes");
      continue;
    }
    const std::string& from = draft.nodes[link.from.index()].name;
    const std::string& to = draft.nodes[link.to.index()].name;
    if (link.from == link.to) {
      problems.add(fmt::format("link from \"{}\" to itself", from), "join two different nodes");
    }
    if (link.capacity <= Bandwidth() || link.effective <= Bandwidth()) {
      problems.add(fmt::format("link from \"{}\" to \"{}\" has no bandwidth", from, to),
                   "give a bandwidth above zero; take a link down with a fault of factor 0");
    }
    if (link.latency < Duration() || link.cost == 0 || link.tier >= draft.tiers.size()) {
      problems.add(fmt::format("link from \"{}\" to \"{}\" has a bad latency, cost or tier", from, to),
                   "give a latency of at least 0, a cost of at least 1, and a known tier");
    }
  }
}

}  // namespace

struct Topology::State {
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<std::string> tiers;
  std::vector<std::string> notes;
  Graph graph;
  std::vector<std::uint32_t> in_begin;
  std::vector<LinkId> in_links;
  std::vector<NodeId> gpus;
  std::vector<std::uint32_t> nic_begin;
  std::vector<NodeId> nics;
  std::vector<NodeId> storage;
  NameIndex names;

  void index_links();
  void check_connected(Problems& problems) const;
};

void Topology::State::index_links() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  std::vector<LinkId> ids;
  ends.reserve(links.size());
  ids.reserve(links.size());
  in_begin.assign(nodes.size() + 1, 0);
  for (std::size_t i = 0; i < links.size(); ++i) {
    ends.emplace_back(links[i].from.index(), links[i].to.index());
    ids.emplace_back(i);
    ++in_begin[links[i].to.index() + 1];
  }
  graph = Graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), ids.begin(),
                static_cast<std::uint32_t>(nodes.size()));
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    in_begin[v + 1] += in_begin[v];
  }
  std::vector<std::uint32_t> next(in_begin.begin(), in_begin.end() - 1);
  in_links.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    in_links[next[links[i].to.index()]++] = LinkId(i);
  }
}

void Topology::State::check_connected(Problems& problems) const {
  std::vector<std::uint32_t> component(nodes.size());
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
  for (const NodeId gpu : gpus) {
    if (component[gpu.index()] != component[gpus.front().index()]) {
      problems.add(fmt::format("GPUs \"{}\" and \"{}\" are not connected", nodes[gpus.front().index()].name,
                               nodes[gpu.index()].name),
                   "add links so that every GPU reaches every other, in both directions");
      return;
    }
  }
}

NodeId Topology::Draft::add_node(Node node) {
  nodes.push_back(std::move(node));
  return NodeId(nodes.size() - 1);
}

void Topology::Draft::add_cable(NodeId a, NodeId b, const Link& like) {
  links.push_back(like);
  links.back().from = a;
  links.back().to = b;
  links.push_back(like);
  links.back().from = b;
  links.back().to = a;
}

std::uint16_t Topology::Draft::tier(std::string_view name) {
  const auto found = std::find(tiers.begin(), tiers.end(), name);
  if (found != tiers.end()) {
    return static_cast<std::uint16_t>(found - tiers.begin());
  }
  STEPCAST_CHECK(tiers.size() < std::numeric_limits<std::uint16_t>::max(), "too many tiers");
  tiers.emplace_back(name);
  return static_cast<std::uint16_t>(tiers.size() - 1);
}

Topology Topology::build(Draft draft, const config::Node& where) {
  STEPCAST_CHECK(draft.nodes.size() < std::numeric_limits<std::uint32_t>::max() / 2 &&
                     draft.links.size() < std::numeric_limits<std::uint32_t>::max() / 2,
                 "{} nodes, {} links", draft.nodes.size(), draft.links.size());
  Problems problems(where);
  check_links(draft, problems);
  Topology topology;
  State& state = *topology.state_;
  if (const auto twice = state.names.build(draft.nodes)) {
    problems.add(fmt::format("two nodes are named \"{}\"", draft.nodes[twice->first.index()].name),
                 "give every node a name of its own");
  }
  problems.throw_if_any();

  state.nodes = std::move(draft.nodes);
  state.links = std::move(draft.links);
  state.tiers = std::move(draft.tiers);
  state.notes = std::move(draft.notes);
  for (std::size_t i = 0; i < state.nodes.size(); ++i) {
    if (state.nodes[i].kind == NodeKind::kGpu) {
      state.gpus.emplace_back(i);
    } else if (state.nodes[i].kind == NodeKind::kStorage) {
      state.storage.emplace_back(i);
    }
  }
  if (state.gpus.empty()) {
    problems.add("the fabric has no GPU", "give hosts, or nodes of kind \"gpu\"");
    problems.throw_if_any();
  }
  state.nic_begin.assign(1, 0);
  for (std::size_t gpu = 0; gpu < state.gpus.size(); ++gpu) {
    if (gpu < draft.gpu_nics.size()) {
      state.nics.insert(state.nics.end(), draft.gpu_nics[gpu].begin(), draft.gpu_nics[gpu].end());
    }
    state.nic_begin.push_back(static_cast<std::uint32_t>(state.nics.size()));
  }
  for (const NodeId nic : state.nics) {
    STEPCAST_CHECK(nic.index() < state.nodes.size() && state.nodes[nic.index()].kind == NodeKind::kNic,
                   "a GPU uses node {} as its NIC", nic.index());
  }
  state.index_links();
  state.check_connected(problems);
  problems.throw_if_any();
  return topology;
}

Topology::Topology() : state_(std::make_unique<State>()) {}
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

std::span<const Node> Topology::nodes() const {
  return state_->nodes;
}
std::span<const Link> Topology::links() const {
  return state_->links;
}
const Node& Topology::node(NodeId id) const {
  return state_->nodes[id.index()];
}
const Link& Topology::link(LinkId id) const {
  return state_->links[id.index()];
}

std::span<const LinkId> Topology::out_links(NodeId id) const {
  const auto [first, last] = boost::out_edges(id.index(), state_->graph);
  const auto degree = static_cast<std::size_t>(last - first);
  // The graph keeps the properties of one node's edges side by side.
  return degree == 0 ? std::span<const LinkId>() : std::span<const LinkId>(&state_->graph[*first], degree);
}

std::span<const LinkId> Topology::in_links(NodeId id) const {
  const std::uint32_t begin = state_->in_begin[id.index()];
  return std::span<const LinkId>(state_->in_links).subspan(begin, state_->in_begin[id.index() + 1] - begin);
}

std::span<const std::string> Topology::tiers() const {
  return state_->tiers;
}
std::span<const std::string> Topology::notes() const {
  return state_->notes;
}

std::uint32_t Topology::gpu_count() const {
  return static_cast<std::uint32_t>(state_->gpus.size());
}
NodeId Topology::gpu_node(GpuId gpu) const {
  STEPCAST_CHECK(gpu.index() < state_->gpus.size(), "GPU {} of {}", gpu.index(), state_->gpus.size());
  return state_->gpus[gpu.index()];
}
std::uint32_t Topology::host_of(GpuId gpu) const {
  return node(gpu_node(gpu)).host;
}

std::span<const NodeId> Topology::nics_of(GpuId gpu) const {
  STEPCAST_CHECK(gpu.index() < state_->gpus.size(), "GPU {} of {}", gpu.index(), state_->gpus.size());
  const std::uint32_t begin = state_->nic_begin[gpu.index()];
  return std::span<const NodeId>(state_->nics).subspan(begin, state_->nic_begin[gpu.index() + 1] - begin);
}

std::optional<NodeId> Topology::find(std::string_view name) const {
  const NodeId found = state_->names.find(name, state_->nodes);
  return found.valid() ? std::optional(found) : std::nullopt;
}

std::span<const NodeId> Topology::storage_nodes() const {
  return state_->storage;
}

}  // namespace stepcast::topology
