// A number must be named as bytes; it does not turn into bytes by itself.
#include "base/units.hpp"

using namespace stepcast;

#ifdef STEPCAST_MISUSE
Bytes header_size() {
  return 64;
}
#else
Bytes header_size() {
  return Bytes(64);
}
#endif
