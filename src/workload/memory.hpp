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
  double peak = 0;         ///< sum (states + activations + logits of the last stage)
  double in_flight = 0;    ///< micro-batches, in units of the stage's whole layer set
};

/// Memory of a job.
struct Memory {
  std::vector<StageMemory> stages;
  std::uint32_t worst_stage = 0;
  /// 18 * 12 * L * h^2 / (t * p): the published convention without embeddings and head (capabilities 3.2).
  double layers_only_states = 0;
  /// F-M4 activations of the first stage without embeddings and head.
  double layers_only_activations = 0;
};

/// Activation bytes of one layer and micro-batch on one GPU (F-M3, F-M4, generalised to GQA and
/// gated MLPs; for GPT shapes exactly the published forms).
[[nodiscard]] double activation_bytes_per_layer(const Job& job);

[[nodiscard]] Memory memory(const Job& job);

}  // namespace stepcast::workload
