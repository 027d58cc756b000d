#pragma once

#include <string>
#include <string_view>

#include "collective/places.hpp"

// Internal to collective/: "hierarchical:8x4=ring,tree", an algorithm with its shape.
namespace stepcast::collective {

/// What stands before the colon.
[[nodiscard]] std::string_view algorithm_of(std::string_view hint);
/// What stands after it: sizes with x between them, algorithms of levels with commas, or both with = between.
/// Empty without a colon. Throws InputError for what cannot be read.
[[nodiscard]] Shape shape_of(std::string_view hint);

}  // namespace stepcast::collective
