#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithms/peers.hpp"

// What scatter and gather share: the root and all others.
namespace stepcast::collective {

[[nodiscard]] Schedule star_schedule(Kind kind,
                                     const Places& places,
                                     std::uint32_t channels,
                                     std::uint32_t root);
[[nodiscard]] Pattern star_pattern(const Places& places,
                                   std::uint32_t channels,
                                   std::uint32_t root,
                                   bool from_root);
[[nodiscard]] std::vector<SteadyState> star_steady_states(const Setting& setting);
[[nodiscard]] double star_messages(const Places& places, std::uint32_t channels);

}  // namespace stepcast::collective
