#include "replay/pipeline_order.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace stepcast::replay {
namespace {

/// Orders kept hold at most so many tasks (32 MB); then all are dropped.
constexpr std::size_t kMostTasks = 4'000'000;

std::uint16_t kind_of(StageOrder& order, const workload::StageTask& task) {
  for (std::size_t i = 0; i < order.kinds.size(); ++i) {
    if (workload::same_operations(order.kinds[i].task, task)) {
      return static_cast<std::uint16_t>(i);
    }
  }
  constexpr std::size_t kMostKinds = 60'000;
  STEPCAST_CHECK(order.kinds.size() < kMostKinds, "{} kinds of tasks", order.kinds.size());
  order.kinds.push_back({task, false});
  return static_cast<std::uint16_t>(order.kinds.size() - 1);
}

/// Longest run of tasks that repeat after `period`.
std::size_t longest_repeat(const StageOrder& order, std::size_t period) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i + period < order.tasks.size(); ++i) {
    run = order.tasks[i] == order.tasks[i + period] ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// The shortest period in which every stage spends at least a third of its tasks, three rounds or more.
std::uint32_t period_of(const PipelineOrder& order, const workload::Plan& plan) {
  const std::uint32_t round = plan.pp * plan.virtual_stages;
  for (const std::uint32_t period : {1U, 2U, plan.pp, 2 * plan.pp, round, 2 * round}) {
    const bool everywhere =
        std::all_of(order.stages.begin(), order.stages.end(), [period](const StageOrder& stage) {
          const std::size_t longest = longest_repeat(stage, period);
          return longest >= std::size_t{2} * period && 3 * (longest + period) >= stage.tasks.size();
        });
    if (everywhere) {
      return period;
    }
  }
  return 0;
}

PipelineOrder build(const workload::Job& job) {
  PipelineOrder order;
  for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
    const std::vector<workload::StageTask> tasks = workload::stage_tasks(job, stage);
    StageOrder& out = order.stages.emplace_back();
    out.tasks.reserve(tasks.size() + 1);
    for (const workload::StageTask& task : tasks) {
      out.tasks.push_back(kind_of(out, task));
    }
    out.tasks.push_back(static_cast<std::uint16_t>(out.kinds.size()));
    out.kinds.push_back({{}, true});
  }
  order.period = period_of(order, job.plan);
  for (StageOrder& stage : order.stages) {
    stage.repeats.assign(stage.tasks.size(), 0);
    for (std::size_t i = stage.tasks.size(); order.period > 0 && i-- > 0;) {
      if (i + order.period < stage.tasks.size() && stage.tasks[i] == stage.tasks[i + order.period]) {
        stage.repeats[i] = stage.repeats[i + 1] + 1;
      }
    }
  }
  return order;
}

}  // namespace

const PipelineOrder& PipelineOrders::of(const workload::Job& job) {
  const workload::Plan& plan = job.plan;
  const bool shared = plan.dp > 1;
  const Key key{plan.schedule,
                plan.pp,
                plan.virtual_stages,
                workload::micro_batches(job),
                shared && plan.distributed_optimizer && job.overlap_param_gather,
                shared && job.overlap_grad_reduce};
  auto found = known_.find(key);
  if (found == known_.end()) {
    if (tasks_ > kMostTasks) {
      known_.clear();
      tasks_ = 0;
    }
    found = known_.emplace(key, build(job)).first;
    for (const StageOrder& stage : found->second.stages) {
      tasks_ += stage.tasks.size();
    }
  }
  return found->second;
}

}  // namespace stepcast::replay
