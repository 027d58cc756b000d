// All-reduce on a 3D torus: rings in every dimension, all links busy in both directions.
//
// Scope:        any group; sides as asked for, else the levels of the fabric or as near as can be.
// Assumes:      group order follows the torus, first dimension fastest; phases follow one another.
// Not covered:  overlap of the phases.
// Source:       Jouppi et al. (TPU v4), ISCA 2023; Ying et al., arXiv 1811.06992 (2D all-reduce on TPU pods).
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/torus.hpp"

namespace stepcast::collective {
namespace {

constexpr std::uint32_t kDimensions = 3;

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return torus_schedule(places, channels, kDimensions);
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return torus_pattern(places, channels, kDimensions);
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return torus_steady_states(setting, kDimensions);
}

double messages(const Places& places, std::uint32_t channels) {
  return torus_messages(places, channels, kDimensions);
}

std::uint32_t channels(const Places& /*places*/) {
  return 2 * kDimensions;
}

std::string fits(const Places& places) {
  return torus_problem(places, kDimensions);
}

}  // namespace

Algorithm torus3d_all_reduce_algorithm() {
  return {.name = "torus3d_all_reduce",
          .family = "torus3d",
          .summary = "rings in three dimensions, both ways around at once",
          .kind = Kind::kAllReduce,
          .scope =
              "any group, best on a torus in group order; sides by --algo torus3d:4x4x8 (first varies "
              "fastest), else the levels of the fabric when there are 3 (hosts, units, all), else as equal "
              "as can be",
          .source = "Ying et al., arXiv 1811.06992; Jouppi et al. (TPU v4), ISCA 2023",
          .limits = "phases follow one another without overlap",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &fits,
          .shaped = true};
}

}  // namespace stepcast::collective
