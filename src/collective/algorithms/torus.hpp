#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithms/levels.hpp"

// What the torus leaves share.
namespace stepcast::collective {

/// All-reduce on a torus of `dimensions` near-equal sizes, the first varying fastest in group order. Each
/// channel carries a part of the buffer through the dimensions, beginning with another one, one of the two
/// ways around: with 2 x dimensions channels all links are busy in every phase.
[[nodiscard]] Schedule torus_schedule(const Places& places, std::uint32_t channels, std::uint32_t dimensions);
[[nodiscard]] Pattern torus_pattern(const Places& places, std::uint32_t channels, std::uint32_t dimensions);
[[nodiscard]] std::vector<SteadyState> torus_steady_states(const Setting& setting, std::uint32_t dimensions);
[[nodiscard]] double torus_messages(const Places& places, std::uint32_t channels, std::uint32_t dimensions);

}  // namespace stepcast::collective
