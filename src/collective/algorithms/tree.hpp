#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithm.hpp"

// What the leaves with trees share.
namespace stepcast::collective {

/// A rooted tree over hosts or members.
struct Tree {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::vector<std::uint32_t> parent;  ///< kNone of the root
  std::vector<std::vector<std::uint32_t>> children;

  [[nodiscard]] std::uint32_t depth() const;  ///< hops from the deepest leaf to the root
};

/// One of the two binary trees over `count` places (`second`: the other one): every place is inside at most
/// one of them, so that both together keep every port busy in both directions.
[[nodiscard]] Tree binary_tree(std::uint32_t count, bool second);

/// Tree `channel` of a group: between hosts one of the two binary trees, inside each host a chain from the
/// member at its rail. Channels 0 .. rails-1 have the first binary tree, the next rails the second.
[[nodiscard]] Tree member_tree(const Places& places, std::uint32_t channel);
[[nodiscard]] std::uint32_t rail_of(const Places& places, std::uint32_t channel);
[[nodiscard]] bool second_tree(const Places& places, std::uint32_t channel);
[[nodiscard]] std::uint32_t tree_channels(const Places& places);
/// Hops between hosts from the deepest host to the root, over both trees.
[[nodiscard]] std::uint32_t host_tree_depth(const Places& places);

/// Reduce up the trees of members, then broadcast down. `kind`: all-reduce or barrier.
[[nodiscard]] Schedule tree_schedule(Kind kind, const Places& places, std::uint32_t channels);
[[nodiscard]] Pattern tree_pattern(const Places& places, std::uint32_t channels, std::uint32_t root);
[[nodiscard]] std::vector<SteadyState> tree_steady_states(const Setting& setting);
[[nodiscard]] double tree_messages(const Places& places, std::uint32_t channels);

/// Steps of a reduction into a lane: receives from `children` and adds, sends to `up` (kNone: keeps it), gets
/// the result from `up` and sends it to `children`. One chunk of the buffer.
void add_reduce_steps(Lane& lane,
                      const std::vector<std::uint32_t>& children,
                      std::uint32_t up,
                      std::uint32_t chunk);
void add_broadcast_steps(Lane& lane,
                         std::uint32_t up,
                         const std::vector<std::uint32_t>& children,
                         std::uint32_t chunk);

}  // namespace stepcast::collective
