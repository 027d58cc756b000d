#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"
#include "compute/model.hpp"
#include "replay/predict.hpp"
#include "routing/router.hpp"
#include "workload/job.hpp"

namespace stepcast::replay {

/// A step in the `analytic` fidelity.
struct AnalyticStep {
  Duration step;                 ///< end of the stage that finishes last
  std::uint32_t last_stage = 0;  ///< that stage (ties: the first)
  std::vector<Duration> finish;  ///< by stage
  std::uint64_t tasks = 0;       ///< forwards and backwards of chunks, over all stages
  std::uint64_t walked = 0;      ///< of these, evaluated one by one: the rest was a steady state
};

/// Prices steps of jobs with every exchange alone on its links: a collective's own sharing and slow links
/// count, other operations do not (design 2.1; what is exact, and what is not: README.md of this folder).
///
/// Every distinct task of a stage (workload::stage_piece) is priced once and becomes a small max-plus
/// matrix; the tasks of all stages are evaluated as a graph, steady states are recognised and skipped,
/// exactly, in whole picoseconds. Prices, pieces and orders are kept between calls, so that a sweep of
/// plans pays for each once. Deterministic: no result depends on what was priced before.
///
/// Not thread-safe: one per thread. The router and its cluster must outlive it.
class AnalyticModel {
 public:
  /// `placement`: the GPU of each rank; jobs may use its first ranks. Throws UnsupportedError for faults
  /// that begin or end within the step.
  AnalyticModel(const routing::Router& router, const compute::Model& compute, Placement placement);
  ~AnalyticModel();
  AnalyticModel(const AnalyticModel&) = delete;
  AnalyticModel& operator=(const AnalyticModel&) = delete;

  /// REQUIRES: a resolved job of at most as many ranks as the placement has. Throws InputError for a
  /// checkpoint on a cluster without storage, UnsupportedError for kernels the device has no rate for.
  [[nodiscard]] AnalyticStep price(const workload::Job& job);

  /// The same step with everything that a report shows. Classes are stages. Takes longer: it walks every
  /// operation of every task, without skipping.
  [[nodiscard]] Timeline explain(const workload::Job& job);

  /// What `explain` and `price` took the slowest of, for a report; empty = all groups alike.
  [[nodiscard]] std::vector<std::string> notes(const workload::Job& job);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Refuses collectives step by step, which this fidelity has not.
void require_coupled(collective::Form form);

/// Timeline, ranks and notes of a job in this fidelity. Refuses what it has not (UnsupportedError naming
/// what to use instead): a recorded timeline, collectives step by step.
void predict_analytic(const routing::Router& router,
                      const compute::Model& compute,
                      Placement placement,
                      const workload::Job& job,
                      const PredictOptions& options,
                      Result& result);

}  // namespace stepcast::replay
