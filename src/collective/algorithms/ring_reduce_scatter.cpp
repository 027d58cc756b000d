// Ring reduce-scatter: the sum for each member collects its contributions on the way around the ring.
//
// Scope:        any number of members; channel c carries chunk c of every member's part.
// Assumes:      in place (the result is the member's own part of the input).
// Not covered:  loops over buffers larger than the staging space (they follow each other unseen).
// Source:       Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009 (first half of the
//               all-reduce); fused steps as in NCCL src/device/reduce_scatter.h.
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"

namespace stepcast::collective {
namespace {

std::vector<Step> steps_of(const RingPlace& place, std::uint32_t channels, std::uint32_t channel) {
  constexpr Buffer kIn = Buffer::kInput;
  const std::uint32_t n = place.size();
  const auto chunk = [&](std::uint32_t distance) {
    return place.member_before(distance) * channels + channel;
  };
  if (n == 1) {
    return {};
  }
  std::vector<Step> steps;
  steps.reserve(n);
  steps.push_back(place.step(Action::kSend, kIn, kIn, chunk(1)));
  for (std::uint32_t distance = 2; distance < n; ++distance) {
    steps.push_back(place.step(Action::kRecvReduceSend, kIn, kIn, chunk(distance)));
  }
  Step last = place.step(Action::kRecvReduceCopy, kIn, Buffer::kOutput, chunk(0));
  last.destination.offset = channel;  // the result holds this member's part only
  steps.push_back(last);
  return steps;
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return ring_schedule(
      Kind::kReduceScatter, places, channels, places.members() * channels,
      [&](const RingPlace& place, std::uint32_t channel) { return steps_of(place, channels, channel); });
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  const std::int64_t n = setting.places.members();
  SteadyState steady = ring_steady_state(setting, n - 1);
  steady.share_numerator = n - 1;
  steady.share_denominator = n;
  steady.last_step_exposed = true;
  return {steady};
}

double messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * places.members() * channels;
}

}  // namespace

Algorithm ring_reduce_scatter_algorithm() {
  return {.name = "ring_reduce_scatter",
          .family = "ring",
          .summary = "every sum collects its contributions around a ring",
          .kind = Kind::kReduceScatter,
          .scope = "any group; one ring a rail over hosts of equal numbers of members, else one",
          .source =
              "Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009; NCCL src/device/reduce_scatter.h",
          .limits = "the local copy of an out-of-place call is not modelled",
          .schedule = &schedule,
          .channels = &ring_channels,
          .pattern = &ring_pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .default_for_kind = true};
}

}  // namespace stepcast::collective
