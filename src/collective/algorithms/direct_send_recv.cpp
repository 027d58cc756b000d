// Every member sends its whole buffer to the next member and receives that of the previous one.
//
// Scope:        the send_recv of nccl-tests (sendrecv_perf); channel c carries chunk c.
// Assumes:      sends and receives overlap; one channel's order of send and receive costs nothing.
// Not covered:  a single message between two members (Lowering::lower_message).
// Source:       nccl-tests src/sendrecv.cu (peers rank + 1 and rank - 1, bus factor 1).
// Validated by: tests/property/schedule_property_test.cpp (postcondition, bytes and length of the chain).
#include "collective/algorithm.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kSendRecv;
  made.members = n;
  made.chunks = channels;
  made.channels = channels;
  made.in_place = false;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      Lane lane{.rank = rank, .thread_block = channel, .channel = channel, .steps = {}};
      Step step;
      step.receive_peer = (rank + n - 1) % n;
      step.send_peer = (rank + 1) % n;
      step.source = {.buffer = Buffer::kInput, .offset = channel, .count = 1};
      step.destination = {.buffer = Buffer::kOutput, .offset = channel, .count = 1};
      if (n == 1) {
        step.action = Action::kCopy;
        lane.steps.push_back(step);
      } else {
        step.action = Action::kSend;
        lane.steps.push_back(step);
        step.action = Action::kRecv;
        lane.steps.push_back(step);
      }
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

/// The order of the group is part of the meaning: no rails.
Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  std::vector<Edge>& edges = made.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < places.members(); ++member) {
      edges.push_back(
          {.channel = channel, .from = member, .to = (member + 1) % places.members(), .exit = member});
    }
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  SteadyState steady;
  steady.steps = 1;
  steady.network_steps = setting.crossing_hops > 0 ? 1 : 0;
  steady.share_numerator = 1;
  steady.port_weight = setting.channels;
  steady.pieces = setting.places.members();
  steady.even = true;
  return {steady};
}

std::uint32_t one_channel(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  return static_cast<double>(places.members()) * channels;
}

}  // namespace

Algorithm direct_send_recv_algorithm() {
  return {.name = "direct_send_recv",
          .family = "direct",
          .summary = "every member sends to the next one",
          .kind = Kind::kSendRecv,
          .scope = "the send_recv of nccl-tests, in the order of the group",
          .source = "nccl-tests src/sendrecv.cu (peers rank + 1 and rank - 1, bus factor 1)",
          .limits = "sends and receives overlap; the order of the two in one channel costs nothing",
          .schedule = &schedule,
          .channels = &one_channel,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .default_for_kind = true};
}

}  // namespace stepcast::collective
