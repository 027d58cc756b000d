#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "collective/places.hpp"
#include "collective/schedule.hpp"
#include "topology/cluster.hpp"

namespace stepcast::collective {

/// What members' numbers become: NVLink switches add some types, compare fewer, and do nothing else.
enum class Reduction : std::uint8_t { kSum, kMinMax, kOther };
/// "sum", "max" and "min", all others (prod, avg ...).
[[nodiscard]] Reduction reduction_of(std::string_view name);

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
[[nodiscard]] std::string_view name_of(Protocol protocol);
[[nodiscard]] const std::vector<std::string>& protocol_names();
/// By name as above; nothing for another word.
[[nodiscard]] std::optional<Protocol> find_protocol(std::string_view name);

/// Which part of the path between two members an edge of a pattern takes.
enum class Via : std::uint8_t {
  kWhole,  ///< from the GPU of `from` to the GPU of `to`
  kUp,     ///< from the GPU of `from` to the first switch on the way that reduces: what a member gives it
  kDown,   ///< from the last such switch to the GPU of `to`: what a member gets from it
  kTree,   ///< between fabric switches: reduced streams, of which a link carries one however many meet there
};

/// `weight` bytes per unit of progress from one member to another.
struct Edge {
  std::uint32_t channel = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t exit = 0;  ///< member of the same host whose NIC is used when the edge leaves it
  std::uint32_t weight = 1;
  Via via = Via::kWhole;
};

/// What an algorithm sends on a group in its pipelined steady state. Phases follow one another; the edges
/// of a phase are busy at the same time, all at the same progress. Most algorithms have one phase.
struct Pattern {
  std::vector<std::vector<Edge>> phases;
};

/// What the phases are timed for.
struct Setting {
  const Places& places;
  std::uint32_t channels = 1;  ///< of the pattern
  std::uint32_t crossing_hops =
      0;  ///< edges of one channel that cross the network (the largest, first phase)
  std::uint32_t root = 0;
  Bytes bytes;
  std::uint32_t host_channels = 1;  ///< channels that fill NVLink, of the host kind
  double efficiency_nvls = 1;       ///< of the host kind
};

/// One phase of an algorithm in its steady state.
struct SteadyState {
  std::int64_t steps = 0;          ///< k: hops one after the other from the first send to the last receive
  std::int64_t network_steps = 0;  ///< of these, over the network
  /// Bytes per unit of weight, all channels together: bytes * numerator / denominator. Each channel has an
  /// equal part of it.
  std::int64_t share_numerator = 0;
  std::int64_t share_denominator = 1;
  bool last_step_exposed = false;  ///< the last receive is not overlapped with a send (kappa / k more)
  std::uint32_t pieces = 1;        ///< pieces of the buffer that use a channel one after the other
  /// Weight on the NVLink port of a member, both what it sends and what it gets at most: what channels share.
  std::uint32_t port_weight = 1;
  double nvls_passes = 0;  ///< up and down through NVLink switches that add
  bool exchange = false;   ///< all pairs at once
  bool even = false;       ///< all hops are busy all the time when played step by step, too
  double efficiency = 1;   ///< useful share of the wire besides that of the protocol
  /// By member: how far down the pipeline it stands; done earlier than the deepest by the hops between.
  /// Empty: all are done together.
  std::vector<std::uint32_t> depth;
};

/// A collective algorithm: one leaf in algorithms/, one line in algorithms.def.
struct Algorithm {
  std::string_view name;    ///< "ring_all_reduce"
  std::string_view family;  ///< "ring": what --algo names
  std::string_view summary;
  Kind kind;
  std::string_view scope;   ///< for which groups, and what is assumed
  std::string_view source;  ///< paper or code that describes it
  std::string_view limits;  ///< what is not modelled
  /// Pure schedule of the group in `channels` channels; ranks are members, switches that reduce follow.
  Schedule (*schedule)(const Places& places, std::uint32_t channels, std::uint32_t root);
  /// Channels that differ in their routes: a hint of fewer takes the first of them.
  std::uint32_t (*channels)(const Places& places);
  /// What the schedule amounts to in the steady state, for at least two members. Algorithms that load the
  /// fabric alike share the function: a group is laid out once for all of them.
  Pattern (*pattern)(const Places& places, std::uint32_t channels, std::uint32_t root);
  /// One entry for each phase of the pattern.
  std::vector<SteadyState> (*steady_states)(const Setting& setting);
  /// Messages of the schedule, at most.
  double (*messages)(const Places& places, std::uint32_t channels);
  /// What the algorithm needs of a group, or of the cluster, that is not there; empty = nothing.
  std::string (*fits)(const Places& places) = nullptr;
  std::string (*available)(const topology::Cluster& cluster) = nullptr;
  bool simple_only = false;        ///< needs protocol Simple
  bool rooted = false;             ///< the pattern depends on the root
  bool default_for_kind = false;   ///< without a hint, always this one; without any such, the fastest
  bool reduces_in_fabric = false;  ///< has edges in fabric switches, which no single message shows
  bool forwards_by_rail = false;   ///< leaves by NICs of other members (PXN)
  bool shaped = false;             ///< a hint may say sizes and algorithms of levels after a colon
  bool sends_own_chunks = false;   ///< every member sends its own data where it belongs: parts may differ
  Bytes least = Bytes(0);          ///< a call moves at least so many bytes (barrier)
};

/// All algorithms, in the order of algorithms.def.
[[nodiscard]] std::span<const Algorithm> algorithms();

}  // namespace stepcast::collective
