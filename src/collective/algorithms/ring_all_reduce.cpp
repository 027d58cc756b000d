// Ring all-reduce: a reduce-scatter around the ring, then an all-gather.
//
// Scope:        any number of members; each channel owns `members` consecutive chunks.
// Assumes:      in the steady state all hops of the ring are busy at the same time.
// Not covered:  loops over buffers larger than the staging space (they follow each other unseen).
// Source:       Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
//               J. Parallel Distrib. Comput. 69(2), 2009; fused steps as in NCCL src/device/all_reduce.h.
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"

namespace stepcast::collective {
namespace {

/// Steps of one member on the chunks first .. first + members - 1.
std::vector<Step> steps_of(const RingPlace& place, std::uint32_t first) {
  constexpr Buffer kIn = Buffer::kInput;
  constexpr Buffer kOut = Buffer::kOutput;
  const std::uint32_t n = place.size();
  if (n == 1) {
    return {};
  }
  std::vector<Step> steps;
  steps.reserve(2 * std::size_t{n} - 1);
  steps.push_back(place.step(Action::kSend, kIn, kIn, first + place.before(1)));
  for (std::uint32_t distance = 2; distance < n; ++distance) {
    steps.push_back(place.step(Action::kRecvReduceSend, kIn, kIn, first + place.before(distance)));
  }
  steps.push_back(place.step(Action::kRecvReduceCopySend, kIn, kOut, first + place.position));
  for (std::uint32_t distance = 1; distance + 1 < n; ++distance) {
    steps.push_back(place.step(Action::kRecvCopySend, kOut, kOut, first + place.before(distance)));
  }
  steps.push_back(place.step(Action::kRecv, kOut, kOut, first + place.before(n - 1)));
  return steps;
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return ring_all_reduce_schedule(Kind::kAllReduce, places, channels);
}

}  // namespace

Schedule ring_all_reduce_schedule(Kind kind, const Places& places, std::uint32_t channels) {
  return ring_schedule(kind, places, channels, places.members() * channels,
                       [&](const RingPlace& place, std::uint32_t channel) {
                         return steps_of(place, channel * places.members());
                       });
}

std::vector<SteadyState> ring_all_reduce_steady_states(const Setting& setting) {
  const std::int64_t n = setting.places.members();
  SteadyState steady = ring_steady_state(setting, 2 * (n - 1));
  steady.share_numerator = 2 * (n - 1);
  steady.share_denominator = n;
  steady.last_step_exposed = true;
  return {steady};
}

double ring_all_reduce_messages(const Places& places, std::uint32_t channels) {
  return 2 * (places.members() - 1.0) * places.members() * channels;
}

Algorithm ring_all_reduce_algorithm() {
  return {
      .name = "ring_all_reduce",
      .family = "ring",
      .summary = "reduce-scatter then all-gather around a ring",
      .kind = Kind::kAllReduce,
      .scope = "any group; one ring a rail over hosts of equal numbers of members, else one",
      .source = "Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009; NCCL src/device/all_reduce.h",
      .limits = "loops over buffers larger than the staging space follow each other unseen",
      .schedule = &schedule,
      .channels = &ring_channels,
      .pattern = &ring_pattern,
      .steady_states = &ring_all_reduce_steady_states,
      .messages = &ring_all_reduce_messages,
      .default_for_kind = true};
}

}  // namespace stepcast::collective
