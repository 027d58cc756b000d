// GPipe: every forward, then every backward.
//
// Scope:        pipelines of one chunk per stage, and pp = 1.
// Assumes:      activations of all micro-batches fit (see in_flight_chunks).
// Not covered:  virtual stages; re-materialisation inside the schedule (job key `recompute`).
// Source:       Huang et al., "GPipe", arXiv 1811.06965; bubble (p-1)/(m+p-1).
// Validated by: tests/property/pipeline_schedule_property_test.cpp.

#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

namespace {

std::vector<PipelineTask> tasks(std::uint32_t /*stage*/,
                                std::uint32_t /*stages*/,
                                std::uint32_t micro_batches,
                                std::uint32_t /*virtual_stages*/) {
  std::vector<PipelineTask> order;
  order.reserve(std::size_t{2} * micro_batches);
  for (const bool forward : {true, false}) {
    for (std::uint32_t i = 0; i < micro_batches; ++i) {
      order.push_back({forward, i, 0});
    }
  }
  return order;
}

std::uint32_t in_flight(std::uint32_t /*stage*/,
                        std::uint32_t /*stages*/,
                        std::uint32_t micro_batches,
                        std::uint32_t /*virtual_stages*/) {
  return micro_batches;
}

}  // namespace

PipelineSchedule gpipe_schedule() {
  return {"gpipe", "all forwards, then all backwards", {}, &tasks, &in_flight, false};
}

}  // namespace stepcast::workload
