// Ring broadcast: the buffer goes along the ring from the root to the member before it.
//
// Scope:        any group; one chain a rail over hosts of equal numbers of members.
// Assumes:      slices follow each other so closely that all hops are busy at the same time.
// Not covered:  slices are not played one by one.
// Source:       NCCL src/device/broadcast.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/chain.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t root) {
  Schedule made = ring_schedule(
      Kind::kBroadcast, places, channels, channels, [&](const RingPlace& place, std::uint32_t channel) {
        const std::uint32_t n = place.size();
        const std::uint32_t hops = place.before(place.ring.position_of(root));
        if (n == 1) {
          return std::vector<Step>{};
        }
        const Action action = hops == 0       ? Action::kSend
                              : hops == n - 1 ? Action::kRecv
                                              : Action::kRecvCopySend;
        return std::vector<Step>{place.step(action, Buffer::kOutput, Buffer::kOutput, channel)};
      });
  made.root = root;
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t root) {
  return chain_pattern(places, channels, root, true);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return chain_steady_states(setting, true);
}

}  // namespace

Algorithm ring_broadcast_algorithm() {
  return {.name = "ring_broadcast",
          .family = "ring",
          .summary = "the buffer goes along a ring from the root",
          .kind = Kind::kBroadcast,
          .scope = "any group; one chain a rail over hosts of equal numbers of members, else one",
          .source = "NCCL src/device/broadcast.h",
          .limits = "members end in the order of the chain; slices are not played one by one",
          .schedule = &schedule,
          .channels = &ring_channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &chain_messages,
          .rooted = true};
}

}  // namespace stepcast::collective
