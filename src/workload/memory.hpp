#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "workload/job.hpp"

namespace stepcast::workload {

/// Memory of one GPU of a stage, bytes.
struct StageMemory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  ///< of all in-flight micro-batches
  double peak = 0;         ///< sum; activations include the last stage's logits
  double in_flight = 0;    ///< micro-batches, in units of the stage's whole layer set
};

/// Memory of a job.
struct Memory {
  std::vector<StageMemory> stages;
  std::uint32_t worst_stage = 0;
  /// States of the first stage in the convention of arXiv 2205.05198 figure 1: 18 bytes per element of
  /// its layers' weight matrices (GPT, even stages: 18 * 12 * L * h^2 / (t * p)), no sharding over dp.
  double layers_only_states = 0;
  /// Activations of the first stage's layers in the same convention: no embeddings, head, workspace.
  double layers_only_activations = 0;
};

/// Activation bytes of one layer and micro-batch on one GPU, after the recompute policy. For GPT shapes
/// with dropout exactly the forms of arXiv 2205.05198: TP s b h (10 + 24/t + 5 a s/(h t)), with sequence
/// parallelism s b h (34 + 5 a s/h)/t, selective without the a s term, full 2 s b h (/t).
/// Generalised to GQA, gated MLPs, flash attention and no dropout by the list of stored tensors in
/// memory.cpp.
[[nodiscard]] double activation_bytes_per_layer(const Job& job);

[[nodiscard]] Memory memory(const Job& job);

}  // namespace stepcast::workload
