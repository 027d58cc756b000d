#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"
#include "replay/result.hpp"
#include "topology/cluster.hpp"
#include "workload/job.hpp"

namespace stepcast::replay {

/// What a run may vary besides cluster and job.
struct PredictOptions {
  std::string fidelity = "flow";
  std::string routing = "balanced";
  std::string compute_model = "roofline";
  std::uint64_t seed = 0;
  collective::Form form = collective::Form::kCoupled;
  Fold fold = Fold::kAuto;
  bool steady_state = true;
  bool record_timeline = false;
  std::vector<std::uint32_t> trace_ranks;  ///< ranks to record; empty = all up to 64, else one per program
  std::vector<std::uint32_t> gpus;         ///< GPU of each rank; empty = packed from GPU 0
  std::uint64_t memory_limit = 0;          ///< bytes that the run may take; 0 = any
  RunObserver* observer = nullptr;         ///< told how far the run is; may be null
  Uncertainty uncertainty;                 ///< copied to the result of `predict` (step_uncertainty)
};

/// A run with its programs, for reports that show operations (Chrome trace).
struct Run {
  Result result;
  program::Programs programs;
};

/// Predicts one step of a resolved job (see workload::resolve) on a cluster. Errors as in `execute`.
[[nodiscard]] Run predict(const topology::Cluster& cluster,
                          const workload::Job& job,
                          std::uint32_t ranks,
                          const PredictOptions& options);

/// Replays programs (from a file or an importer) on a cluster.
[[nodiscard]] Run replay(const topology::Cluster& cluster,
                         program::Programs programs,
                         std::string name,
                         const PredictOptions& options);

}  // namespace stepcast::replay
