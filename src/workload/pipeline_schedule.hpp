#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/option.hpp"

namespace stepcast::workload {

/// Forward or backward of one model chunk for one micro-batch.
struct PipelineTask {
  bool forward = true;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;  ///< virtual stage of this stage, 0 .. v-1
  friend bool operator==(const PipelineTask&, const PipelineTask&) = default;
};

/// A pipeline schedule: one leaf in pipeline/, one line in pipeline_schedules.def.
struct PipelineSchedule {
  std::string_view name;
  std::string_view summary;
  std::span<const config::Option> options;
  /// Tasks of `stage` in order. Legal for all stages together: each chunk's forward of a micro-batch
  /// follows the previous chunk's, backward the next chunk's (checked by a property test).
  std::vector<PipelineTask> (*tasks)(std::uint32_t stage,
                                     std::uint32_t stages,
                                     std::uint32_t micro_batches,
                                     std::uint32_t virtual_stages);
  /// Largest number of chunk activations alive at a stage, in units of chunks.
  std::uint32_t (*in_flight_chunks)(std::uint32_t stage,
                                    std::uint32_t stages,
                                    std::uint32_t micro_batches,
                                    std::uint32_t virtual_stages);
  bool interleaves = false;  ///< takes virtual_stages > 1
};

[[nodiscard]] std::span<const PipelineSchedule> pipeline_schedules();
/// By name; nullptr when unknown.
[[nodiscard]] const PipelineSchedule* find_pipeline_schedule(std::string_view name);

}  // namespace stepcast::workload
