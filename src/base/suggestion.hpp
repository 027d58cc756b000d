#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepcast {

/// The candidate nearest to `word` by edit distance, or empty when none is near
/// (more than a third of its letters differ). Ties: one of the same length, then the first.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// " did you mean \"x\"?" when something is near, else "known: a, b, c" (at most twelve names).
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> candidates);

}  // namespace stepcast
