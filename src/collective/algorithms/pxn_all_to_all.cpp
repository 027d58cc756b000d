// Direct all-to-all over rails: messages leave by the NIC of the member that stands where the receiver
// stands.
//
// Scope:        hosts with equal numbers of members, equal or unequal parts.
// Assumes:      equal parts are one activity: all pairs are busy until the end.
// Not covered:  the local copy; the order of rounds under contention.
// Source:       NCCL src/graph/paths.cc, src/enqueue.cc (PXN, NCCL_P2P_PXN_LEVEL=2).
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

std::string fits(const Places& places) {
  return places.host_count() > 1 && places.equal()
             ? std::string()
             : "it needs several hosts with equal numbers of members, which share rails";
}

}  // namespace

Algorithm pxn_all_to_all_algorithm() {
  return {.name = "pxn_all_to_all",
          .family = "pxn",
          .summary = "over NVLink to the rail of the receiver, then by that NIC",
          .kind = Kind::kAllToAll,
          .scope = "several hosts with equal numbers of members; parts may differ (splits)",
          .source = "NCCL src/graph/paths.cc, src/enqueue.cc (PXN, NCCL_P2P_PXN_LEVEL=2)",
          .limits = "messages to one host are not merged; the local copy of the own part is not modelled",
          .schedule = &schedule,
          .channels = &single_channel,
          .pattern = &rail_pairs_pattern,
          .steady_states = &steady_states,
          .messages = &all_pairs_messages,
          .fits = &fits,
          .default_for_kind = true,
          .forwards_by_rail = true,
          .sends_own_chunks = true};
}

}  // namespace stepcast::collective
