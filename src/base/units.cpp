#include "base/units.hpp"

#include <cmath>

#include "base/check.hpp"

namespace stepcast {

Duration duration_from_seconds(double seconds) {
  constexpr double kLimitSeconds = 9.0e6;
  STEPCAST_CHECK(seconds >= 0 && seconds < kLimitSeconds, "duration of {} s", seconds);
  return Duration::from_ps(static_cast<std::int64_t>(std::ceil(seconds * 1e12)));
}

}  // namespace stepcast
