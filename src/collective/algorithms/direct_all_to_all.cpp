// Direct all-to-all: every member sends to all others at once, each by its own NIC.
//
// Scope:        any group, equal or unequal parts.
// Assumes:      equal parts are one activity: all pairs are busy until the end.
// Not covered:  the local copy; the order of rounds under contention.
// Source:       NCCL src/enqueue.cc, src/init.cc (peer schedule), with NCCL_PXN_DISABLE=1.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/peers.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return all_pairs_schedule(places, channels, false);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return all_pairs_steady_states(setting, concurrent_rounds(setting));
}

}  // namespace

Algorithm direct_all_to_all_algorithm() {
  return {.name = "direct_all_to_all",
          .family = "direct",
          .summary = "every member sends to all others at once, by its own NIC",
          .kind = Kind::kAllToAll,
          .scope = "any group; parts may differ (splits)",
          .source = "NCCL src/enqueue.cc, src/init.cc (peer schedule), with NCCL_PXN_DISABLE=1",
          .limits = "the local copy of the own part is not modelled",
          .schedule = &schedule,
          .channels = &single_channel,
          .pattern = &all_pairs_pattern,
          .steady_states = &steady_states,
          .messages = &all_pairs_messages,
          .default_for_kind = true,
          .sends_own_chunks = true};
}

}  // namespace stepcast::collective
