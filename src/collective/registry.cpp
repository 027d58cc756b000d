#include <array>

#include "collective/collective.hpp"

namespace stepcast::collective {

#define STEPCAST_ALGORITHM(function) Algorithm function##_algorithm();
#include "collective/algorithms.def"
#undef STEPCAST_ALGORITHM

namespace {

// A line repeated in algorithms.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_ALGORITHM(function) function,
#include "collective/algorithms.def"
#undef STEPCAST_ALGORITHM
  kCount
};

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::array<Algorithm, static_cast<std::size_t>(Listed::kCount)> entries = {
#define STEPCAST_ALGORITHM(function) function##_algorithm(),
#include "collective/algorithms.def"
#undef STEPCAST_ALGORITHM
  };
  return entries;
}

}  // namespace stepcast::collective
