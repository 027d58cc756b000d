#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "workload/job.hpp"
#include "workload/task_runs.hpp"

// Internal to replay/: the tasks of all stages as numbers, and where they repeat.
namespace stepcast::replay {

/// The tasks of one stage. Tasks of one kind run the same operations.
struct StageOrder {
  struct Kind {
    workload::StageTask task;  ///< of its first micro-batch
    bool ends_step = false;    ///< no task: what follows the last one
  };
  std::vector<Kind> kinds;
  std::vector<std::uint16_t> tasks;  ///< index into kinds; the last one ends the step
  /// By task: how many tasks from here on are of the kind of the task one period later.
  std::vector<std::uint32_t> repeats;
};

struct PipelineOrder {
  std::vector<StageOrder> stages;
  std::uint32_t period = 0;  ///< tasks after which most of every stage repeats; 0 = none
};

/// Orders by schedule, stages, micro-batches and what the first and last tasks of a chunk do more: most
/// plans of a sweep share theirs with others.
class PipelineOrders {
 public:
  [[nodiscard]] const PipelineOrder& of(const workload::Job& job);

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint64_t, bool, bool>;
  std::map<Key, PipelineOrder> known_;
  std::size_t tasks_ = 0;
};

}  // namespace stepcast::replay
