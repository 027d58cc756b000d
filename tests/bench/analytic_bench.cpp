// Plans per second in the analytic fidelity: every legal plan of a grid over tensor, pipeline and data
// parallelism, chunks, micro-batch, recompute and overlaps of Llama 3 70B on 1,024 H100.
// Cluster and router are built once. `cold` makes a new model (no prices, no pieces) for each sweep;
// `warm` prices plans that it has priced before.

#include <memory>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

#include "placement/placement.hpp"
#include "replay/analytic.hpp"
#include "replay/step_input.hpp"

namespace {

using namespace stepcast;

/// The grid's legal plans: layers divide by chunks, micro-batches by stages where chunks interleave.
std::vector<workload::Job> make_grid(const workload::Job& base) {
  constexpr std::uint32_t kRanks = 1024;
  constexpr std::uint64_t kGlobalBatch = 1024;
  std::vector<workload::Job> grid;
  for (const std::uint32_t tp : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t pp : {1U, 2U, 4U, 8U, 16U}) {
      for (const std::uint32_t chunks : {1U, 2U, 5U, 10U}) {
        for (const std::uint32_t micro_batch : {1U, 2U, 4U}) {
          workload::Job job = base;
          job.plan.tp = tp;
          job.plan.pp = pp;
          job.plan.dp = kRanks / (tp * pp);
          job.plan.virtual_stages = chunks;
          job.plan.schedule = chunks > 1 ? "interleaved" : "1f1b";
          job.plan.sequence_parallel = tp > 1;
          job.micro_batch = micro_batch;
          job.global_batch = kGlobalBatch;
          const std::uint64_t round = std::uint64_t{job.plan.dp} * micro_batch * (chunks > 1 ? pp : 1);
          if (kGlobalBatch % round != 0 || job.model.layers % (pp * chunks) != 0 || (pp == 1 && chunks > 1)) {
            continue;
          }
          for (const auto recompute :
               {workload::Recompute::kNone, workload::Recompute::kSelective, workload::Recompute::kFull}) {
            job.recompute = recompute;
            for (std::uint32_t overlaps = 0; overlaps < 16; ++overlaps) {
              job.overlap_grad_reduce = (overlaps & 1U) != 0;
              job.overlap_param_gather = (overlaps & 2U) != 0;
              job.overlap_p2p = (overlaps & 4U) != 0;
              job.overlap_tp = (overlaps & 8U) != 0;
              grid.push_back(job);
            }
          }
        }
      }
    }
  }
  return grid;
}

/// Everything that a sweep builds once.
struct Sweep {
  replay::StepInput input = replay::load_step_input("dgx-h100-1024", "llama3-70b", {}, "");
  routing::Router router{input.cluster, "balanced"};
  std::unique_ptr<compute::Model> compute = compute::make_model("roofline");
  std::vector<workload::Job> grid = make_grid(input.job);
};

void sweep(benchmark::State& state, bool cold) {
  const Sweep sweep;
  std::optional<replay::AnalyticModel> model;
  double tasks = 0;
  double walked = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    if (cold || !model) {
      model.emplace(sweep.router, *sweep.compute,
                    placement::packed(sweep.input.cluster.topology, sweep.input.ranks));
    }
    for (const workload::Job& job : sweep.grid) {
      const replay::AnalyticStep step = model->price(job);
      tasks += static_cast<double>(step.tasks);
      walked += static_cast<double>(step.walked);
    }
  }
  const auto plans = static_cast<double>(state.iterations()) * static_cast<double>(sweep.grid.size());
  state.counters["plans"] = static_cast<double>(sweep.grid.size());
  state.counters["plans_per_second"] = benchmark::Counter(plans, benchmark::Counter::kIsRate);
  state.counters["tasks_per_plan"] = tasks / plans;
  state.counters["walked_per_plan"] = walked / plans;
}

void analytic_sweep_cold(benchmark::State& state) {
  sweep(state, true);
}
void analytic_sweep_warm(benchmark::State& state) {
  sweep(state, false);
}

/// One plan with many micro-batches: what the recognised steady state saves.
void analytic_micro_batches(benchmark::State& state) {
  const Sweep sweep;
  workload::Job job = sweep.input.job;
  job.plan.virtual_stages = 1;
  job.plan.schedule = "1f1b";
  job.global_batch = job.plan.dp * static_cast<std::uint64_t>(state.range(0));
  replay::AnalyticModel model(sweep.router, *sweep.compute,
                              placement::packed(sweep.input.cluster.topology, sweep.input.ranks));
  for (auto iteration : state) {
    static_cast<void>(iteration);
    benchmark::DoNotOptimize(model.price(job));
  }
}

BENCHMARK(analytic_sweep_cold)->Unit(benchmark::kMillisecond);
BENCHMARK(analytic_sweep_warm)->Unit(benchmark::kMillisecond);
BENCHMARK(analytic_micro_batches)->RangeMultiplier(8)->Range(64, 32768);

}  // namespace
