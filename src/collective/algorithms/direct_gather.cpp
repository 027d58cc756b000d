// Direct gather: every member sends its part to the root.
//
// Scope:        any group; equal parts.
// Assumes:      all parts are under way at once.
// Not covered:  PXN: all parts arrive by the NIC of the root.
// Source:       nccl-tests src/gather.cu (a group of receives).
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/star.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t root) {
  return star_schedule(Kind::kGather, places, channels, root);
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t root) {
  return star_pattern(places, channels, root, false);
}

}  // namespace

Algorithm direct_gather_algorithm() {
  return {.name = "direct_gather",
          .family = "direct",
          .summary = "every member sends its part to the root",
          .kind = Kind::kGather,
          .scope = "any group; equal parts",
          .source = "nccl-tests src/gather.cu: a group of receives",
          .limits = "all parts arrive by the NIC of the root",
          .schedule = &schedule,
          .channels = &single_channel,
          .pattern = &pattern,
          .steady_states = &star_steady_states,
          .messages = &star_messages,
          .rooted = true};
}

}  // namespace stepcast::collective
