#include <array>

#include "topology/builder.hpp"

namespace stepcast::topology {

#define STEPCAST_BUILDER(name) Builder name##_builder();
#include "topology/builders.def"
#undef STEPCAST_BUILDER

namespace {

// A line repeated in builders.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_BUILDER(name) name,
#include "topology/builders.def"
#undef STEPCAST_BUILDER
  kCount
};

}  // namespace

std::span<const Builder> builders() {
#define STEPCAST_BUILDER(name) name##_builder(),
  static const std::array<Builder, static_cast<std::size_t>(Listed::kCount)> entries = {
#include "topology/builders.def"
  };
#undef STEPCAST_BUILDER
  return entries;
}

}  // namespace stepcast::topology
