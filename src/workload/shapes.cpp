#include "workload/shapes.hpp"

#include <numeric>

namespace stepcast::workload {

LayerShape layer_shape(const Job& job) {
  const Model& model = job.model;
  const std::int64_t tp = job.plan.tp;
  LayerShape shape;
  shape.sequence = job.sequence;
  shape.micro_batch = job.micro_batch;
  shape.tokens = shape.sequence * shape.micro_batch;
  shape.plain_tokens = job.plan.sequence_parallel ? shape.tokens / tp : shape.tokens;
  shape.hidden = model.hidden;
  shape.head_dim = model.head_dim;
  shape.heads = model.heads / tp;
  shape.query = shape.heads * shape.head_dim;
  shape.key = model.kv_heads / tp * shape.head_dim;
  shape.ffn = model.ffn_hidden / tp;
  shape.ffn_in = model.gated_mlp ? 2 * shape.ffn : shape.ffn;
  shape.vocab = static_cast<std::int64_t>(padded_vocab(job)) / tp;
  return shape;
}

namespace {

double query_columns(const Model& model) {
  return static_cast<double>(model.heads) * model.head_dim;
}
double key_columns(const Model& model) {
  return static_cast<double>(model.kv_heads) * model.head_dim;
}

/// Biases of the column-parallel products (QKV, first of the MLP), which tp splits.
double column_biases(const Model& model) {
  const double ffn = static_cast<double>(model.ffn_hidden) * (model.gated_mlp ? 2 : 1);
  return model.biases ? query_columns(model) + 2 * key_columns(model) + ffn : 0;
}

/// Biases of the row-parallel products and the two norms, which every rank holds.
double replicated_vectors(const Model& model) {
  return (model.biases ? 2.0 * model.hidden : 0) + 2 * norm_parameters(model);
}

}  // namespace

double layer_matrix_parameters(const Model& model) {
  const double hidden = model.hidden;
  const double attention =
      hidden * (query_columns(model) + 2 * key_columns(model)) + query_columns(model) * hidden;
  return attention + (model.gated_mlp ? 3 : 2) * hidden * static_cast<double>(model.ffn_hidden);
}

double norm_parameters(const Model& model) {
  return model.hidden * (model.biases ? 2.0 : 1.0);
}

double layer_vector_parameters(const Model& model) {
  return column_biases(model) + replicated_vectors(model);
}

LocalParameters local_parameters(const Job& job) {
  const Model& model = job.model;
  const double tp = job.plan.tp;
  const double words = static_cast<double>(padded_vocab(job)) / tp * model.hidden;
  const bool own_head = !model.tied_embeddings || copies_embeddings(job);
  LocalParameters local;
  local.layer = (layer_matrix_parameters(model) + column_biases(model)) / tp + replicated_vectors(model);
  local.embedding = words + (model.learned_positions ? static_cast<double>(job.sequence) * model.hidden : 0);
  local.head = norm_parameters(model) + (own_head ? words : 0);
  return local;
}

std::uint32_t chunk_layers(const Job& job, std::uint32_t stage) {
  const Plan& plan = job.plan;
  return plan.stage_layers.empty() ? job.model.layers / (plan.pp * plan.virtual_stages)
                                   : plan.stage_layers[stage];
}

std::uint32_t first_layer(const Job& job, std::uint32_t stage, std::uint32_t chunk) {
  const Plan& plan = job.plan;
  if (plan.stage_layers.empty()) {
    return (chunk * plan.pp + stage) * chunk_layers(job, stage);
  }
  const auto end = plan.stage_layers.begin() + static_cast<std::ptrdiff_t>(stage);
  return std::accumulate(plan.stage_layers.begin(), end, 0U);
}

}  // namespace stepcast::workload
