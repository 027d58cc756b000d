#include "workload/flops.hpp"

#include "workload/shapes.hpp"

namespace stepcast::workload {

namespace {

double tokens(const Job& job) {
  return static_cast<double>(job.global_batch) * job.sequence;
}

/// Forward FLOPs of the scores and their product with V, of one layer and token. Each of the two
/// products costs 2 x (heads x head_dim) per pair of tokens; causal pairs are half of all.
double attention_per_token(const Job& job, bool causal) {
  const double query = static_cast<double>(job.model.heads) * job.model.head_dim;
  return (causal ? 2.0 : 4.0) * job.sequence * query;
}

/// Forward FLOPs of one layer and token.
double layer_per_token(const Job& job, bool causal) {
  return 2 * layer_matrix_parameters(job.model) + attention_per_token(job, causal);
}

}  // namespace

double model_flops_per_step(const Job& job, bool causal) {
  const double head = 2.0 * job.model.hidden * job.model.vocab;
  // The backward of each product is two products: by its input and by its weight.
  return 3 * tokens(job) * (job.model.layers * layer_per_token(job, causal) + head);
}

double hardware_flops_per_step(const Job& job) {
  constexpr bool kCausal = true;
  double repeated = 0;
  if (job.recompute == Recompute::kFull) {
    repeated = layer_per_token(job, kCausal);
  } else if (job.recompute == Recompute::kSelective && job.attention == Attention::kUnfused) {
    repeated = attention_per_token(job, kCausal);
  }
  return model_flops_per_step(job, kCausal) + tokens(job) * job.model.layers * repeated;
}

double parameter_count(const Job& job) {
  const Model& model = job.model;
  const double words = static_cast<double>(model.vocab) * model.hidden;
  const double positions = model.learned_positions ? static_cast<double>(job.sequence) * model.hidden : 0;
  const double layer = layer_matrix_parameters(model) + layer_vector_parameters(model);
  return words * (model.tied_embeddings ? 1 : 2) + positions + model.layers * layer + norm_parameters(model);
}

}  // namespace stepcast::workload
