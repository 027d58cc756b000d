// Hierarchical all-gather: all-gather in each level, the outermost first.
//
// Scope:        any group that can be cut in levels of equal sizes; an algorithm for each level.
// Assumes:      the buffer goes through the levels in chunks: while one chunk is in a level the next is in
//               the level before. The first chunk passes the levels one after the other (as if alone), then
//               all levels are busy: max + (sum - max) / k for k chunks; levels that share links add up.
// Not covered:  levels of unequal sizes; with nvls, its efficiency once all levels are busy.
// Source:       Mikami et al., arXiv 1811.05233 (2D-torus all-reduce); BlueConnect, MLSys 2019.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/hierarchy_test.cpp.
#include "collective/algorithms/hierarchy.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return hierarchy_schedule(Kind::kAllGather, places, channels);
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return hierarchy_pattern(Kind::kAllGather, places, channels);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return hierarchy_steady_states(Kind::kAllGather, setting);
}

double messages(const Places& places, std::uint32_t channels) {
  return hierarchy_messages(Kind::kAllGather, places, channels);
}

}  // namespace

Algorithm hierarchical_all_gather_algorithm() {
  return {.name = "hierarchical_all_gather",
          .family = "hierarchical",
          .summary = "all-gather in each level, the outermost first",
          .kind = Kind::kAllGather,
          .scope = kHierarchyScope,
          .source = kHierarchySource,
          .limits = kHierarchyLimits,
          .schedule = &schedule,
          .channels = &hierarchy_channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &hierarchy_problem,
          .shaped = true};
}

}  // namespace stepcast::collective
