#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "collective/algorithm.hpp"

// What PAT and Bruck share: rounds at distances that are powers of two, around the group.
namespace stepcast::collective {

/// Distances 1, 2, 4 ... below `members`.
[[nodiscard]] inline std::vector<std::uint32_t> power_distances(std::uint32_t members) {
  std::vector<std::uint32_t> distances;
  for (std::uint32_t distance = 1; distance < members; distance *= 2) {
    distances.push_back(distance);
  }
  return distances;
}

/// Edges from every member to the one `distance` after it (`forward`) or before it, of weight `weight`.
inline void add_shift(std::vector<Edge>& edges,
                      std::uint32_t members,
                      std::uint32_t channels,
                      std::uint32_t distance,
                      bool forward,
                      std::uint32_t weight) {
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < members; ++member) {
      const std::uint32_t other = (member + (forward ? distance : members - distance)) % members;
      edges.push_back({.channel = channel, .from = member, .to = other, .exit = member, .weight = weight});
    }
  }
}

/// True when some member and the one `distance` after it are on different hosts.
[[nodiscard]] inline bool shift_crosses(const Places& places, std::uint32_t distance) {
  for (std::uint32_t member = 0; member < places.members(); ++member) {
    if (!places.together(member, (member + distance) % places.members())) {
      return true;
    }
  }
  return false;
}

/// A step on one chunk.
[[nodiscard]] inline Step chunk_step(
    Action action, std::uint32_t from, std::uint32_t to, Buffer buffer, std::uint32_t chunk) {
  const ChunkRange range{.buffer = buffer, .offset = chunk, .count = 1};
  return {.action = action, .receive_peer = from, .send_peer = to, .source = range, .destination = range};
}

}  // namespace stepcast::collective
