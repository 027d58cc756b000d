#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collective/algorithm.hpp"

// What the ring leaves share.
namespace stepcast::collective {

/// A ring through all members of a group.
struct Ring {
  std::vector<std::uint32_t> order;  ///< member by position
  std::vector<std::uint32_t> exit;   ///< by position: member whose NIC takes the hop that follows

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(order.size()); }
  [[nodiscard]] std::uint32_t position_of(std::uint32_t member) const;
};

/// Ring `channel` of a group. One host: the order of the group. Hosts with g members each: ring c visits
/// members c, c+1, ..., c+g-1 (mod g) of each host and leaves by the NIC of member c to member c of the next
/// host, so that its traffic stays on one rail. Hosts with unequal numbers: host by host.
[[nodiscard]] Ring ring_of(const Places& places, std::uint32_t channel);

/// A member's view of a ring: what its steps refer to.
struct RingPlace {
  const Ring& ring;
  std::uint32_t position = 0;

  [[nodiscard]] std::uint32_t size() const { return ring.size(); }
  /// The position `distance` places before this one (distance < size).
  [[nodiscard]] std::uint32_t before(std::uint32_t distance) const {
    return (position + size() - distance) % size();
  }
  [[nodiscard]] std::uint32_t member_before(std::uint32_t distance) const {
    return ring.order[before(distance)];
  }
  /// A step of this member on one chunk, with the ring's peers.
  [[nodiscard]] Step step(Action action, Buffer from, Buffer to, std::uint32_t chunk) const {
    Step made;
    made.action = action;
    made.receive_peer = member_before(1);
    made.send_peer = ring.order[(position + 1) % size()];
    made.source = {.buffer = from, .offset = chunk, .count = 1};
    made.destination = {.buffer = to, .offset = chunk, .count = 1};
    return made;
  }
};

/// Steps of one member in one channel.
using RingSteps = std::function<std::vector<Step>(const RingPlace& place, std::uint32_t channel)>;
/// One lane for each member and channel. `chunks`: of the buffer.
[[nodiscard]] Schedule ring_schedule(
    Kind kind, const Places& places, std::uint32_t channels, std::uint32_t chunks, const RingSteps& steps);

/// Pattern of the closed rings: one edge for each hop of each ring.
[[nodiscard]] Pattern ring_pattern(const Places& places, std::uint32_t channels, std::uint32_t root);
[[nodiscard]] std::uint32_t ring_channels(const Places& places);
/// `steps` hops one after the other, spread evenly over the ring's hops inside hosts and between them.
[[nodiscard]] SteadyState ring_steady_state(const Setting& setting, std::int64_t steps);

/// The ring all-reduce, which is also a barrier.
[[nodiscard]] Schedule ring_all_reduce_schedule(Kind kind, const Places& places, std::uint32_t channels);
[[nodiscard]] std::vector<SteadyState> ring_all_reduce_steady_states(const Setting& setting);
[[nodiscard]] double ring_all_reduce_messages(const Places& places, std::uint32_t channels);

}  // namespace stepcast::collective
