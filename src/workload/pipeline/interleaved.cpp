// Interleaved 1F1B: each stage holds v chunks of layers, so that the bubble shrinks by v.
//
// Scope:        virtual stages > 1; chunk c of stage s is model part c * p + s.
// Assumes:      micro-batches a multiple of the stages (the groups of p that walk through the chunks).
// Not covered:  uneven chunks; micro-batch groups other than p.
// Source:       Narayanan et al., arXiv 2104.04473, section 2.2.2; order of Megatron-LM's
//               forward_backward_pipelining_with_interleaving: warm-up of 2 (p - stage - 1) + (v - 1) p
//               chunk forwards; bubble (p-1)/(v m) of the ideal time.
// Validated by: tests/property/pipeline_schedule_property_test.cpp.

#include <algorithm>

#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

namespace {

/// The k-th forward (or backward) of a stage: p micro-batches go through chunk 0, then through chunk
/// 1, ...; the backward walks through the chunks from the last.
PipelineTask nth(bool forward, std::uint32_t k, std::uint32_t stages, std::uint32_t virtual_stages) {
  const std::uint32_t round = k / (stages * virtual_stages);
  const std::uint32_t within = k % (stages * virtual_stages);
  const std::uint32_t chunk = within / stages;
  return {forward, round * stages + within % stages, forward ? chunk : virtual_stages - 1 - chunk};
}

std::uint32_t warm_up_tasks(std::uint32_t stage,
                            std::uint32_t stages,
                            std::uint32_t micro_batches,
                            std::uint32_t virtual_stages) {
  return std::min((stages - stage - 1) * 2 + (virtual_stages - 1) * stages, micro_batches * virtual_stages);
}

std::vector<PipelineTask> tasks(std::uint32_t stage,
                                std::uint32_t stages,
                                std::uint32_t micro_batches,
                                std::uint32_t virtual_stages) {
  const std::uint32_t total = micro_batches * virtual_stages;
  const std::uint32_t warm_up = warm_up_tasks(stage, stages, micro_batches, virtual_stages);
  std::vector<PipelineTask> order;
  order.reserve(std::size_t{2} * total);
  for (std::uint32_t k = 0; k < warm_up; ++k) {
    order.push_back(nth(true, k, stages, virtual_stages));
  }
  for (std::uint32_t k = 0; k + warm_up < total; ++k) {
    order.push_back(nth(true, k + warm_up, stages, virtual_stages));
    order.push_back(nth(false, k, stages, virtual_stages));
  }
  for (std::uint32_t k = total - warm_up; k < total; ++k) {
    order.push_back(nth(false, k, stages, virtual_stages));
  }
  return order;
}

std::uint32_t in_flight(std::uint32_t stage,
                        std::uint32_t stages,
                        std::uint32_t micro_batches,
                        std::uint32_t virtual_stages) {
  const std::uint32_t warm_up = warm_up_tasks(stage, stages, micro_batches, virtual_stages);
  return std::min(warm_up + 1, micro_batches * virtual_stages);
}

}  // namespace

PipelineSchedule interleaved_schedule() {
  return {"interleaved", "1f1b over several chunks of layers per stage", {}, &tasks, &in_flight, true};
}

}  // namespace stepcast::workload
