// Double binary tree all-reduce: half of the buffer goes up and down each of two trees.
//
// Scope:        any group; chains inside hosts, binary trees between them, a pair of trees for each rail.
// Assumes:      chunks follow each other so closely that all hops are busy at the same time.
// Not covered:  chunks are not played one by one; reduction of two children at two members of a host.
// Source:       Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; NCCL src/graph/{trees,connect}.cc.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/tree.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return tree_schedule(Kind::kAllReduce, places, channels);
}

}  // namespace

Algorithm tree_all_reduce_algorithm() {
  return {
      .name = "tree_all_reduce",
      .family = "tree",
      .summary = "up and down two binary trees between hosts, chains inside them",
      .kind = Kind::kAllReduce,
      .scope = "any group; one pair of trees a rail over hosts of equal numbers of members, else one pair",
      .source = "Sanders, Speck & Traeff, Parallel Computing 35(12), 2009; NCCL src/graph/trees.cc",
      .limits = "hops cost what ring hops cost; the fill of the pipe by chunks is part of that cost",
      .schedule = &schedule,
      .channels = &tree_channels,
      .pattern = &tree_pattern,
      .steady_states = &tree_steady_states,
      .messages = &tree_messages};
}

}  // namespace stepcast::collective
