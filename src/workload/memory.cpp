#include "workload/memory.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "workload/pipeline_schedule.hpp"
#include "workload/shapes.hpp"

namespace stepcast::workload {

namespace {

constexpr double kWeightBytes = 2;      // fp16 or bf16
constexpr double kOptimizerBytes = 12;  // Adam: fp32 weight, two fp32 moments
constexpr double kActivationBytes = 2;  // also with fp8 GEMMs: the high-precision input is kept
constexpr double kMaskBytes = 1;
constexpr double kLogitBytes = 4;  // the loss keeps fp32 logits

/// Bytes that the backward of one layer needs from its forward, for one micro-batch.
///
/// Stored tensors (T tokens, widths of one GPU; "plain" = outside the tensor-parallel regions, split by
/// tp only with sequence parallelism):
///   plain:     inputs of both norms, inputs of QKV and of the first MLP product: 4 x 2 T h;
///              masks of the two residual dropouts: 2 x T h
///   attention: Q, K, V: 2 T (q + 2 kv); its output, the input of the projection: 2 T q;
///              unfused only, per score: softmax output 2, dropout mask 1, dropout output 2
///   MLP:       first product's output 2 T f (gated: 2 x 2 T f), input of the second product 2 T f
/// Flash attention recomputes the scores; its row statistics (4 bytes per row and head) are left out.
struct LayerActivations {
  double plain = 0;
  double scores = 0;
  double rest = 0;
};

LayerActivations layer_activations(const Job& job) {
  const LayerShape shape = layer_shape(job);
  const auto tokens = static_cast<double>(shape.tokens);
  const auto hidden = static_cast<double>(shape.hidden);
  const double mask = job.dropout > 0 ? kMaskBytes : 0;
  LayerActivations bytes;
  bytes.plain = static_cast<double>(shape.plain_tokens) * hidden * (4 * kActivationBytes + 2 * mask);
  const double attention = static_cast<double>(2 * shape.query + 2 * shape.key);
  const double mlp = static_cast<double>(shape.ffn_in + shape.ffn);
  bytes.rest = tokens * (attention + mlp) * kActivationBytes;
  if (job.attention == Attention::kUnfused) {
    const double dropout = job.dropout > 0 ? kMaskBytes + kActivationBytes : 0;
    bytes.scores = tokens * static_cast<double>(shape.sequence) * static_cast<double>(shape.heads) *
                   (kActivationBytes + dropout);
  }
  return bytes;
}

/// Micro-batches in flight at a stage, in units of its whole layer set.
double in_flight(const Job& job, std::uint32_t stage) {
  const PipelineSchedule* schedule = find_pipeline_schedule(job.plan.schedule);
  STEPCAST_CHECK(schedule != nullptr, "schedule \"{}\" was not checked", job.plan.schedule);
  const auto chunks = schedule->in_flight_chunks(
      stage, job.plan.pp, static_cast<std::uint32_t>(micro_batches(job)), job.plan.virtual_stages);
  return static_cast<double>(chunks) / job.plan.virtual_stages;
}

/// Micro-batches of one chunk in flight.
double chunk_in_flight(const Job& job, std::uint32_t stage, std::uint32_t chunk) {
  const PipelineSchedule* schedule = find_pipeline_schedule(job.plan.schedule);
  STEPCAST_CHECK(schedule != nullptr, "schedule \"{}\" was not checked", job.plan.schedule);
  std::uint32_t alive = 0;
  std::uint32_t most = 0;
  for (const PipelineTask& task : schedule->tasks(
           stage, job.plan.pp, static_cast<std::uint32_t>(micro_batches(job)), job.plan.virtual_stages)) {
    if (task.chunk == chunk) {
      alive = task.forward ? alive + 1 : alive - 1;
      most = std::max(most, alive);
    }
  }
  return most;
}

double stage_layers(const Job& job, std::uint32_t stage) {
  return static_cast<double>(chunk_layers(job, stage)) * job.plan.virtual_stages;
}

/// What one layer holds only while its backward runs, because the forward did not keep it.
double recompute_workspace(const Job& job) {
  const LayerActivations layer = layer_activations(job);
  switch (job.recompute) {
    case Recompute::kNone: return 0;
    case Recompute::kSelective: return layer.scores;
    case Recompute::kFull: return layer.plain + layer.rest + layer.scores;
  }
  return 0;
}

/// Embedding dropout mask on the first stage; inputs of the final norm and of the head, and the fp32
/// logits of one micro-batch, on the last.
double end_activations(const Job& job, std::uint32_t stage) {
  const LayerShape shape = layer_shape(job);
  const double plain = static_cast<double>(shape.plain_tokens) * static_cast<double>(shape.hidden);
  double bytes = 0;
  if (stage == 0 && job.dropout > 0) {
    bytes += plain * kMaskBytes * chunk_in_flight(job, stage, 0);
  }
  if (stage + 1 == job.plan.pp) {
    bytes += 2 * plain * kActivationBytes * chunk_in_flight(job, stage, job.plan.virtual_stages - 1);
    bytes += static_cast<double>(shape.tokens) * static_cast<double>(shape.vocab) * kLogitBytes;
  }
  return bytes;
}

}  // namespace

double activation_bytes_per_layer(const Job& job) {
  if (job.recompute == Recompute::kFull) {  // the layer's input
    const LayerShape shape = layer_shape(job);
    return static_cast<double>(shape.plain_tokens) * static_cast<double>(shape.hidden) * kActivationBytes;
  }
  const LayerActivations layer = layer_activations(job);
  return layer.plain + layer.rest + (job.recompute == Recompute::kSelective ? 0 : layer.scores);
}

Memory memory(const Job& job) {
  const Plan& plan = job.plan;
  const LocalParameters local = local_parameters(job);
  const auto grad_bytes = static_cast<double>(element_bytes(job.grad_dtype));
  Memory result;
  for (std::uint32_t stage = 0; stage < plan.pp; ++stage) {
    const double layers = stage_layers(job, stage);
    double parameters = layers * local.layer;
    parameters += stage == 0 ? local.embedding : 0;
    parameters += stage + 1 == plan.pp ? local.head : 0;
    StageMemory bytes;
    bytes.in_flight = in_flight(job, stage);
    bytes.weights = kWeightBytes * parameters;
    bytes.gradients = grad_bytes * parameters;
    bytes.optimizer = kOptimizerBytes * parameters / (plan.distributed_optimizer ? plan.dp : 1);
    bytes.activations = activation_bytes_per_layer(job) * layers * bytes.in_flight +
                        recompute_workspace(job) + end_activations(job, stage);
    bytes.peak = bytes.weights + bytes.gradients + bytes.optimizer + bytes.activations;
    result.stages.push_back(bytes);
    if (bytes.peak > result.stages[result.worst_stage].peak) {
      result.worst_stage = stage;
    }
  }
  const double first = stage_layers(job, 0);
  constexpr double kPublishedStateBytes = 18;  // weight 2, fp32 gradient 4, optimizer 12
  result.layers_only_states = kPublishedStateBytes * layer_matrix_parameters(job.model) * first / plan.tp;
  result.layers_only_activations = activation_bytes_per_layer(job) * first * in_flight(job, 0);
  return result;
}

}  // namespace stepcast::workload
