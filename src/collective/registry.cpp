#include <array>

#include "collective/collective.hpp"

namespace stepcast::collective {

#define STEPCAST_ALGORITHM(function) Algorithm function##_algorithm();
#include "collective/algorithms.def"
#undef STEPCAST_ALGORITHM

std::span<const Algorithm> algorithms() {
  static const std::array entries = {
#define STEPCAST_ALGORITHM(function) function##_algorithm(),
#include "collective/algorithms.def"
#undef STEPCAST_ALGORITHM
  };
  return entries;
}

}  // namespace stepcast::collective
