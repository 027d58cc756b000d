#include "routing/router.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/parallel.hpp"
#include "base/suggestion.hpp"

namespace stepcast::routing {
namespace {

using topology::NodeKind;

/// A cached request. `exit` is the GPU whose NIC is used; storage requests mark it with kTo / kFrom.
struct Request {
  std::uint32_t from = 0;
  std::uint32_t exit = 0;
  std::uint32_t to = 0;
  std::uint64_t flow = 0;
  friend bool operator==(const Request&, const Request&) = default;
};
constexpr std::uint32_t kToStorage = 0xffffffffU;
constexpr std::uint32_t kFromStorage = 0xfffffffeU;

struct RequestHash {
  std::size_t operator()(const Request& request) const {
    const std::uint64_t ends = (std::uint64_t{request.from} << 32U) | request.to;
    return static_cast<std::size_t>(mix(mix(ends, request.exit), request.flow));
  }
};

/// Adds the hops of a part that carries 1 / `of` of the flow to a path (not its latency).
void append(const Path& part, std::uint32_t of, Path& path) {
  if (path.hops.empty()) {
    path.hops.reserve(part.hops.size());
  }
  for (Hop hop : part.hops) {
    const std::uint64_t denominator = std::uint64_t{hop.denominator} * of;
    const auto same = std::find_if(path.hops.begin(), path.hops.end(),
                                   [&](const Hop& other) { return other.resource == hop.resource; });
    std::uint64_t sum = hop.numerator;
    std::uint64_t common = denominator;
    if (same != path.hops.end()) {
      common = std::lcm(denominator, std::uint64_t{same->denominator});
      sum = hop.numerator * (common / denominator) + same->numerator * (common / same->denominator);
    }
    const std::uint64_t divisor = std::gcd(sum, common);
    if (common / divisor > std::numeric_limits<std::uint32_t>::max()) {
      throw UnsupportedError("a path splits into shares beyond exact arithmetic; use the routing \"ecmp\"");
    }
    hop.numerator = static_cast<std::uint32_t>(sum / divisor);
    hop.denominator = static_cast<std::uint32_t>(common / divisor);
    if (same != path.hops.end()) {
      *same = hop;
    } else {
      path.hops.push_back(hop);
    }
  }
}

const PolicyEntry& find_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) {
    if (entry.name == name) {
      return entry;
    }
    names.emplace_back(entry.name);
  }
  throw InputError(fmt::format("unknown routing \"{}\"; {}", name, suggest(name, names)));
}

}  // namespace

struct Router::State {
  State(const topology::Cluster& of, const PolicyEntry& chosen) : cluster(of), entry(chosen) {}

  const topology::Cluster& cluster;
  const PolicyEntry& entry;
  std::unique_ptr<Policy> policy;
  std::vector<Resource> resources;
  std::uint32_t first_storage = 0;  // resource id of the first storage system's read rate
  // Looked up by key only, never iterated. References to its values stay valid.
  std::unordered_map<Request, Path, RequestHash> paths;

  [[nodiscard]] const topology::Topology& fabric() const { return cluster.topology; }

  [[nodiscard]] Path required(NodeId from, NodeId to, Reach reach, std::uint64_t flow) const {
    std::optional<Path> path = policy->path(from, to, reach, flow);
    if (!path) {
      refuse(from, to);
    }
    return *std::move(path);
  }

  [[noreturn]] void refuse(NodeId from, NodeId to) const {
    const auto down = [](const topology::Fault& fault) { return fault.factor == 0; };
    const bool faulty = std::any_of(cluster.faults.begin(), cluster.faults.end(), down);
    config::Diagnostics diagnostics;
    diagnostics.add(cluster.fabric_place,
                    fmt::format("no path from \"{}\" to \"{}\": traffic passes through switches, not through "
                                "other GPUs, NICs or storage",
                                fabric().node(from).name, fabric().node(to).name),
                    faulty ? "check the faults that take links down, or join them by links over a switch"
                           : "join them by a link, or by links over a switch");
    diagnostics.throw_if_any();
    STEPCAST_CHECK(false, "an error that was not thrown");
  }

  /// Where a GPU meets the network: its NICs, or itself when it has none.
  [[nodiscard]] std::vector<NodeId> ends_of(GpuId gpu) const {
    const std::span<const NodeId> nics = fabric().nics_of(gpu);
    if (nics.empty()) {
      return {fabric().gpu_node(gpu)};
    }
    return {nics.begin(), nics.end()};
  }

  /// A part of a path; its ends may be the same node.
  struct Part {
    NodeId from;
    NodeId to;
    Reach reach = Reach::kHost;
  };

  /// One branch: its parts follow each other and carry 1 / `of` of the flow.
  void add_branch(std::span<const Part> parts, std::uint32_t of, std::uint64_t flow, Path& path) const {
    Duration latency;
    for (const Part& part : parts) {
      if (part.from != part.to) {
        const Path piece = required(part.from, part.to, part.reach, flow);
        append(piece, of, path);
        latency += piece.latency;
      }
    }
    path.latency = std::max(path.latency, latency);
  }

  /// NIC i of one end talks to NIC i of the other (one rail); all to all when their numbers differ.
  [[nodiscard]] Path over_network(GpuId from, GpuId exit, GpuId to, std::uint64_t flow) const {
    const std::vector<NodeId> out = ends_of(exit);
    const std::vector<NodeId> in = ends_of(to);
    Path path;
    const std::size_t pairs = out.size() == in.size() ? out.size() : out.size() * in.size();
    // Queue pairs differ where flows are hashed only.
    const std::uint32_t queues = entry.uses_flow ? cluster.queue_pairs : 1;
    for (std::size_t at = 0; at < pairs * queues; ++at) {
      const std::size_t i = at / queues;
      const NodeId source = out.size() == in.size() ? out[i] : out[i / in.size()];
      const NodeId destination = in[i % in.size()];
      const NodeId relay = fabric().gpu_node(exit);
      const std::array parts = {Part{fabric().gpu_node(from), relay}, Part{relay, source},
                                Part{source, destination, Reach::kNetwork},
                                Part{destination, fabric().gpu_node(to)}};
      add_branch(parts, static_cast<std::uint32_t>(pairs * queues), flow * queues + at % queues, path);
    }
    return path;
  }

  [[nodiscard]] bool same_host(GpuId a, GpuId b) const { return fabric().host_of(a) == fabric().host_of(b); }

  [[nodiscard]] Path gpu_path(GpuId from, GpuId exit, GpuId to, std::uint64_t flow) const {
    if (from == to) {
      return {};
    }
    if (same_host(from, to)) {
      if (auto path = policy->path(fabric().gpu_node(from), fabric().gpu_node(to), Reach::kHost, flow)) {
        return *std::move(path);
      }
      exit = from;
    }
    return over_network(from, exit, to, flow);
  }

  [[nodiscard]] Path storage_path(GpuId gpu, std::uint32_t index, bool write) const {
    const std::vector<NodeId> ends = ends_of(gpu);
    const NodeId node = cluster.storage[index].node;
    const ResourceId rate(first_storage + 2 * index + (write ? 1U : 0U));
    Path path;
    if (!write) {
      path.hops.push_back({rate, 1, 1});
    }
    for (const NodeId end : ends) {
      const NodeId self = fabric().gpu_node(gpu);
      const std::array parts = write ? std::array{Part{self, end}, Part{end, node, Reach::kNetwork}}
                                     : std::array{Part{node, end, Reach::kNetwork}, Part{end, self}};
      add_branch(parts, static_cast<std::uint32_t>(ends.size()), 0, path);
    }
    if (write) {
      path.hops.push_back({rate, 1, 1});
    }
    return path;
  }

  template <class Make>
  const Path& cached(const Request& request, const Make& make) {
    if (const auto found = paths.find(request); found != paths.end()) {
      return found->second;
    }
    return paths.emplace(request, make()).first->second;
  }
};

Router::Router(const topology::Cluster& cluster, std::string_view policy, std::uint64_t seed)
    : state_(std::make_unique<State>(cluster, find_policy(policy))) {
  State& state = *state_;
  state.policy = state.entry.make(cluster.topology, cluster.faults, seed);
  state.resources = state.policy->resources();
  state.first_storage = static_cast<std::uint32_t>(state.resources.size());
  for (const topology::Storage& storage : cluster.storage) {
    const std::uint16_t tier = cluster.topology.link(cluster.topology.out_links(storage.node).front()).tier;
    for (const Bandwidth rate : {storage.read, storage.write}) {
      state.resources.push_back({rate.bytes_per_second(), rate.bytes_per_second(), tier, {}});
    }
  }
}

Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
Router::~Router() = default;

const topology::Cluster& Router::cluster() const {
  return state_->cluster;
}
const topology::Topology& Router::topology() const {
  return state_->fabric();
}
std::string_view Router::policy() const {
  return state_->entry.name;
}
std::span<const Resource> Router::resources() const {
  return state_->resources;
}

void Router::prepare(std::span<const GpuId> destinations) const {
  if (thread_count() < 2) {
    return;
  }
  std::vector<NodeId> nodes;
  for (const GpuId gpu : destinations) {
    const std::vector<NodeId> ends = state_->ends_of(gpu);
    nodes.insert(nodes.end(), ends.begin(), ends.end());
  }
  state_->policy->prepare(nodes);
}

const Path& Router::between(GpuId from, GpuId to, std::uint64_t flow) const {
  return between_by(from, from, to, flow);
}

Path Router::find(GpuId from, GpuId to, std::uint64_t flow) const {
  return find_by(from, from, to, flow);
}
Path Router::find_by(GpuId from, GpuId exit, GpuId to, std::uint64_t flow) const {
  STEPCAST_CHECK(state_->same_host(from, exit), "GPU {} cannot leave by GPU {} of another host", from.index(),
                 exit.index());
  return state_->gpu_path(from, exit, to, state_->entry.uses_flow ? flow : 0);
}

const Path& Router::between_by(GpuId from, GpuId exit, GpuId to, std::uint64_t flow) const {
  State& state = *state_;
  const std::uint64_t key = state.entry.uses_flow ? flow : 0;
  return state.cached({from.index(), exit.index(), to.index(), key},
                      [&] { return find_by(from, exit, to, flow); });
}

const Path& Router::to_storage(GpuId from, std::uint32_t index) const {
  STEPCAST_CHECK(index < state_->cluster.storage.size(), "storage {}", index);
  return state_->cached({from.index(), kToStorage, index, 0},
                        [&] { return state_->storage_path(from, index, true); });
}

const Path& Router::from_storage(std::uint32_t index, GpuId to) const {
  STEPCAST_CHECK(index < state_->cluster.storage.size(), "storage {}", index);
  return state_->cached({to.index(), kFromStorage, index, 0},
                        [&] { return state_->storage_path(to, index, false); });
}

bool Router::crosses_network(GpuId a, GpuId b) const {
  if (a == b) {
    return false;
  }
  const topology::Topology& fabric = state_->fabric();
  return !state_->same_host(a, b) ||
         !state_->policy->path(fabric.gpu_node(a), fabric.gpu_node(b), Reach::kHost, 0).has_value();
}

std::vector<ResourceId> Router::resources_of(const topology::Fault& fault) const {
  std::vector<ResourceId> found;
  for (const LinkId link : fault.links) {
    found.push_back(state_->policy->resource_of(link));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace stepcast::routing
