#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/algorithms/tree.hpp"

// What the CollNet leaves share: one head a host and channel, and switches that add what the heads send.
namespace stepcast::collective {

[[nodiscard]] std::string collnet_available(const topology::Cluster& cluster);
[[nodiscard]] std::string collnet_fits(const Places& places);
[[nodiscard]] std::uint32_t collnet_channels(const Places& places);

/// A head's hop to the switches and back; on links between switches one reduced copy.
void add_switch_edges(std::vector<Edge>& edges, const Places& places, std::uint32_t channel);
/// Lane of the switches (rank `members`) for a channel: adds the chunk of all heads, gives the sum to each.
[[nodiscard]] Lane switch_lane(const Places& places, std::uint32_t channel);
/// The head's steps around the switches: sends `source`, gets the sum into the output.
void add_head_steps(Lane& lane, std::uint32_t members, Buffer source);

}  // namespace stepcast::collective
