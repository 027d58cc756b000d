// Does a hostile log of NCCL end in an InputError? Any bytes are read as a log.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "trace/nccl_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    static_cast<void>(
        stepcast::trace::read_nccl_log(std::string(reinterpret_cast<const char*>(data), size), "fuzz"));
  } catch (const stepcast::InputError&) {
  }
  return 0;
}
