#pragma once

#include <cstdint>

#include "workload/job.hpp"

namespace stepcast::workload {

/// Sizes of one GPU's part of a layer for one micro-batch. Internal to workload/.
struct LayerShape {
  std::int64_t tokens = 0;        ///< of the micro-batch: what a matrix product sees
  std::int64_t plain_tokens = 0;  ///< what an element-wise kernel outside the TP regions sees: / tp with SP
  std::int64_t sequence = 0;
  std::int64_t micro_batch = 0;
  std::int64_t hidden = 0;  ///< whole
  std::int64_t head_dim = 0;
  std::int64_t heads = 0;   ///< local
  std::int64_t query = 0;   ///< local columns of Q (= heads * head_dim)
  std::int64_t key = 0;     ///< local columns of K, and of V
  std::int64_t ffn = 0;     ///< local columns of one matrix
  std::int64_t ffn_in = 0;  ///< local columns of the first product: 2 x ffn when gated
  std::int64_t vocab = 0;   ///< local columns of the (padded) head
};
[[nodiscard]] LayerShape layer_shape(const Job& job);

/// Elements of the weight matrices of one whole layer (12 h^2 for GPT shapes).
[[nodiscard]] double layer_matrix_parameters(const Model& model);
/// Elements of the biases and norms of one whole layer.
[[nodiscard]] double layer_vector_parameters(const Model& model);
/// Elements of one norm: a scale, and a shift where the model has biases.
[[nodiscard]] double norm_parameters(const Model& model);

/// Parameters that one GPU holds, by part. Matrices and column biases are split by tp; row biases,
/// norms and positions are on each rank.
struct LocalParameters {
  double layer = 0;      ///< one layer
  double embedding = 0;  ///< first stage: padded word embeddings, positions
  double head = 0;       ///< last stage: final norm, and the head unless it is the embedding itself
};
[[nodiscard]] LocalParameters local_parameters(const Job& job);

/// True when first and last stage each hold a copy of tied word embeddings.
[[nodiscard]] inline bool copies_embeddings(const Job& job) {
  return job.model.tied_embeddings && job.plan.pp > 1;
}

/// Layers of one chunk of a stage, and the first of them in the model.
[[nodiscard]] std::uint32_t chunk_layers(const Job& job, std::uint32_t stage);
[[nodiscard]] std::uint32_t first_layer(const Job& job, std::uint32_t stage, std::uint32_t chunk);

}  // namespace stepcast::workload
