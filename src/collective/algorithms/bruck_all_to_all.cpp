// Bruck all-to-all: a logarithm of rounds, in each of which about half of the data moves on.
//
// Scope:        any group, in group order; equal parts.
// Assumes:      one round after the other, without overlap.
// Not covered:  the local rotations before and after.
// Source:       Bruck et al., IEEE TPDS 8(11), 1997; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/binomial.hpp"

namespace stepcast::collective {
namespace {

/// Distances of parts that move in the round at `bit`: those with that bit.
std::vector<std::uint32_t> moving(std::uint32_t members, std::uint32_t bit) {
  std::vector<std::uint32_t> distances;
  for (std::uint32_t distance = 1; distance < members; ++distance) {
    if ((distance & bit) != 0) {
      distances.push_back(distance);
    }
  }
  return distances;
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kAllToAll;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  made.in_place = false;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      const auto copy = [&](Buffer from, std::uint32_t source, Buffer to, std::uint32_t destination) {
        lane.steps.push_back(
            {.action = Action::kCopy,
             .source = {.buffer = from, .offset = source * channels + channel, .count = 1},
             .destination = {.buffer = to, .offset = destination * channels + channel, .count = 1}});
      };
      // In scratch, a part stands at the distance that it has to go in all.
      for (std::uint32_t distance = 0; distance < n; ++distance) {
        copy(Buffer::kInput, (member + distance) % n, Buffer::kScratch, distance);
      }
      for (const std::uint32_t bit : power_distances(n)) {
        const std::vector<std::uint32_t> parts = moving(n, bit);
        for (const std::uint32_t part : parts) {
          lane.steps.push_back(
              chunk_step(Action::kSend, 0, (member + bit) % n, Buffer::kScratch, part * channels + channel));
        }
        for (const std::uint32_t part : parts) {
          lane.steps.push_back(chunk_step(Action::kRecv, (member + n - bit) % n, 0, Buffer::kScratch,
                                          part * channels + channel));
        }
      }
      for (std::uint32_t distance = 0; distance < n; ++distance) {
        copy(Buffer::kScratch, distance, Buffer::kOutput, (member + n - distance) % n);
      }
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  for (const std::uint32_t bit : power_distances(places.members())) {
    add_shift(made.phases.emplace_back(), places.members(), channels, bit, true,
              static_cast<std::uint32_t>(moving(places.members(), bit).size()));
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  std::vector<SteadyState> phases;
  for (const std::uint32_t bit : power_distances(setting.places.members())) {
    SteadyState steady;
    steady.steps = 1;
    steady.network_steps = shift_crosses(setting.places, bit) ? 1 : 0;
    steady.share_numerator = 1;
    steady.share_denominator = setting.places.members();
    steady.port_weight =
        setting.channels * static_cast<std::uint32_t>(moving(setting.places.members(), bit).size());
    phases.push_back(steady);
  }
  return phases;
}

std::uint32_t channels(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  double parts = 0;
  for (const std::uint32_t bit : power_distances(places.members())) {
    parts += static_cast<double>(moving(places.members(), bit).size());
  }
  return parts * places.members() * channels;
}

}  // namespace

Algorithm bruck_all_to_all_algorithm() {
  return {.name = "bruck_all_to_all",
          .family = "bruck",
          .summary = "a logarithm of rounds, in each of which half of the data moves on",
          .kind = Kind::kAllToAll,
          .scope = "any group, in group order; equal parts",
          .source = "Bruck et al., IEEE TPDS 8(11), 1997; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005",
          .limits = "rounds follow one another without overlap; local rotations are not modelled",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages};
}

}  // namespace stepcast::collective
