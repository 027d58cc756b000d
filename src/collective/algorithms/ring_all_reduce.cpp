// Ring all-reduce: a reduce-scatter around the ring, then an all-gather.
//
// Scope:        any number of members; each channel owns `members` consecutive chunks.
// Assumes:      in the steady state all hops of the ring are busy at the same time.
// Not covered:  loops over buffers larger than the staging space (they follow each other unseen).
// Source:       Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
//               J. Parallel Distrib. Comput. 69(2), 2009; fused steps as in NCCL src/device/all_reduce.h.
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"
#include "collective/collective.hpp"

namespace stepcast::collective {
namespace {

/// Steps of one member on the chunks first .. first + members - 1.
std::vector<Step> steps_of(const RingPlace& place, std::uint32_t first) {
  constexpr Buffer kIn = Buffer::kInput;
  constexpr Buffer kOut = Buffer::kOutput;
  const std::uint32_t n = place.members;
  if (n == 1) {
    return {};
  }
  std::vector<Step> steps;
  steps.reserve(2 * std::size_t{n} - 1);
  steps.push_back(place.step(Action::kSend, kIn, kIn, first + place.before(1)));
  for (std::uint32_t distance = 2; distance < n; ++distance) {
    steps.push_back(place.step(Action::kRecvReduceSend, kIn, kIn, first + place.before(distance)));
  }
  steps.push_back(place.step(Action::kRecvReduceCopySend, kIn, kOut, first + place.rank));
  for (std::uint32_t distance = 1; distance + 1 < n; ++distance) {
    steps.push_back(place.step(Action::kRecvCopySend, kOut, kOut, first + place.before(distance)));
  }
  steps.push_back(place.step(Action::kRecv, kOut, kOut, first + place.before(n - 1)));
  return steps;
}

Schedule schedule(std::uint32_t members, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = members;
  made.chunks = members * channels;
  made.channels = channels;
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      made.lanes.push_back({.rank = rank,
                            .thread_block = channel,
                            .channel = channel,
                            .steps = steps_of({.members = members, .rank = rank}, channel * members)});
    }
  }
  return made;
}

SteadyState steady_state(std::uint32_t members) {
  const std::int64_t n = members;
  return {.steps = 2 * (n - 1),
          .share_numerator = 2 * (n - 1),
          .share_denominator = n,
          .last_step_exposed = true};
}

}  // namespace

Algorithm ring_all_reduce_algorithm() {
  return {.name = "ring_all_reduce",
          .family = "ring",
          .summary = "reduce-scatter then all-gather around a ring",
          .kind = Kind::kAllReduce,
          .schedule = &schedule,
          .steady_state = &steady_state,
          .order = RingOrder::kByHost};
}

}  // namespace stepcast::collective
