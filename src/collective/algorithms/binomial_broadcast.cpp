// Binomial broadcast: whoever has the buffer sends it to members 1, 2, 4 ... away, to all of them at once.
//
// Scope:        any group; distances count from the root.
// Assumes:      a member sends to all its children at the same time (no order among them) and after it has
// the
//               whole buffer; members of one depth receive together.
// Not covered:  pieces of the buffer that travel one after the other.
// Source:       Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; sends that do not wait for one another as
// in
//               Gloo, gloo/broadcast.cc.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/binomial_test.cpp.
#include <algorithm>
#include <bit>
#include <vector>

#include "collective/algorithm.hpp"

namespace stepcast::collective {
namespace {

/// The member `distance` after the root.
std::uint32_t member_at(std::uint32_t distance, std::uint32_t root, std::uint32_t members) {
  return (root + distance) % members;
}

/// Distances from the root of the children of the one at `distance`: its number with one more bit in front.
std::vector<std::uint32_t> children(std::uint32_t distance, std::uint32_t members) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t bit = std::bit_ceil(distance + 1); distance + bit < members; bit *= 2) {
    found.push_back(distance + bit);
  }
  return found;
}

/// Hops from the root.
std::uint32_t depth(std::uint32_t distance) {
  return static_cast<std::uint32_t>(std::popcount(distance));
}

std::uint32_t deepest(std::uint32_t members) {
  std::uint32_t most = 0;
  for (std::uint32_t distance = 0; distance < members; ++distance) {
    most = std::max(most, depth(distance));
  }
  return most;
}

/// A lane for every send, as none waits for another; a receive opens the lane of its member.
Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t root) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kBroadcast;
  made.members = n;
  made.chunks = channels;
  made.channels = channels;
  made.root = root;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const ChunkRange chunk{.buffer = Buffer::kOutput, .offset = channel, .count = 1};
    for (std::uint32_t distance = 0; distance < n; ++distance) {
      const std::uint32_t member = member_at(distance, root, n);
      std::uint32_t received = 0;  // lane of the receive
      if (distance > 0) {
        Lane lane{.rank = member, .thread_block = channel * n, .channel = channel};
        const std::uint32_t parent = member_at(distance - std::bit_floor(distance), root, n);
        lane.steps.push_back(
            {.action = Action::kRecv, .receive_peer = parent, .source = chunk, .destination = chunk});
        received = static_cast<std::uint32_t>(made.lanes.size());
        made.lanes.push_back(std::move(lane));
      }
      std::uint32_t block = channel * n;
      for (const std::uint32_t child : children(distance, n)) {
        Lane lane{.rank = member, .thread_block = ++block, .channel = channel};
        Step step{.action = Action::kSend,
                  .send_peer = member_at(child, root, n),
                  .source = chunk,
                  .destination = chunk};
        if (distance > 0) {
          step.after.emplace_back(received, 0);
        }
        lane.steps.push_back(std::move(step));
        made.lanes.push_back(std::move(lane));
      }
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t root) {
  const std::uint32_t n = places.members();
  Pattern made;
  made.phases.resize(deepest(n));
  for (std::uint32_t distance = 0; distance < n; ++distance) {
    for (const std::uint32_t child : children(distance, n)) {
      const std::uint32_t from = member_at(distance, root, n);
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        made.phases[depth(distance)].push_back(
            {.channel = channel, .from = from, .to = member_at(child, root, n), .exit = from});
      }
    }
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  const std::uint32_t n = setting.places.members();
  std::vector<SteadyState> phases(deepest(n));
  for (SteadyState& steady : phases) {
    steady.steps = 1;
    steady.share_numerator = 1;
    steady.port_weight = setting.channels;
  }
  for (std::uint32_t distance = 0; distance < n; ++distance) {
    const std::vector<std::uint32_t> to = children(distance, n);
    for (const std::uint32_t child : to) {
      SteadyState& steady = phases[depth(distance)];
      steady.port_weight =
          std::max(steady.port_weight, setting.channels * static_cast<std::uint32_t>(to.size()));
      if (!setting.places.together(member_at(distance, setting.root, n), member_at(child, setting.root, n))) {
        steady.network_steps = 1;
      }
    }
  }
  return phases;
}

std::uint32_t channels(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  return channels * (places.members() - 1.0);
}

}  // namespace

Algorithm binomial_broadcast_algorithm() {
  return {.name = "binomial_broadcast",
          .family = "binomial",
          .summary = "whoever has the buffer sends it to members 1, 2, 4 ... away, all at once",
          .kind = Kind::kBroadcast,
          .scope = "any group; in group order from the root",
          .source = "Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; Gloo, gloo/broadcast.cc",
          .limits = "members of one depth receive together",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .rooted = true};
}

}  // namespace stepcast::collective
