#pragma once

#include <string>

#include "collective/algorithms/binomial.hpp"

// What the PAT leaves share: every part has a binomial tree of its own, rooted at its owner.
namespace stepcast::collective {

/// Places of a part's tree that give it to (all-gather) or take it from the place `distance` further:
/// multiples of 2 x distance, counted from the owner, whose partner exists.
[[nodiscard]] inline std::vector<std::uint32_t> pat_holders(std::uint32_t members, std::uint32_t distance) {
  std::vector<std::uint32_t> holders;
  for (std::uint32_t place = 0; place + distance < members; place += 2 * distance) {
    holders.push_back(place);
  }
  return holders;
}

[[nodiscard]] inline Pattern pat_pattern(const Places& places, std::uint32_t channels, bool outwards) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  for (const std::uint32_t distance : power_distances(places.members())) {
    add_shift(edges, places.members(), channels, distance, outwards,
              static_cast<std::uint32_t>(pat_holders(places.members(), distance).size()));
  }
  return pattern;
}

[[nodiscard]] inline std::vector<SteadyState> pat_steady_states(const Setting& setting) {
  SteadyState steady;
  steady.steps = static_cast<std::int64_t>(power_distances(setting.places.members()).size());
  steady.network_steps = setting.places.host_count() > 1 ? steady.steps : 0;
  steady.share_numerator = 1;
  steady.share_denominator = setting.places.members();
  steady.port_weight = setting.channels * setting.places.members();
  return {steady};
}

[[nodiscard]] inline double pat_messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * places.members() * channels;
}

[[nodiscard]] inline std::uint32_t pat_channels(const Places& /*places*/) {
  return 1;
}

[[nodiscard]] inline std::string pat_fits(const Places& places) {
  return places.largest_host() == 1
             ? std::string()
             : "it needs one member on each host, and some hosts have several (as NCCL's default)";
}

}  // namespace stepcast::collective
