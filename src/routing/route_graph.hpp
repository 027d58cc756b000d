#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/id.hpp"
#include "routing/router.hpp"
#include "topology/cluster.hpp"
#include "topology/topology.hpp"

namespace stepcast::routing {

/// The fabric folded to classes of nodes that are wired alike, with trunks of links between them.
/// Shared by the policies of policies/; not used outside this folder.
///
/// Colour refinement: every GPU, NIC and storage node has a colour of its own; switches of any kind
/// start by kind and host and are refined by their neighbourhoods, links coloured by capacity,
/// payload rate, latency, cost, tier and the faults that hit them, until stable. Links with equal
/// (class of from, class of to, cost, tier, faults) are one trunk, which is one resource with the sum of
/// their rates. The partition is equitable (checked in exact counts), so a flow that every node splits
/// equally over equal-cost links, and in proportion to their rates over links to one class, loads all
/// links of a trunk alike.
///
/// With `Links::kEach` the fabric's links (those that touch a switch outside hosts) are a trunk each;
/// links inside a host still form trunks, since NVLink stripes every transfer over its switches.
class RouteGraph {
 public:
  enum class Links : std::uint8_t { kTrunks, kEach };

  RouteGraph(const topology::Topology& topology, std::span<const topology::Fault> faults, Links links);

  /// One per trunk, by ResourceId.
  [[nodiscard]] std::vector<Resource> resources() const;
  [[nodiscard]] ResourceId resource_of(LinkId link) const { return trunk_of_link_[link.index()]; }

  /// Searches side by side for the network distances to the nodes that have not been asked for yet.
  void prepare(std::span<const NodeId> destinations) const;

  /// Shares over all shortest paths, as exact fractions; nothing when there is no path. Neighbours of
  /// different classes share by their number of links, trunks to one class by nameplate capacity.
  /// Throws UnsupportedError when a share does not fit 32 bits.
  /// Not for several threads at once: what lies between two switches is kept.
  [[nodiscard]] std::optional<Path> spread(NodeId from, NodeId to, Reach reach) const;

  /// One choice among the equal-cost next links at a node: an index below `candidates`. `above` is
  /// the product of the numbers of candidates at the hops before; 1 where the hop goes down a tier.
  using Choice = std::function<std::uint32_t(NodeId at, std::uint32_t candidates, std::uint64_t above)>;

  /// The single path that `choose` picks; candidates are ordered by neighbour, then link. Inside a
  /// host as spread(). REQUIRES: Links::kEach.
  [[nodiscard]] std::optional<Path> walk(NodeId from, NodeId to, Reach reach, const Choice& choose) const;

 private:
  /// A trunk from one class to another.
  struct Trunk {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t bundle = 0;
    std::uint32_t links_per_node = 0;  // at a node of `from`
    std::uint64_t bits_per_node = 0;   // their nameplate capacity, per second
    std::uint32_t cost = 1;
    bool usable = true;    // false: down for good
    bool network = false;  // not inside one host
    Duration latency;      // of its slowest link
  };
  /// A usable trunk to (or from) a forwarding class of its scope, packed for searches.
  struct Arc {
    std::uint32_t trunk = 0;
    std::uint32_t other = 0;        // class
    std::uint32_t other_index = 0;  // its NodeClass::index
    std::uint32_t cost = 1;
  };
  struct Adjacency {
    std::vector<std::uint32_t> begin;  // by class
    std::vector<Arc> arcs;
    [[nodiscard]] std::span<const Arc> of(std::uint32_t node_class) const {
      return std::span(arcs).subspan(begin[node_class], begin[node_class + 1] - begin[node_class]);
    }
  };
  struct NodeClass {
    NodeId representative;
    std::uint32_t size = 0;
    std::uint32_t scope = kNoScope;  // where it forwards: a host, the network, or nowhere
    std::uint32_t index = 0;         // among the forwarding classes of its scope
  };
  static constexpr std::uint32_t kNoScope = 0xffffffffU;
  using Distances = std::vector<std::uint32_t>;

  /// How far every forwarding class of a scope is from a destination.
  struct Target {
    std::uint32_t destination = 0;
    bool network = false;
    const Distances* distances = nullptr;
    std::uint32_t tail = 0;  // added: distances are to the one switch before the destination
  };

  void colour_links(std::span<const topology::Fault> faults, Links links);
  void colour_nodes(Links links);
  void make_trunks();
  void number_scopes();
  void make_adjacency();

  /// The class whose distances serve a destination in the network: its one switch, or itself.
  [[nodiscard]] std::uint32_t network_root(std::uint32_t destination) const;
  [[nodiscard]] Target target(std::uint32_t destination, std::uint32_t scope) const;
  [[nodiscard]] const Distances& distances(std::uint32_t destination, std::uint32_t scope) const;
  /// Calls visit(trunk, distance) for every usable trunk towards the target, ordered by class of its
  /// other end, then bundle; trunks straight to the destination come first.
  template <class Visit>
  void for_each_next(std::uint32_t node_class, const Target& target, const Visit& visit) const;
  [[nodiscard]] std::uint32_t shortest(std::uint32_t node_class, const Target& target) const;
  /// spread() between two classes.
  [[nodiscard]] std::optional<Path> search(std::uint32_t start, const Target& goal) const;
  /// From one NIC on one switch to another: what lies between the switches is searched once for all.
  [[nodiscard]] std::optional<Path> between_ends(const Arc& first, const Arc& last) const;
  [[nodiscard]] bool joined(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t scope_of(NodeId from, NodeId to, Reach reach) const;

  const topology::Topology& topology_;
  std::vector<std::uint32_t> link_colour_;  // dense: what makes nodes different
  std::vector<std::uint32_t>
      link_bundle_;                      // dense: links of one bundle between the same classes are one trunk
  std::vector<std::uint8_t> down_;       // by link: down for good
  std::vector<std::uint32_t> class_of_;  // by node
  std::vector<NodeClass> classes_;
  std::vector<Trunk> trunks_;  // by from, then to, then bundle
  std::vector<std::uint32_t> first_trunk_;
  // Inside hosts and in the network: trunks to forwarding classes, and back from them.
  Adjacency forward_[2];
  Adjacency backward_[2];
  std::vector<ResourceId> trunk_of_link_;
  std::uint32_t network_scope_ = 0;  // hosts are scopes 0 .. network_scope_ - 1
  std::vector<std::uint32_t> scope_size_;
  mutable std::vector<Distances> network_distances_;  // by class, filled when first asked
  mutable std::vector<Distances> host_distances_;
  mutable std::unordered_map<std::uint64_t, std::optional<Path>> between_switches_;  // by class, class
};

}  // namespace stepcast::routing
