#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithm.hpp"

// What algorithms in levels (hosts and rails, dimensions of a torus) share: rings of some of the members on
// some of the chunks, as parts of a lane.
namespace stepcast::collective {

/// A ring among some members on `order.size()` pieces of `count` chunks each, the first at `first`.
struct LevelRing {
  std::vector<std::uint32_t> order;  ///< member by position
  std::uint32_t position = 0;        ///< of the member whose lane it is
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

/// Reduce-scatter: position p ends with the sum of piece p. In place, in the output buffer.
void add_level_reduce_scatter(Lane& lane, const LevelRing& ring);
/// All-gather: position p begins with piece p.
void add_level_all_gather(Lane& lane, const LevelRing& ring);

/// `parts` numbers whose product is n, as near to each other as they can be, largest first, without ones.
[[nodiscard]] std::vector<std::uint32_t> near_factors(std::uint32_t n, std::uint32_t parts);

}  // namespace stepcast::collective
