// Bruck all-gather: what a member has doubles in every round.
//
// Scope:        any group, in group order.
// Assumes:      one round after the other, without overlap.
// Not covered:  the local rotation at the end.
// Source:       Bruck et al., IEEE TPDS 8(11), 1997; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include <algorithm>

#include "collective/algorithms/binomial.hpp"

namespace stepcast::collective {
namespace {

/// Parts that a round at `distance` moves.
std::uint32_t parts(std::uint32_t members, std::uint32_t distance) {
  return std::min(distance, members - distance);
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kAllGather;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      const auto chunk = [&](std::uint32_t ahead) { return (member + ahead) % n * channels + channel; };
      for (const std::uint32_t distance : power_distances(n)) {
        // The parts of the members from here on go back; those from `distance` on come.
        for (std::uint32_t i = 0; i < parts(n, distance); ++i) {
          lane.steps.push_back(
              chunk_step(Action::kSend, 0, (member + n - distance) % n, Buffer::kOutput, chunk(i)));
        }
        for (std::uint32_t i = 0; i < parts(n, distance); ++i) {
          lane.steps.push_back(
              chunk_step(Action::kRecv, (member + distance) % n, 0, Buffer::kOutput, chunk(distance + i)));
        }
      }
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  for (const std::uint32_t distance : power_distances(places.members())) {
    add_shift(made.phases.emplace_back(), places.members(), channels, distance, false,
              parts(places.members(), distance));
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  std::vector<SteadyState> phases;
  for (const std::uint32_t distance : power_distances(setting.places.members())) {
    SteadyState steady;
    steady.steps = 1;
    steady.network_steps = shift_crosses(setting.places, distance) ? 1 : 0;
    steady.share_numerator = 1;
    steady.share_denominator = setting.places.members();
    steady.port_weight = setting.channels * parts(setting.places.members(), distance);
    phases.push_back(steady);
  }
  return phases;
}

std::uint32_t channels(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * places.members() * channels;
}

}  // namespace

Algorithm bruck_all_gather_algorithm() {
  return {.name = "bruck_all_gather",
          .family = "bruck",
          .summary = "what a member has doubles in every round",
          .kind = Kind::kAllGather,
          .scope = "any group, in group order",
          .source = "Bruck et al., IEEE TPDS 8(11), 1997; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005",
          .limits = "rounds follow one another without overlap; the local rotation is not modelled",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages};
}

}  // namespace stepcast::collective
