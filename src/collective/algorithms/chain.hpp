#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithms/ring.hpp"

// What broadcast and reduce share: a ring that is open at the root.
namespace stepcast::collective {

/// The rings of a group without the hop into the root (`from_root`) or out of it.
[[nodiscard]] Pattern chain_pattern(const Places& places,
                                    std::uint32_t channels,
                                    std::uint32_t root,
                                    bool from_root);
/// The whole buffer over each hop. Members end in the order of the chain.
[[nodiscard]] std::vector<SteadyState> chain_steady_states(const Setting& setting, bool from_root);
[[nodiscard]] double chain_messages(const Places& places, std::uint32_t channels);

}  // namespace stepcast::collective
