#include "replay/predict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "collective/nccl/settings.hpp"
#include "compute/model.hpp"
#include "network/model.hpp"
#include "placement/placement.hpp"
#include "replay/analytic.hpp"
#include "routing/router.hpp"
#include "workload/flops.hpp"
#include "workload/generate.hpp"
#include "workload/memory.hpp"

namespace stepcast::replay {
namespace {

/// Largest fully recorded job; above it one rank per program is recorded.
constexpr std::uint32_t kRecordAllRanks = 64;
/// Share of device memory above which allocators begin to retry (measured rows near it lose 10-28 %).
constexpr double kMemoryPressure = 0.92;

std::vector<std::uint32_t> ranks_to_record(const program::Programs& programs, const PredictOptions& options) {
  for (const std::uint32_t rank : options.trace_ranks) {
    if (rank >= programs.ranks) {
      throw InputError(
          fmt::format("--trace-ranks names rank {} but the job has {} ranks", rank, programs.ranks));
    }
  }
  if (!options.trace_ranks.empty()) {
    return options.trace_ranks;
  }
  std::vector<std::uint32_t> record;
  std::vector<bool> seen(programs.programs.size(), false);
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    const std::uint32_t program = programs.program_of[rank];
    if (programs.ranks <= kRecordAllRanks || !seen[program]) {
      record.push_back(rank);
    }
    seen[program] = true;
  }
  return record;
}

TrainingFigures training_figures(const workload::Job& job,
                                 const hardware::Accelerator& device,
                                 std::uint32_t ranks,
                                 double step_s) {
  TrainingFigures figures;
  const bool fp8 = job.precision == DataType::kFp8;
  figures.mfu_peak_flops = (fp8 ? device.peak_fp8 : device.peak_fp16).flops_per_second();
  const double machine = step_s * ranks * figures.mfu_peak_flops;
  const double causal = workload::model_flops_per_step(job, true);
  figures.mfu = causal / machine;
  figures.mfu_full_attention = workload::model_flops_per_step(job, false) / machine;
  figures.hfu = workload::hardware_flops_per_step(job) / machine;
  figures.model_tflops_per_gpu = causal / (step_s * ranks) * 1e-12;
  figures.tokens_per_s = static_cast<double>(job.global_batch) * job.sequence / step_s;
  figures.tokens_per_s_per_gpu = figures.tokens_per_s / ranks;
  return figures;
}

MemoryFigures memory_figures(const workload::Job& job, const hardware::Accelerator& device) {
  const workload::Memory memory = workload::memory(job);
  const workload::StageMemory& worst = memory.stages[memory.worst_stage];
  MemoryFigures figures;
  figures.weights = worst.weights;
  figures.gradients = worst.gradients;
  figures.optimizer = worst.optimizer;
  figures.activations = worst.activations;
  figures.peak = worst.peak;
  figures.capacity = static_cast<double>(device.hbm_capacity.count());
  figures.stage = memory.worst_stage;
  figures.fits = figures.peak <= figures.capacity;
  figures.layers_only_states = memory.layers_only_states;
  figures.layers_only_activations = memory.layers_only_activations;
  return figures;
}

std::string plan_line(const workload::Job& job) {
  std::string schedule = job.plan.pp > 1 ? fmt::format(", {}", job.plan.schedule) : std::string();
  if (job.plan.virtual_stages > 1) {
    schedule += fmt::format(" (v = {})", job.plan.virtual_stages);
  }
  return fmt::format("tp {} x pp {} x dp {}{}, {} micro-batch(es) of {}", job.plan.tp, job.plan.pp,
                     job.plan.dp, schedule, workload::micro_batches(job), job.micro_batch);
}

Placement place(const topology::Cluster& cluster, std::uint32_t ranks, const PredictOptions& options) {
  return options.gpus.empty() ? placement::packed(cluster.topology, ranks)
                              : placement::explicit_list(cluster.topology, options.gpus);
}

void fill_common(Result& result, const topology::Cluster& cluster, const PredictOptions& options) {
  result.cluster = cluster.name;
  result.accelerator = cluster.host.accelerator.name;
  for (const std::string& note : cluster.topology.notes()) {
    result.notes.push_back(note);
  }
  const auto input = [&result](std::string key, std::string value) {
    result.inputs.emplace_back(std::move(key), std::move(value));
  };
  const hardware::Accelerator& device = cluster.host.accelerator;
  input("fidelity", options.fidelity);
  input("routing", options.routing);
  input("placement", options.gpus.empty() ? "packed" : "listed");
  input("compute_model", options.compute_model);
  input("lowering", options.form == collective::Form::kCoupled ? "coupled" : "steps");
  const collective::nccl::Settings nccl = collective::nccl::settings_of(cluster.nccl);
  input("nccl", collective::nccl::text_of(nccl.version));
  for (const topology::NcclVariable& variable : cluster.nccl.variables) {
    input(variable.name, variable.value);
  }
  if (!nccl.without_effect.empty()) {
    result.notes.push_back(fmt::format("without effect here: {}", fmt::join(nccl.without_effect, " ")));
  }
  input("seed", fmt::format("{}", options.seed));
  input("host", cluster.host.name);
  input("hosts", fmt::format("{}", cluster.hosts));
  input("accelerator", device.name);
  input("gemm_efficiency", fmt::format("{}", device.gemm_efficiency));
  input("memory_efficiency", fmt::format("{}", device.memory_efficiency));
  input("unfused_attention_efficiency", fmt::format("{}", device.unfused_attention_efficiency));
  input("attention_forward_efficiency", fmt::format("{}", device.attention_forward_efficiency));
  input("elementwise_passes", fmt::format("{}", device.elementwise_passes));
  input("launch_per_kernel_s", fmt::format("{}", device.launch_per_kernel.seconds()));
  input("step_overhead_s", fmt::format("{}", device.step_overhead.seconds()));
  input("nvlink_effective_bytes_per_s", fmt::format("{}", cluster.host.nvlink_effective.bytes_per_second()));
  input("nic_effective_bytes_per_s", fmt::format("{}", cluster.host.nic_effective.bytes_per_second()));
  input("faults", fmt::format("{}", cluster.faults.size()));
}

void fill_job_inputs(Result& result, const workload::Job& job) {
  const auto input = [&result](std::string key, std::string value) {
    result.inputs.emplace_back(std::move(key), std::move(value));
  };
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const workload::Model& model = job.model;
  input("model",
        fmt::format("{} layers, hidden {}, heads {} ({} kv, {} wide), ffn {}{}, vocab {} (padded {})",
                    model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim, model.ffn_hidden,
                    model.gated_mlp ? " gated" : "", model.vocab, workload::padded_vocab(job)));
  input("parameters", fmt::format("{}", workload::parameter_count(job)));
  input("sequence", fmt::format("{}", job.sequence));
  input("micro_batch", fmt::format("{}", job.micro_batch));
  input("global_batch", fmt::format("{}", job.global_batch));
  input("tp", fmt::format("{}", job.plan.tp));
  input("pp", fmt::format("{}", job.plan.pp));
  input("dp", fmt::format("{}", job.plan.dp));
  input("virtual_stages", fmt::format("{}", job.plan.virtual_stages));
  input("schedule", job.plan.schedule);
  input("sequence_parallel", flag(job.plan.sequence_parallel));
  input("distributed_optimizer", flag(job.plan.distributed_optimizer));
  if (!job.plan.stage_layers.empty()) {
    input("stage_layers", fmt::format("{}", fmt::join(job.plan.stage_layers, " ")));
  }
  input("precision", std::string(stepcast::name_of(job.precision)));
  constexpr std::array<std::string_view, 3> kRecompute{"none", "selective", "full"};
  input("recompute", std::string(kRecompute[static_cast<std::size_t>(job.recompute)]));
  input("attention", job.attention == workload::Attention::kFlash ? "flash" : "unfused");
  input("overlap_grad_reduce", flag(job.overlap_grad_reduce));
  input("overlap_param_gather", flag(job.overlap_param_gather));
  input("overlap_p2p", flag(job.overlap_p2p));
  input("bucket_bytes", fmt::format("{}", job.bucket.count()));
  input("grad_dtype", std::string(stepcast::name_of(job.grad_dtype)));
  input("dropout", fmt::format("{}", job.dropout));
  input("checkpoint", flag(job.checkpoint));
}

Run run(const topology::Cluster& cluster, program::Programs programs, const PredictOptions& options) {
  network::require_available(options.fidelity);
  const auto phase = [&options](std::string_view name) {
    if (options.observer != nullptr) {
      options.observer->phase(name);
    }
  };
  phase("checks");
  program::check(programs);
  phase("fabric graph");
  Run run;
  run.programs = std::move(programs);
  const Placement placement = place(cluster, run.programs.ranks, options);
  const routing::Router router(cluster, options.routing, options.seed);
  const auto compute = compute::make_model(options.compute_model);
  ExecutorOptions executor;
  executor.form = options.form;
  executor.fold = options.fold;
  executor.steady_state = options.steady_state;
  executor.memory_limit = options.memory_limit;
  executor.observer = options.observer;
  executor.record_timeline = options.record_timeline;
  if (options.record_timeline) {
    executor.record_ranks = ranks_to_record(run.programs, options);
  }
  run.result.timeline = execute(run.programs, placement, router, *compute, executor);
  fill_common(run.result, cluster, options);
  run.result.gpus = run.programs.ranks;
  run.result.step_time_s = run.result.timeline.end.since_start().seconds();
  if (run.result.timeline.last_rank.valid()) {
    run.result.last_rank = run.result.timeline.last_rank.index();
  }
  return run;
}

/// A job in the `analytic` fidelity: no programs, no executor.
Run run_analytic(const topology::Cluster& cluster,
                 const workload::Job& job,
                 std::uint32_t ranks,
                 const PredictOptions& options) {
  Run run;
  const routing::Router router(cluster, options.routing, options.seed);
  const auto compute = compute::make_model(options.compute_model);
  fill_common(run.result, cluster, options);
  const Placement placement = place(cluster, ranks, options);
  router.prepare({placement.begin(), placement.end()});
  predict_analytic(router, *compute, placement, job, options, run.result);
  return run;
}

}  // namespace

Run predict(const topology::Cluster& cluster,
            const workload::Job& job,
            std::uint32_t ranks,
            const PredictOptions& options) {
  network::require_available(options.fidelity);
  Run out = options.fidelity == "analytic"
                ? run_analytic(cluster, job, ranks, options)
                : run(cluster, workload::generate(job, cluster.host.accelerator), options);
  Result& result = out.result;
  result.job = job.name;
  result.plan = plan_line(job);
  result.uncertainty = options.uncertainty;
  result.training = training_figures(job, cluster.host.accelerator, ranks, result.step_time_s);
  result.memory = memory_figures(job, cluster.host.accelerator);
  fill_job_inputs(result, job);
  if (options.form == collective::Form::kSteps) {
    result.uncertainty = {0, "not validated: no measured step was predicted with collectives step by step"};
  } else if (!result.memory->fits) {
    result.uncertainty = {0, "not validated: the job does not fit into memory"};
  }
  if (result.memory->fits && result.memory->peak > kMemoryPressure * result.memory->capacity) {
    result.notes.push_back(
        fmt::format("memory is {:.0f} % full: allocator retries can cost 10-28 % there and are not modelled",
                    100 * result.memory->peak / result.memory->capacity));
  }
  return out;
}

Run replay(const topology::Cluster& cluster,
           program::Programs programs,
           std::string name,
           const PredictOptions& options) {
  network::require_available(options.fidelity);
  if (options.fidelity == "analytic") {
    throw UnsupportedError(
        "fidelity \"analytic\" prices jobs, not program files (their operations have no chunks to price "
        "once); "
        "use --fidelity flow");
  }
  Run out = run(cluster, std::move(programs), options);
  out.result.job = std::move(name);
  return out;
}

}  // namespace stepcast::replay
