#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"
#include "config/option.hpp"
#include "topology/cluster.hpp"
#include "topology/topology.hpp"

namespace stepcast::routing {

/// A capacity that flows share: one link, or under `balanced` a trunk of equal links that always
/// carry equal shares (capacity = number of links x the slowest).
struct Resource {
  double bytes_per_second = 0;  ///< effective
  double nameplate_bytes_per_second = 0;
  std::uint16_t tier = 0;  ///< of the topology
  std::vector<LinkId> links;
};

/// Share of each byte of a transfer that crosses a resource: numerator / denominator.
struct Hop {
  ResourceId resource;
  std::uint32_t numerator = 1;
  std::uint32_t denominator = 1;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// Where the bytes of one transfer go. `latency` is the longest of the equal-cost paths.
struct Path {
  std::vector<Hop> hops;
  Duration latency;
};

/// Where a path may go: inside one host, or between network end points (NICs, storage, GPUs wired to
/// a switch) over fabric switches.
enum class Reach : std::uint8_t { kHost, kNetwork };

/// A path policy: one leaf in policies/, one line in policies.def.
class Policy {
 public:
  virtual ~Policy() = default;
  /// All resources, by ResourceId.
  [[nodiscard]] virtual std::vector<Resource> resources() const = 0;
  /// The resource that a link belongs to.
  [[nodiscard]] virtual ResourceId resource_of(LinkId link) const = 0;
  /// Finds side by side what paths over the network to these nodes need; path() then only looks it up.
  virtual void prepare(std::span<const NodeId> destinations) const = 0;
  /// Path between two different nodes by the policy, or nothing when there is none. Only switches
  /// forward. `flow` distinguishes flows of the same pair (hash input).
  [[nodiscard]] virtual std::optional<Path> path(NodeId from,
                                                 NodeId to,
                                                 Reach reach,
                                                 std::uint64_t flow) const = 0;
};

/// Registry entry of a policy.
struct PolicyEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const config::Option> options;
  bool uses_flow = false;  ///< the path depends on the flow number
  /// `faults` make otherwise equal links different (a trunk never holds links of different fate).
  std::unique_ptr<Policy> (*make)(const topology::Topology& topology,
                                  std::span<const topology::Fault> faults,
                                  std::uint64_t seed) = nullptr;
};
[[nodiscard]] std::span<const PolicyEntry> policies();

/// Routes of a cluster: GPU to GPU inside an NVLink domain directly, else through the NICs of both
/// ends (equal shares over the NICs of a GPU), by the chosen policy. Links that a fault takes down
/// from the start and for good carry nothing; other faults leave the routes as they are. Paths are
/// cached; not thread-safe: one Router per simulation. The cluster must outlive it.
class Router {
 public:
  /// `policy` is a name of policies(); an unknown one is an InputError with a suggestion.
  Router(const topology::Cluster& cluster, std::string_view policy, std::uint64_t seed = 0);
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;
  ~Router();

  [[nodiscard]] const topology::Cluster& cluster() const;
  [[nodiscard]] const topology::Topology& topology() const;
  [[nodiscard]] std::string_view policy() const;

  /// Capacities of the fabric, then two per storage system (its read and write rate).
  [[nodiscard]] std::span<const Resource> resources() const;

  /// Says that paths over the network to these GPUs will be asked for, so that the searches can run on all
  /// threads (base/parallel.hpp). Changes no path; does nothing with one thread.
  void prepare(std::span<const GpuId> destinations) const;

  /// Empty for from == to. Throws InputError, at the fabric, when no path of switches joins them.
  [[nodiscard]] const Path& between(GpuId from, GpuId to, std::uint64_t flow = 0) const;
  /// As between() and between_by(), for pairs that are asked for once: nothing is kept.
  [[nodiscard]] Path find(GpuId from, GpuId to, std::uint64_t flow = 0) const;
  [[nodiscard]] Path find_by(GpuId from, GpuId exit, GpuId to, std::uint64_t flow = 0) const;
  /// From GPU `from` into the network by the NIC of GPU `exit` of the same host (NVLink first when
  /// they differ: PXN-like forwarding) to GPU `to` of another host (else as between()).
  [[nodiscard]] const Path& between_by(GpuId from, GpuId exit, GpuId to, std::uint64_t flow = 0) const;
  /// To or from storage system `index`, ending in its write (or read) rate.
  [[nodiscard]] const Path& to_storage(GpuId from, std::uint32_t index) const;
  [[nodiscard]] const Path& from_storage(std::uint32_t index, GpuId to) const;

  /// True when the path between two GPUs leaves the NVLink domain (uses NICs).
  [[nodiscard]] bool crosses_network(GpuId a, GpuId b) const;

  /// Resources whose capacity is multiplied by the fault's factor (none for a slow GPU), in order.
  [[nodiscard]] std::vector<ResourceId> resources_of(const topology::Fault& fault) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepcast::routing
