// Ring all-gather: every member's part travels once around the ring.
//
// Scope:        any number of members; channel c carries chunk c of every member's part.
// Assumes:      in place (the member's own part is already where it belongs in the result).
// Not covered:  the local copy of an out-of-place call.
// Source:       Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009 (second half of the
//               all-reduce); fused steps as in NCCL src/device/all_gather.h.
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"
#include "collective/collective.hpp"

namespace stepcast::collective {
namespace {

std::vector<Step> steps_of(const RingPlace& place, std::uint32_t channels, std::uint32_t channel) {
  constexpr Buffer kOut = Buffer::kOutput;
  const std::uint32_t n = place.members;
  const auto chunk = [&](std::uint32_t owner) { return owner * channels + channel; };
  if (n == 1) {
    return {};
  }
  std::vector<Step> steps;
  steps.reserve(n);
  steps.push_back(place.step(Action::kSend, kOut, kOut, chunk(place.rank)));
  for (std::uint32_t distance = 1; distance + 1 < n; ++distance) {
    steps.push_back(place.step(Action::kRecvCopySend, kOut, kOut, chunk(place.before(distance))));
  }
  steps.push_back(place.step(Action::kRecv, kOut, kOut, chunk(place.before(n - 1))));
  return steps;
}

Schedule schedule(std::uint32_t members, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kAllGather;
  made.members = members;
  made.chunks = members * channels;
  made.channels = channels;
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      made.lanes.push_back({.rank = rank,
                            .thread_block = channel,
                            .channel = channel,
                            .steps = steps_of({.members = members, .rank = rank}, channels, channel)});
    }
  }
  return made;
}

SteadyState steady_state(std::uint32_t members) {
  const std::int64_t n = members;
  return {.steps = n - 1, .share_numerator = n - 1, .share_denominator = n, .last_step_exposed = true};
}

}  // namespace

Algorithm ring_all_gather_algorithm() {
  return {.name = "ring_all_gather",
          .family = "ring",
          .summary = "every part travels once around a ring",
          .kind = Kind::kAllGather,
          .schedule = &schedule,
          .steady_state = &steady_state,
          .order = RingOrder::kByHost};
}

}  // namespace stepcast::collective
