#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/algorithm.hpp"

// What the leaves with NVLink SHARP share: NVLink switches that reduce and multicast.
namespace stepcast::collective {

[[nodiscard]] std::string nvls_available(const topology::Cluster& cluster);
[[nodiscard]] std::string nvls_fits(const Places& places);
[[nodiscard]] std::uint32_t nvls_channels(const Places& places);
/// Every member gives its switch `up` units and gets `down` units.
[[nodiscard]] Pattern nvls_pattern(const Places& places,
                                   std::uint32_t channels,
                                   std::uint32_t up,
                                   std::uint32_t down);
/// One unit is the n-th part of the buffer.
[[nodiscard]] std::vector<SteadyState> nvls_steady_states(const Setting& setting,
                                                          std::int64_t hops,
                                                          std::uint32_t port_weight);
/// Lanes without steps: of every member and of the switch (rank `members`) for each channel, switch last.
[[nodiscard]] Schedule nvls_schedule(Kind kind, const Places& places, std::uint32_t channels);
/// The switch adds chunk `chunk` of all members and gives the sum to `owner`.
void add_switch_reduction(Lane& lane, std::uint32_t members, std::uint32_t chunk, std::uint32_t owner);
/// The switch copies chunk `chunk` of `owner` to all members.
void add_switch_copies(Lane& lane, std::uint32_t members, std::uint32_t chunk, std::uint32_t owner);

}  // namespace stepcast::collective
