// Does a hostile step list end in an InputError or UnsupportedError? Any bytes are read as MSCCL XML or as
// our own JSON and, when they are a schedule, run by the symbolic checker.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "collective/schedule_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    static_cast<void>(
        stepcast::collective::read_schedule(std::string(reinterpret_cast<const char*>(data), size), "fuzz"));
  } catch (const stepcast::InputError&) {
  } catch (const stepcast::UnsupportedError&) {
  }
  return 0;
}
