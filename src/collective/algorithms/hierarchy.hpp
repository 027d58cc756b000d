#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collective/algorithm.hpp"

// What the hierarchical leaves share: a group cut in levels, each with an algorithm of its own.
namespace stepcast::collective {

enum class LevelKind : std::uint8_t { kRing, kHalvingDoubling, kTree, kDirect, kNvls };

/// One level: `size` members (or units) in each group, which stand `stride` positions apart.
struct Level {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;
  LevelKind kind = LevelKind::kRing;
  bool network = false;  ///< some hop crosses the network
};

/// A group in levels, innermost first. Positions count through the levels, innermost fastest.
class Hierarchy {
 public:
  /// REQUIRES: hierarchy_problem(places) is empty.
  /// `usual`: algorithm of levels without one.
  explicit Hierarchy(const Places& places, LevelKind usual = LevelKind::kRing);

  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }
  [[nodiscard]] std::uint32_t members() const { return static_cast<std::uint32_t>(member_.size()); }
  [[nodiscard]] std::uint32_t member(std::uint32_t position) const { return member_[position]; }
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t position, std::size_t level) const {
    return position / levels_[level].stride % levels_[level].size;
  }
  /// First position of the group of a level that a position belongs to.
  [[nodiscard]] std::uint32_t base(std::uint32_t position, std::size_t level) const {
    return position - coordinate(position, level) * levels_[level].stride;
  }

 private:
  std::vector<Level> levels_;
  std::vector<std::uint32_t> member_;
};

/// Why a group cannot be cut as its shape says, or empty.
[[nodiscard]] std::string hierarchy_problem(const Places& places);
/// ... for all-to-all, whose levels exchange directly.
[[nodiscard]] std::string hierarchy_exchange_problem(const Places& places);

/// Reduce-scatters from the innermost level outwards, all-gathers back: either, or both (all-reduce).
[[nodiscard]] Schedule hierarchy_schedule(Kind kind, const Places& places, std::uint32_t channels);
[[nodiscard]] Pattern hierarchy_pattern(Kind kind, const Places& places, std::uint32_t channels);
[[nodiscard]] std::vector<SteadyState> hierarchy_steady_states(Kind kind, const Setting& setting);
[[nodiscard]] double hierarchy_messages(Kind kind, const Places& places, std::uint32_t channels);
[[nodiscard]] std::uint32_t hierarchy_channels(const Places& places);

// What `explain` says of all of them.
inline constexpr std::string_view kHierarchyScope =
    "levels from the fabric (hosts, units that share a switch, all) or by --algo hierarchical:8x4x4, "
    "algorithms "
    "by hierarchical:ring,tree or hierarchical:8x4x4=nvls,ring,halving_doubling; ring, tree, "
    "halving_doubling, "
    "direct, and in hosts nvls";
inline constexpr std::string_view kHierarchySource =
    "Mikami et al., arXiv 1811.05233; Cho et al. (BlueConnect), MLSys 2019";
inline constexpr std::string_view kHierarchyLimits =
    "chunks of 4 MiB, at most 64: max + (sum - max) / k of the levels; levels that share links add up there";

}  // namespace stepcast::collective
