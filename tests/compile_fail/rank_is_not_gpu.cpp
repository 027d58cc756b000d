// A placement is indexed by rank; a GPU id must not compile there.
#include "base/id.hpp"

using namespace stepcast;

#ifdef STEPCAST_MISUSE
GpuId look_up(const Placement& placement) {
  return placement[GpuId{0}];
}
#else
GpuId look_up(const Placement& placement) {
  return placement[RankId{0}];
}
#endif
