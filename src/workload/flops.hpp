#pragma once

#include "workload/job.hpp"

namespace stepcast::workload {

/// Model FLOPs of one step of the whole job (forward + 2 x backward, no recompute).
/// `causal`: attention scores counted over the causal half; else the full S x S (F-C1).
/// Generalises F-C1 to GQA and gated MLPs by counting matrix products.
[[nodiscard]] double model_flops_per_step(const Job& job, bool causal);

/// The same plus what the recompute policy repeats (for HFU), causal.
[[nodiscard]] double hardware_flops_per_step(const Job& job);

/// Trainable parameters, embeddings and head included (tied counted once), unpadded vocabulary.
[[nodiscard]] double parameter_count(const Job& job);

}  // namespace stepcast::workload
