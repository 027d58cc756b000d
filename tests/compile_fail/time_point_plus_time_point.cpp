// The sum of two points of time means nothing.
#include "base/units.hpp"

using namespace stepcast;

#ifdef STEPCAST_MISUSE
TimePoint combine(TimePoint a, TimePoint b) {
  return a + b;
}
#else
TimePoint combine(TimePoint a, TimePoint b) {
  return a + (b - a);
}
#endif
