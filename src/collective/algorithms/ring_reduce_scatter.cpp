// Ring reduce-scatter: the sum for each member collects its contributions on the way around the ring.
//
// Scope:        any number of members; channel c carries chunk c of every member's part.
// Assumes:      in place (the result is the member's own part of the input).
// Not covered:  loops over buffers larger than the staging space (they follow each other unseen).
// Source:       Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009 (first half of the
//               all-reduce); fused steps as in NCCL src/device/reduce_scatter.h.
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"
#include "collective/collective.hpp"

namespace stepcast::collective {
namespace {

std::vector<Step> steps_of(const RingPlace& place, std::uint32_t channels, std::uint32_t channel) {
  constexpr Buffer kIn = Buffer::kInput;
  const std::uint32_t n = place.members;
  const auto chunk = [&](std::uint32_t owner) { return owner * channels + channel; };
  if (n == 1) {
    return {};
  }
  std::vector<Step> steps;
  steps.reserve(n);
  steps.push_back(place.step(Action::kSend, kIn, kIn, chunk(place.before(1))));
  for (std::uint32_t distance = 2; distance < n; ++distance) {
    steps.push_back(place.step(Action::kRecvReduceSend, kIn, kIn, chunk(place.before(distance))));
  }
  Step last = place.step(Action::kRecvReduceCopy, kIn, Buffer::kOutput, chunk(place.rank));
  last.destination.offset = channel;  // the result holds this member's part only
  steps.push_back(last);
  return steps;
}

Schedule schedule(std::uint32_t members, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kReduceScatter;
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

Algorithm ring_reduce_scatter_algorithm() {
  return {.name = "ring_reduce_scatter",
          .family = "ring",
          .summary = "every sum collects its contributions around a ring",
          .kind = Kind::kReduceScatter,
          .schedule = &schedule,
          .steady_state = &steady_state,
          .order = RingOrder::kByHost};
}

}  // namespace stepcast::collective
