// Halving and doubling all-reduce: halves of what is left are exchanged with partners ever farther away, then
// the sums come back the same way.
//
// Scope:        any group; members beyond the largest power of two give their data to a partner first.
// Assumes:      one round after the other, without overlap.
// Not covered:  pipelining of rounds.
// Source:       Rabenseifner, ICCS 2004; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include <algorithm>
#include <bit>

#include "collective/algorithm.hpp"

namespace stepcast::collective {
namespace {

ChunkRange range(std::uint32_t first, std::uint32_t count) {
  return {.buffer = Buffer::kOutput, .offset = first, .count = count};
}

Step send(std::uint32_t to, const ChunkRange& chunks) {
  return {.action = Action::kSend, .send_peer = to, .source = chunks, .destination = chunks};
}

Step receive(Action action, std::uint32_t from, const ChunkRange& chunks) {
  return {.action = action, .receive_peer = from, .source = chunks, .destination = chunks};
}

/// Steps of a member on the `power` chunks from `base` on.
void add_steps(Lane& lane, std::uint32_t members, std::uint32_t power, std::uint32_t base) {
  const std::uint32_t member = lane.rank;
  const ChunkRange all = range(base, power);
  if (member >= power) {
    lane.steps.push_back(send(member - power, all));
    lane.steps.push_back(receive(Action::kRecv, member - power, all));
    return;
  }
  const bool helps = member + power < members;
  if (helps) {
    lane.steps.push_back(receive(Action::kRecvReduceCopy, member + power, all));
  }
  std::vector<ChunkRange> kept{all};
  for (std::uint32_t bit = 1; bit < power; bit *= 2) {
    const std::uint32_t half = kept.back().count / 2;
    const std::uint32_t first = kept.back().offset;
    const bool upper = (member & bit) != 0;
    const ChunkRange mine = range(upper ? first + half : first, half);
    lane.steps.push_back(send(member ^ bit, range(upper ? first : first + half, half)));
    lane.steps.push_back(receive(Action::kRecvReduceCopy, member ^ bit, mine));
    kept.push_back(mine);
  }
  for (std::uint32_t bit = power / 2; bit > 0; bit /= 2) {
    const ChunkRange mine = kept.back();
    kept.pop_back();
    const std::uint32_t first = kept.back().offset;
    lane.steps.push_back(send(member ^ bit, mine));
    lane.steps.push_back(receive(Action::kRecv, member ^ bit,
                                 range(mine.offset == first ? first + mine.count : first, mine.count)));
  }
  if (helps) {
    lane.steps.push_back(send(member + power, all));
  }
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t power = std::bit_floor(places.members());
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = places.members();
  made.chunks = power * channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < made.members; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      add_steps(lane, made.members, power, channel * power);
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

/// Distances of the rounds: 0 stands for the exchange with the members beyond the power of two.
std::vector<std::uint32_t> rounds(std::uint32_t members) {
  const std::uint32_t power = std::bit_floor(members);
  std::vector<std::uint32_t> distances;
  if (power < members) {
    distances.push_back(0);
  }
  for (std::uint32_t bit = 1; bit < power; bit *= 2) {
    distances.push_back(bit);
  }
  for (std::size_t i = distances.size(); i-- > 0;) {
    distances.push_back(distances[i]);
  }
  return distances;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t power = std::bit_floor(places.members());
  Pattern made;
  const std::vector<std::uint32_t> distances = rounds(places.members());
  for (std::size_t round = 0; round < distances.size(); ++round) {
    const std::uint32_t distance = distances[round];
    std::vector<Edge>& edges = made.phases.emplace_back();
    const auto add = [&](std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        edges.push_back({.channel = channel, .from = from, .to = to, .exit = from});
      }
    };
    for (std::uint32_t member = distance == 0 ? power : 0;
         member < (distance == 0 ? places.members() : power); ++member) {
      if (distance > 0) {
        add(member, member ^ distance);
      } else if (round == 0) {
        add(member, member - power);
      } else {
        add(member - power, member);
      }
    }
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  const Places& places = setting.places;
  const std::uint32_t power = std::bit_floor(places.members());
  std::vector<SteadyState> phases;
  for (const std::uint32_t distance : rounds(places.members())) {
    SteadyState steady;
    steady.steps = 1;
    steady.share_numerator = 1;
    // The exchange at distance d moves the 2d-th part of the buffer.
    steady.share_denominator = distance == 0 ? 1 : 2 * std::int64_t{distance};
    steady.port_weight = setting.channels;
    for (std::uint32_t member = 0; member < power; ++member) {
      const std::uint32_t peer = distance == 0 ? member + power : member ^ distance;
      if (peer < places.members() && !places.together(member, peer)) {
        steady.network_steps = 1;
      }
    }
    phases.push_back(steady);
  }
  return phases;
}

std::uint32_t channels(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  const std::uint32_t power = std::bit_floor(places.members());
  return channels * (2.0 * power * std::countr_zero(power) + 2.0 * (places.members() - power));
}

}  // namespace

Algorithm halving_doubling_all_reduce_algorithm() {
  return {.name = "halving_doubling_all_reduce",
          .family = "halving_doubling",
          .summary = "exchanges of halves with partners at distances 1, 2, 4 ..., and back",
          .kind = Kind::kAllReduce,
          .scope = "any group, best a power of two; in group order",
          .source = "Rabenseifner, ICCS 2004; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005",
          .limits = "rounds follow one another without overlap",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages};
}

}  // namespace stepcast::collective
