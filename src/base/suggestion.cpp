#include "base/suggestion.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace stepcast {
namespace {

/// Letters of names are told apart by more than their case.
char folded(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Damerau-free Levenshtein distance with two rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 64;  // a megabyte of garbage is near to nothing
  if (word.size() > kLongestWord) {
    return {};
  }
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // Of two equally near, the one of the same length: a mistyped letter is the likelier mistake.
    const bool tie = distance == best_distance && !best.empty() && best.size() != word.size() &&
                     candidate.size() == word.size();
    if (distance < best_distance || tie) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest(std::string_view word, std::span<const std::string> candidates) {
  if (const std::string near = nearest(word, candidates); !near.empty()) {
    return fmt::format("did you mean \"{}\"?", near);
  }
  constexpr std::size_t kMostNames = 12;
  const std::size_t shown = std::min(candidates.size(), kMostNames);
  std::string text = fmt::format(
      "known: {}",
      fmt::join(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < candidates.size()) {
    text += ", ...";
  }
  return text;
}

}  // namespace stepcast
