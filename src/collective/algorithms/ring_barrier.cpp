// Barrier as an all-reduce of one element on rings.
//
// Scope:        any group. Frameworks without a barrier of the library do it so (PyTorch's NCCL backend).
// Assumes:      the host waits for nothing else.
// Not covered:  barriers over the host network.
// Source:       PyTorch ProcessGroupNCCL::barrier (an all-reduce of one element).
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/ring.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return ring_all_reduce_schedule(Kind::kBarrier, places, channels);
}

}  // namespace

Algorithm ring_barrier_algorithm() {
  return {.name = "ring_barrier",
          .family = "ring",
          .summary = "an all-reduce of 4 bytes on rings",
          .kind = Kind::kBarrier,
          .scope = "any group",
          .source = "PyTorch ProcessGroupNCCL::barrier: an all-reduce of one element",
          .limits = "the bytes of the call are not used",
          .schedule = &schedule,
          .channels = &ring_channels,
          .pattern = &ring_pattern,
          .steady_states = &ring_all_reduce_steady_states,
          .messages = &ring_all_reduce_messages,
          .least = Bytes(4)};
}

}  // namespace stepcast::collective
