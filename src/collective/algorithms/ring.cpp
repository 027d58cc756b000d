#include "collective/algorithms/ring.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast::collective {

std::uint32_t Ring::position_of(std::uint32_t member) const {
  return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), member) - order.begin());
}

Ring ring_of(const Places& places, std::uint32_t channel) {
  Ring ring;
  ring.order.reserve(places.members());
  if (places.host_count() == 1) {
    ring.order = places.hosts()[0];
    ring.exit = ring.order;
    return ring;
  }
  const std::uint32_t first = places.equal() ? channel % places.rails() : 0;
  for (const std::vector<std::uint32_t>& host : places.hosts()) {
    for (std::size_t i = 0; i < host.size(); ++i) {
      ring.order.push_back(host[(first + i) % host.size()]);
      ring.exit.push_back(places.equal() ? host[first] : ring.order.back());
    }
  }
  return ring;
}

Schedule ring_schedule(
    Kind kind, const Places& places, std::uint32_t channels, std::uint32_t chunks, const RingSteps& steps) {
  Schedule made;
  made.kind = kind;
  made.members = places.members();
  made.chunks = chunks;
  made.channels = channels;
  std::vector<Ring> rings;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    rings.push_back(ring_of(places, channel));
  }
  for (std::uint32_t position = 0; position < made.members; ++position) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      made.lanes.push_back({.rank = rings[channel].order[position],
                            .thread_block = channel,
                            .channel = channel,
                            .steps = steps({.ring = rings[channel], .position = position}, channel)});
    }
  }
  return made;
}

Pattern ring_pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Ring ring = ring_of(places, channel);
    for (std::uint32_t position = 0; position < ring.size(); ++position) {
      edges.push_back({.channel = channel,
                       .from = ring.order[position],
                       .to = ring.order[(position + 1) % ring.size()],
                       .exit = ring.exit[position]});
    }
  }
  return pattern;
}

std::uint32_t ring_channels(const Places& places) {
  return places.rails();
}

SteadyState ring_steady_state(const Setting& setting, std::int64_t steps) {
  const std::int64_t members = setting.places.members();
  SteadyState steady;
  steady.steps = steps;
  steady.network_steps = std::min(steps, (steps * setting.crossing_hops + members - 1) / members);
  steady.port_weight = setting.channels;
  steady.pieces = setting.places.members();
  steady.even = true;
  return steady;
}

}  // namespace stepcast::collective
