#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/algorithms/levels.hpp"

// What the torus leaves share.
namespace stepcast::collective {

/// Sides of a torus: those asked for; the levels of the fabric when there are as many; else as near to each
/// other as can be. The first varies fastest, in group order, or in that of the fabric when its levels are
/// the sides.
[[nodiscard]] std::vector<std::uint32_t> torus_sides(const Places& places, std::uint32_t dimensions);
/// Why a group is no torus of the sides that were asked for, or empty.
[[nodiscard]] std::string torus_problem(const Places& places, std::uint32_t dimensions);

/// All-reduce on a torus of torus_sides(). Each
/// channel carries a part of the buffer through the dimensions, beginning with another one, one of the two
/// ways around: with 2 x dimensions channels all links are busy in every phase.
[[nodiscard]] Schedule torus_schedule(const Places& places, std::uint32_t channels, std::uint32_t dimensions);
[[nodiscard]] Pattern torus_pattern(const Places& places, std::uint32_t channels, std::uint32_t dimensions);
[[nodiscard]] std::vector<SteadyState> torus_steady_states(const Setting& setting, std::uint32_t dimensions);
[[nodiscard]] double torus_messages(const Places& places, std::uint32_t channels, std::uint32_t dimensions);

}  // namespace stepcast::collective
