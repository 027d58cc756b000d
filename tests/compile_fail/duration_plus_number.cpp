// A number without a unit must not become a duration.
#include "base/units.hpp"

using namespace stepcast;

#ifdef STEPCAST_MISUSE
Duration later(Duration start) {
  return start + 500;
}
#else
Duration later(Duration start) {
  return start + Duration::from_ps(500);
}
#endif
