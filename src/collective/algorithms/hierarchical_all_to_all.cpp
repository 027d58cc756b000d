// Hierarchical all-to-all: an exchange among the members of each level, one level after the other.
//
// Scope:        any group that can be cut in levels of equal sizes; direct exchanges.
// Assumes:      the buffer goes through the levels in chunks: while one chunk is in a level the next is in
//               the level before. The first chunk passes the levels one after the other (as if alone), then
//               all levels are busy: max + (sum - max) / k for k chunks; levels that share links add up.
// Not covered:  levels of unequal sizes; uneven splits.
// Source:       Bruck et al., IEEE TPDS 8(11), 1997 (in dimensions); Rajbhandari et al. (DeepSpeed-MoE),
// arXiv 2201.05596. Validated by: tests/property/schedule_property_test.cpp,
// tests/unit/collective/hierarchy_test.cpp.
#include "collective/algorithms/hierarchy.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return hierarchy_schedule(Kind::kAllToAll, places, channels);
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return hierarchy_pattern(Kind::kAllToAll, places, channels);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return hierarchy_steady_states(Kind::kAllToAll, setting);
}

double messages(const Places& places, std::uint32_t channels) {
  return hierarchy_messages(Kind::kAllToAll, places, channels);
}

}  // namespace

Algorithm hierarchical_all_to_all_algorithm() {
  return {
      .name = "hierarchical_all_to_all",
      .family = "hierarchical",
      .summary =
          "an exchange in each level, the innermost first: blocks leave a host on the rail of their receiver",
      .kind = Kind::kAllToAll,
      .scope =
          "levels from the fabric (hosts, units that share a switch, all) or by --algo hierarchical:8x4x4",
      .source = "Bruck et al., IEEE TPDS 8(11), 1997; Rajbhandari et al., arXiv 2201.05596",
      .limits = kHierarchyLimits,
      .schedule = &schedule,
      .channels = &hierarchy_channels,
      .pattern = &pattern,
      .steady_states = &steady_states,
      .messages = &messages,
      .fits = &hierarchy_exchange_problem,
      .shaped = true};
}

}  // namespace stepcast::collective
