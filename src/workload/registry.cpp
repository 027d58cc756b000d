#include <array>

#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

#define STEPCAST_PIPELINE(function) PipelineSchedule function##_schedule();
#include "workload/pipeline_schedules.def"
#undef STEPCAST_PIPELINE

namespace {

// A line repeated in pipeline_schedules.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_PIPELINE(function) function,
#include "workload/pipeline_schedules.def"
#undef STEPCAST_PIPELINE
  kCount
};

}  // namespace

std::span<const PipelineSchedule> pipeline_schedules() {
  static const std::array<PipelineSchedule, static_cast<std::size_t>(Listed::kCount)> schedules = {
#define STEPCAST_PIPELINE(function) function##_schedule(),
#include "workload/pipeline_schedules.def"
#undef STEPCAST_PIPELINE
  };
  return schedules;
}

const PipelineSchedule* find_pipeline_schedule(std::string_view name) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    if (schedule.name == name) {
      return &schedule;
    }
  }
  return nullptr;
}

}  // namespace stepcast::workload
