// 1F1B (PipeDream-flush): after a warm-up, one forward and one backward in turn.
//
// Scope:        pipelines of one chunk per stage, and pp = 1.
// Assumes:      a flush at the end of each step.
// Not covered:  virtual stages (use interleaved).
// Source:       Narayanan et al., arXiv 2104.04473, figure 4 top; bubble (p-1)/(m+p-1), at most
//               p - stage micro-batches in flight.
// Validated by: tests/property/pipeline_schedule_property_test.cpp.

#include <algorithm>

#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

namespace {

std::vector<PipelineTask> tasks(std::uint32_t stage,
                                std::uint32_t stages,
                                std::uint32_t micro_batches,
                                std::uint32_t /*virtual_stages*/) {
  const std::uint32_t warm_up = std::min(stages - stage - 1, micro_batches);
  std::vector<PipelineTask> order;
  order.reserve(std::size_t{2} * micro_batches);
  for (std::uint32_t i = 0; i < warm_up; ++i) {
    order.push_back({true, i, 0});
  }
  for (std::uint32_t i = 0; i + warm_up < micro_batches; ++i) {
    order.push_back({true, i + warm_up, 0});
    order.push_back({false, i, 0});
  }
  for (std::uint32_t i = micro_batches - warm_up; i < micro_batches; ++i) {
    order.push_back({false, i, 0});
  }
  return order;
}

std::uint32_t in_flight(std::uint32_t stage,
                        std::uint32_t stages,
                        std::uint32_t micro_batches,
                        std::uint32_t /*virtual_stages*/) {
  return std::min(stages - stage, micro_batches);
}

}  // namespace

PipelineSchedule one_f_one_b_schedule() {
  return {"1f1b", "one forward, one backward in turn after a warm-up", {}, &tasks, &in_flight, false};
}

}  // namespace stepcast::workload
