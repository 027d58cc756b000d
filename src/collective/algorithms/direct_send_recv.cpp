// Every member sends its whole buffer to the next member and receives that of the previous one.
//
// Scope:        the send_recv of nccl-tests (sendrecv_perf); channel c carries chunk c.
// Assumes:      sends and receives overlap; one channel's order of send and receive costs nothing.
// Not covered:  a single message between two members (Lowering::lower_message).
// Source:       nccl-tests src/sendrecv.cu (peers rank + 1 and rank - 1, bus factor 1).
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithms/ring.hpp"
#include "collective/collective.hpp"

namespace stepcast::collective {
namespace {

std::vector<Step> steps_of(const RingPlace& place, std::uint32_t channel) {
  constexpr Buffer kIn = Buffer::kInput;
  constexpr Buffer kOut = Buffer::kOutput;
  if (place.members == 1) {
    return {place.step(Action::kCopy, kIn, kOut, channel)};
  }
  return {place.step(Action::kSend, kIn, kIn, channel), place.step(Action::kRecv, kOut, kOut, channel)};
}

Schedule schedule(std::uint32_t members, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kSendRecv;
  made.members = members;
  made.chunks = channels;
  made.channels = channels;
  made.in_place = false;
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      made.lanes.push_back({.rank = rank,
                            .thread_block = channel,
                            .channel = channel,
                            .steps = steps_of({.members = members, .rank = rank}, channel)});
    }
  }
  return made;
}

SteadyState steady_state(std::uint32_t /*members*/) {
  return {.steps = 1, .share_numerator = 1, .share_denominator = 1, .last_step_exposed = false};
}

}  // namespace

Algorithm direct_send_recv_algorithm() {
  return {.name = "direct_send_recv",
          .family = "direct",
          .summary = "every member sends to the next one",
          .kind = Kind::kSendRecv,
          .schedule = &schedule,
          .steady_state = &steady_state,
          .order = RingOrder::kGroup};
}

}  // namespace stepcast::collective
