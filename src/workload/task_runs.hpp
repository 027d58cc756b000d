#pragma once

#include <cstdint>
#include <vector>

#include "workload/job.hpp"
#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

/// A pipeline task and everything that its operations depend on.
struct StageTask {
  PipelineTask task;
  bool gathers = false;        ///< first forward of a chunk that gathers its parameters
  bool reduces = false;        ///< last backward of a chunk that reduces its gradients
  bool posts_receive = false;  ///< the stage's next task of the same direction has something to receive
};

/// True when two tasks of a stage run the same operations, for whatever micro-batch.
[[nodiscard]] bool same_operations(const StageTask& a, const StageTask& b);

/// `count` times the `length` tasks from `first`; micro-batches grow by `strides[i]` per round.
struct TaskRun {
  std::size_t first = 0;
  std::size_t length = 1;
  std::uint64_t count = 1;
  std::vector<std::int32_t> strides;
};

/// Tasks of a stage with the facts above. REQUIRES: a resolved job.
[[nodiscard]] std::vector<StageTask> stage_tasks(const Job& job, std::uint32_t stage);

/// Cuts a task list into runs of equal rounds, so that the steady state is one run: at each place the
/// candidate length (1 to 8, and one to three times pp, pp x v, 2 pp x v) that covers most.
[[nodiscard]] std::vector<TaskRun> find_runs(const std::vector<StageTask>& tasks, const Plan& plan);

}  // namespace stepcast::workload
