#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"
#include "config/node.hpp"

namespace stepcast::topology {

enum class NodeKind : std::uint8_t { kGpu, kNvSwitch, kPcieSwitch, kNic, kSwitch, kStorage };

/// Vertex of the fabric.
struct Node {
  NodeKind kind = NodeKind::kSwitch;
  std::uint8_t tier = 0;         ///< of a kSwitch: 0 leaf, 1 spine, 2 core
  std::uint32_t host = kNoHost;  ///< NVLink domain / server; kNoHost for fabric switches and storage
  std::uint32_t index = 0;       ///< within its kind and owner (GPU 3 of its host, leaf 17 of the fabric)
  std::uint32_t route_key = 0;   ///< destination number for D-mod-k (set on NICs and GPUs by the builder)
  std::string name = {};         ///< "h12.gpu3", "h12.nic3", "leaf17", "spine2", "core0", "storage"

  static constexpr std::uint32_t kNoHost = 0xffffffffU;
};

/// Directed edge. Parallel links are separate edges.
struct Link {
  NodeId from = {};
  NodeId to = {};
  Bandwidth capacity = {};   ///< nameplate, one direction
  Bandwidth effective = {};  ///< payload rate that a saturating transfer reaches; the network model uses it
  Duration latency = {};
  std::uint16_t tier = 0;  ///< index into Topology::tiers(): "NVLink", "PCIe", "NIC", "leaf-spine", ...
  std::uint16_t cost = 1;  ///< path length for shortest-path routing
};

/// The immutable fabric graph. Correctness properties, checked in `build` with one error each:
/// every link joins two existing, different nodes; every capacity is positive; every latency is not
/// negative; names are unique; every pair of GPUs is connected in both directions (else the error
/// names two GPUs that are not).
class Topology {
 public:
  /// What builders fill; `Topology::build` checks and freezes it.
  struct Draft {
    std::vector<Node> nodes;
    std::vector<Link> links;
    std::vector<std::string> tiers;             ///< names of link tiers
    std::vector<std::vector<NodeId>> gpu_nics;  ///< by GpuId: the NICs a GPU uses (empty: none)
    std::vector<std::string> notes;  ///< what the builder had to round or leave out, for the report

    NodeId add_node(Node node);
    /// Adds both directions.
    void add_cable(NodeId a, NodeId b, const Link& like);
    std::uint16_t tier(std::string_view name);
  };

  /// Throws InputError (unconnected GPUs, bad links); the text names the place of `where` when given.
  [[nodiscard]] static Topology build(Draft draft, const config::Node& where = {});

  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  [[nodiscard]] std::span<const Node> nodes() const;
  [[nodiscard]] std::span<const Link> links() const;
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Link& link(LinkId id) const;
  /// Out-edges of a node, in link order.
  [[nodiscard]] std::span<const LinkId> out_links(NodeId id) const;
  [[nodiscard]] std::span<const LinkId> in_links(NodeId id) const;
  [[nodiscard]] std::span<const std::string> tiers() const;
  [[nodiscard]] std::span<const std::string> notes() const;

  [[nodiscard]] std::uint32_t gpu_count() const;
  [[nodiscard]] NodeId gpu_node(GpuId gpu) const;
  [[nodiscard]] std::uint32_t host_of(GpuId gpu) const;
  [[nodiscard]] std::span<const NodeId> nics_of(GpuId gpu) const;
  [[nodiscard]] std::optional<NodeId> find(std::string_view name) const;
  /// Storage nodes, in node order.
  [[nodiscard]] std::span<const NodeId> storage_nodes() const;

 private:
  Topology();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepcast::topology
