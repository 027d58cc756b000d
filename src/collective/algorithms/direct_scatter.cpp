// Direct scatter: the root sends every member its part.
//
// Scope:        any group; equal parts.
// Assumes:      all parts are under way at once.
// Not covered:  PXN: all parts leave by the NIC of the root.
// Source:       nccl-tests src/scatter.cu (a group of sends).
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/star.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t root) {
  return star_schedule(Kind::kScatter, places, channels, root);
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t root) {
  return star_pattern(places, channels, root, true);
}

}  // namespace

Algorithm direct_scatter_algorithm() {
  return {.name = "direct_scatter",
          .family = "direct",
          .summary = "the root sends every member its part",
          .kind = Kind::kScatter,
          .scope = "any group; equal parts",
          .source = "nccl-tests src/scatter.cu: a group of sends",
          .limits = "all parts leave by the NIC of the root",
          .schedule = &schedule,
          .channels = &single_channel,
          .pattern = &pattern,
          .steady_states = &star_steady_states,
          .messages = &star_messages,
          .rooted = true};
}

}  // namespace stepcast::collective
