#include "base/units.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace stepcast {

Duration duration_from_seconds(double seconds) {
  constexpr double kLimitSeconds = 9.0e6;
  STEPCAST_CHECK(seconds >= 0 && seconds < kLimitSeconds, "duration of {} s", seconds);
  // A double of this size carries a rounding of its own: it must not turn an exact time into the next ps.
  constexpr double kSlack = 1.0 / 1024;
  constexpr double kRelativeSlack = 0x1p-50;
  const double ps = seconds * 1e12;
  return Duration::from_ps(
      static_cast<std::int64_t>(std::ceil(std::max(ps - kSlack - ps * kRelativeSlack, 0.0))));
}

}  // namespace stepcast
