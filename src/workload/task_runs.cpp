#include "workload/task_runs.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace stepcast::workload {

namespace {

bool receives(const PipelineTask& task, const Plan& plan, std::uint32_t stage) {
  return task.forward ? stage != 0 || task.chunk != 0
                      : stage + 1 != plan.pp || task.chunk + 1 != plan.virtual_stages;
}

std::int32_t step(const StageTask& from, const StageTask& to) {
  return static_cast<std::int32_t>(to.task.micro_batch) - static_cast<std::int32_t>(from.task.micro_batch);
}

/// The longest run of rounds of `length` tasks from `first`.
TaskRun run_at(const std::vector<StageTask>& tasks, std::size_t first, std::size_t length) {
  TaskRun run{first, length, 1, std::vector<std::int32_t>(length, 0)};
  for (;; ++run.count) {
    const std::size_t next = first + run.count * length;
    if (next + length > tasks.size()) {
      return run;
    }
    for (std::size_t i = 0; i < length; ++i) {
      const StageTask& before = tasks[next - length + i];
      const StageTask& task = tasks[next + i];
      if (!same_operations(before, task) || (run.count > 1 && step(before, task) != run.strides[i])) {
        return run;
      }
    }
    if (run.count == 1) {
      for (std::size_t i = 0; i < length; ++i) {
        run.strides[i] = step(tasks[first + i], tasks[next + i]);
      }
    }
  }
}

std::vector<std::size_t> candidate_lengths(const Plan& plan, std::size_t tasks) {
  constexpr std::size_t kShort = 8;
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length <= kShort; ++length) {
    lengths.push_back(length);
  }
  for (std::size_t factor = 1; factor <= 3; ++factor) {
    for (const std::size_t base : {std::size_t{plan.pp}, std::size_t{plan.pp} * plan.virtual_stages,
                                   std::size_t{2} * plan.pp * plan.virtual_stages}) {
      lengths.push_back(factor * base);
    }
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::erase_if(lengths, [&](std::size_t length) { return 2 * length > tasks; });
  return lengths;
}

}  // namespace

bool same_operations(const StageTask& a, const StageTask& b) {
  return a.task.forward == b.task.forward && a.task.chunk == b.task.chunk && a.gathers == b.gathers &&
         a.reduces == b.reduces && a.posts_receive == b.posts_receive;
}

std::vector<StageTask> stage_tasks(const Job& job, std::uint32_t stage) {
  const Plan& plan = job.plan;
  const PipelineSchedule* schedule = find_pipeline_schedule(plan.schedule);
  STEPCAST_CHECK(schedule != nullptr, "schedule \"{}\" was not checked", plan.schedule);
  const auto count = static_cast<std::uint32_t>(micro_batches(job));
  const bool gathers = plan.dp > 1 && plan.distributed_optimizer && job.overlap_param_gather;
  const bool reduces = plan.dp > 1 && job.overlap_grad_reduce;
  std::vector<StageTask> tasks;
  std::vector<std::uint32_t> forwards(plan.virtual_stages, 0);
  std::vector<std::uint32_t> backwards(plan.virtual_stages, 0);
  constexpr std::size_t kNoTask = ~std::size_t{0};
  std::array<std::size_t, 2> last = {kNoTask, kNoTask};  // forward, backward
  for (const PipelineTask& task : schedule->tasks(stage, plan.pp, count, plan.virtual_stages)) {
    STEPCAST_CHECK(task.chunk < plan.virtual_stages, "chunk {} of {}", task.chunk, plan.virtual_stages);
    StageTask entry;
    entry.task = task;
    if (task.forward) {
      entry.gathers = gathers && forwards[task.chunk]++ == 0;
    } else {
      entry.reduces = ++backwards[task.chunk] == count && reduces;
    }
    std::size_t& before = last[task.forward ? 0 : 1];
    if (before != kNoTask) {
      tasks[before].posts_receive = receives(task, plan, stage);
    }
    before = tasks.size();
    tasks.push_back(entry);
  }
  return tasks;
}

std::vector<TaskRun> find_runs(const std::vector<StageTask>& tasks, const Plan& plan) {
  const std::vector<std::size_t> lengths = candidate_lengths(plan, tasks.size());
  std::vector<TaskRun> runs;
  for (std::size_t first = 0; first < tasks.size();) {
    TaskRun best{first, 1, 1, {0}};
    std::size_t saved = 0;
    for (const std::size_t length : lengths) {
      TaskRun run = run_at(tasks, first, length);
      const std::size_t saves = (run.count - 1) * run.length;
      if (saves > saved) {
        saved = saves;
        best = std::move(run);
      }
    }
    first += best.length * best.count;
    runs.push_back(std::move(best));
  }
  return runs;
}

}  // namespace stepcast::workload
