#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/result.hpp"
#include "topology/cluster.hpp"
#include "workload/job.hpp"

namespace stepcast::replay {

/// A cluster and a job, read, checked against each other, ready to run.
struct StepInput {
  topology::Cluster cluster;
  workload::Job job;
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> gpus;  ///< by rank; empty = packed from GPU 0
  bool cluster_changed = false;     ///< by --set, in more than its number of hosts
};

/// Loads both files (shipped names or paths). `settings` are `--set` texts "/pointer=value": the
/// first key decides whether the cluster or the job is meant; an unknown one is refused with a
/// suggestion. `ranks` is a `--ranks` text (a count or a list); empty = every GPU of the cluster.
/// `nccl`: texts of --nccl, which are added to what the cluster says (collective/nccl/settings.hpp).
/// Throws InputError with all findings of each stage.
[[nodiscard]] StepInput load_step_input(const std::string& cluster,
                                        const std::string& job,
                                        const std::vector<std::string>& settings,
                                        const std::string& ranks,
                                        const std::vector<std::string>& nccl = {});

/// How far a predicted step may be off: from validation/bands.json, which lists what kinds of steps
/// have validated rows. For others, and for clusters with faults or changed by --set, `relative` is 0 and the
/// basis says so. REQUIRES: a resolved job.
[[nodiscard]] Uncertainty step_uncertainty(const StepInput& input);

/// Loads a cluster alone; every setting must be one of its own. A `--ranks` text that asks for more GPUs than
/// there are is refused before the fabric is built.
[[nodiscard]] topology::Cluster load_cluster(const std::string& cluster,
                                             const std::vector<std::string>& settings,
                                             const std::string& ranks = {},
                                             const std::vector<std::string>& nccl = {});

/// Ranks and GPUs that a `--ranks` text names on a cluster (empty text: all GPUs). Throws InputError
/// when the cluster has fewer, naming both numbers; `flag` is where the text comes from.
struct RankChoice {
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> gpus;  ///< empty = packed

  /// The GPUs in rank order.
  [[nodiscard]] std::vector<GpuId> group() const;
};
[[nodiscard]] RankChoice choose_ranks(const topology::Cluster& cluster,
                                      const std::string& ranks,
                                      std::string_view flag = "--ranks");

}  // namespace stepcast::replay
