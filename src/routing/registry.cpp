#include <array>

#include "routing/router.hpp"

namespace stepcast::routing {

#define STEPCAST_POLICY(name) PolicyEntry name##_policy();
#include "routing/policies.def"
#undef STEPCAST_POLICY

namespace {

// A line repeated in policies.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_POLICY(name) name,
#include "routing/policies.def"
#undef STEPCAST_POLICY
  kCount
};

}  // namespace

std::span<const PolicyEntry> policies() {
#define STEPCAST_POLICY(name) name##_policy(),
  static const std::array<PolicyEntry, static_cast<std::size_t>(Listed::kCount)> entries = {
#include "routing/policies.def"
  };
#undef STEPCAST_POLICY
  return entries;
}

}  // namespace stepcast::routing
