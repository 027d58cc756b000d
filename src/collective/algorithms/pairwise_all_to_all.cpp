// Pairwise all-to-all: one peer after the other, each round a permutation.
//
// Scope:        any group, equal or unequal parts.
// Assumes:      equal parts are one activity: all pairs are busy until the end.
// Not covered:  the local copy; the order of rounds under contention.
// Source:       Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; rounds in NCCL's peer order.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/peers.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return all_pairs_schedule(places, channels, true);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return all_pairs_steady_states(setting, std::int64_t{setting.places.members()} - 1);
}

}  // namespace

Algorithm pairwise_all_to_all_algorithm() {
  return {.name = "pairwise_all_to_all",
          .family = "pairwise",
          .summary = "one peer after the other in rounds",
          .kind = Kind::kAllToAll,
          .scope = "any group; parts may differ (splits)",
          .source = "Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; rounds in NCCL's peer order",
          .limits = "rounds overlap at their ends: no barrier between them",
          .schedule = &schedule,
          .channels = &single_channel,
          .pattern = &all_pairs_pattern,
          .steady_states = &steady_states,
          .messages = &all_pairs_messages,
          .sends_own_chunks = true};
}

}  // namespace stepcast::collective
