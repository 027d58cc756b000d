#include <array>

#include "topology/builder.hpp"

namespace stepcast::topology {

#define STEPCAST_BUILDER(name) Builder name##_builder();
#include "topology/builders.def"
#undef STEPCAST_BUILDER

std::span<const Builder> builders() {
#define STEPCAST_BUILDER(name) name##_builder(),
  static const std::array entries = {
#include "topology/builders.def"
  };
#undef STEPCAST_BUILDER
  return entries;
}

}  // namespace stepcast::topology
