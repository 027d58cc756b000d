#include "collective/algorithms/chain.hpp"

#include <algorithm>

namespace stepcast::collective {

Pattern chain_pattern(const Places& places, std::uint32_t channels, std::uint32_t root, bool from_root) {
  Pattern pattern = ring_pattern(places, channels, root);
  std::vector<Edge>& edges = pattern.phases.front();
  edges.erase(std::remove_if(edges.begin(), edges.end(),
                             [&](const Edge& edge) { return (from_root ? edge.to : edge.from) == root; }),
              edges.end());
  return pattern;
}

std::vector<SteadyState> chain_steady_states(const Setting& setting, bool from_root) {
  const std::uint32_t n = setting.places.members();
  SteadyState steady;
  steady.steps = std::int64_t{n} - 1;
  steady.network_steps = std::min(steady.steps, std::int64_t{setting.crossing_hops});
  steady.share_numerator = 1;
  steady.port_weight = setting.channels;
  steady.depth.assign(n, 0);
  for (std::uint32_t channel = 0; channel < setting.channels; ++channel) {
    const Ring ring = ring_of(setting.places, channel);
    const std::uint32_t root = ring.position_of(setting.root);
    for (std::uint32_t position = 0; position < n; ++position) {
      const std::uint32_t after_root = (position + n - root) % n;
      const std::uint32_t depth = from_root ? after_root : after_root == 0 ? n - 1 : after_root - 1;
      std::uint32_t& deepest = steady.depth[ring.order[position]];
      deepest = std::max(deepest, depth);
    }
  }
  return {steady};
}

double chain_messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * channels;
}

}  // namespace stepcast::collective
