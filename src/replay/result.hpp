#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/executor.hpp"

namespace stepcast::replay {

/// Figures that need a model description (absent when a program or trace is replayed).
struct TrainingFigures {
  double mfu = 0;                   ///< causal model FLOPs / (step x GPUs x peak), never above 1
  double mfu_full_attention = 0;    ///< attention counted over the full S x S (F-C1)
  double hfu = 0;                   ///< with recomputation, causal
  double mfu_peak_flops = 0;        ///< dense peak per GPU, FLOP/s
  double model_tflops_per_gpu = 0;  ///< causal
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
};

/// Memory of the GPU with the highest peak, bytes.
struct MemoryFigures {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double peak = 0;
  double capacity = 0;
  std::uint32_t stage = 0;
  bool fits = false;
  double layers_only_states = 0;
  double layers_only_activations = 0;
};

/// Interval around the step time, from measured rows.
struct Uncertainty {
  double relative = 0;  ///< +- share of the step time; 0 = not known
  std::string basis;
};

/// One predicted step (design 4.2). Times in seconds, sizes in bytes.
struct Result {
  std::string cluster;
  std::string job;
  std::string accelerator;
  std::uint32_t gpus = 0;
  std::string plan;  ///< one line: "tp 8 x pp 8 x dp 1, interleaved (v = 3), micro-batch 1, 64 micro-batches"
  double step_time_s = 0;
  std::optional<TrainingFigures> training;
  std::optional<MemoryFigures> memory;
  Timeline timeline;
  std::uint32_t last_rank = 0;  ///< representative of the class that finishes last
  Uncertainty uncertainty;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< every input and default used, in order
  std::vector<std::string> notes;                           ///< roundings of the fabric, memory pressure, ...
  double wall_build_s = 0;  ///< our own time (--profile only; not part of the result)
  double wall_run_s = 0;
};

}  // namespace stepcast::replay
