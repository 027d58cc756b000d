// Barrier as an all-reduce of one element on the double binary tree.
//
// Scope:        any group. Frameworks without a barrier of the library do it so (PyTorch's NCCL backend).
// Assumes:      the host waits for nothing else.
// Not covered:  barriers over the host network.
// Source:       PyTorch ProcessGroupNCCL::barrier (an all-reduce of one element).
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/tree.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return tree_schedule(Kind::kBarrier, places, channels);
}

}  // namespace

Algorithm tree_barrier_algorithm() {
  return {.name = "tree_barrier",
          .family = "tree",
          .summary = "an all-reduce of 4 bytes on trees",
          .kind = Kind::kBarrier,
          .scope = "any group",
          .source = "PyTorch ProcessGroupNCCL::barrier: an all-reduce of one element",
          .limits = "the bytes of the call are not used",
          .schedule = &schedule,
          .channels = &tree_channels,
          .pattern = &tree_pattern,
          .steady_states = &tree_steady_states,
          .messages = &tree_messages,
          .least = Bytes(4)};
}

}  // namespace stepcast::collective
