#include <array>

#include "routing/router.hpp"

namespace stepcast::routing {

#define STEPCAST_POLICY(name) PolicyEntry name##_policy();
#include "routing/policies.def"
#undef STEPCAST_POLICY

std::span<const PolicyEntry> policies() {
#define STEPCAST_POLICY(name) name##_policy(),
  static const std::array entries = {
#include "routing/policies.def"
  };
#undef STEPCAST_POLICY
  return entries;
}

}  // namespace stepcast::routing
