#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"
#include "collective/collective.hpp"
#include "compute/model.hpp"
#include "program/program.hpp"
#include "routing/router.hpp"

namespace stepcast::replay {

/// Where an instant of a rank goes (design 4.2): the first that applies.
enum class Activity : std::uint8_t {
  kOptimizer,
  kCompute,
  kStorage,
  kExposedTp,
  kExposedCp,
  kExposedEp,
  kExposedDp,
  kExposedPp,
  kBubble,
  kOther,
};
inline constexpr std::size_t kActivities = 10;
[[nodiscard]] std::string_view name_of(Activity activity);

/// What the longest chain of operations to the end of the step is made of: compute by cost class,
/// then communication by dimension, storage, and other waits.
enum class PathPart : std::uint8_t {
  kGemm,
  kAttention,
  kMemory,
  kLaunch,
  kFixed,
  kTp,
  kCp,
  kEp,
  kDp,
  kPp,
  kStorage,
  kOther,
};
inline constexpr std::size_t kPathParts = 12;
using PathParts = std::array<std::int64_t, kPathParts>;  ///< ps
[[nodiscard]] std::string_view name_of(PathPart part);

/// One executed operation, when the timeline is recorded.
struct Interval {
  RankId rank;
  OpId operation;
  std::uint32_t iteration = 0;  ///< linear index over the loops around the operation
  TimePoint start;              ///< left its stream's queue (a collective: arrived)
  TimePoint active;             ///< transfer or kernel began (a collective: all arrived)
  TimePoint end;
};

/// Traffic of one tier of links.
struct TierUse {
  std::string tier;
  double bytes = 0;        ///< over all its links
  double utilisation = 0;  ///< of the busiest resource over the step: bytes / (capacity x step)
  double peak = 0;         ///< highest load / capacity of any resource at any time
};

/// Whether one representative of each class of ranks is run, or every rank (design 2.2).
enum class Fold : std::uint8_t { kAuto, kOff };

/// Communication of one kind, dimension and size, over all ranks.
struct CommunicationUse {
  std::string kind;        ///< "all_gather", "send", "storage write", ...
  std::string dimension;   ///< "tp", "dp", ...; empty = unlabelled
  std::int64_t bytes = 0;  ///< as the operation says
  std::uint64_t calls = 0;
  double transfer_s = 0;  ///< mean of a call, from the arrival of all members to its end
  double wait_s = 0;      ///< mean of a call, from its own arrival to that of all members
};

/// Hears how far a run is. The run neither waits for it nor depends on it.
class RunObserver {
 public:
  RunObserver() = default;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;
  virtual ~RunObserver() = default;
  /// A part of the work begins ("routes", "folding", "run", ...).
  virtual void phase(std::string_view /*name*/) {}
  /// Called now and then, by the count of events: virtual time, operations executed and operations in all.
  virtual void progress(TimePoint now, std::uint64_t done, std::uint64_t total) = 0;
};

struct ExecutorOptions {
  collective::Form form = collective::Form::kCoupled;
  Fold fold = Fold::kAuto;
  bool steady_state = true;  ///< count repetitions of a steady state (not while the timeline is recorded)
  bool record_timeline = false;
  std::vector<std::uint32_t> record_ranks;   ///< which ranks to record; empty = all
  bool record_resources = false;             ///< fill Timeline::resource_bytes
  std::uint64_t max_intervals = 20'000'000;  ///< refuse to record more (memory), with the number
  std::uint64_t memory_limit = 0;   ///< bytes that the run may take; refused before when more; 0 = any
  RunObserver* observer = nullptr;  ///< may be null
  const collective::Lowering* lowering = nullptr;  ///< of the router, with what it knows; null = a new one
};

/// Everything reported is derived from this.
struct Timeline {
  TimePoint end;
  ClassId last_class;                                ///< finishes last (ties: lowest id)
  std::array<Duration, kActivities> breakdown{};     ///< of last_class; sums to end
  std::array<Duration, kPathParts> critical_path{};  ///< sums to end
  IdVector<ClassId, TimePoint> finish;               ///< by class
  IdVector<ClassId, Duration> busy;                  ///< compute time by class
  std::vector<TierUse> tiers;
  std::vector<CommunicationUse> communication;  ///< most time in transfer first
  std::vector<Interval> intervals;              ///< by rank, then time; when recorded
  std::vector<Int128> resource_bytes;           ///< by ResourceId of the router; when recorded
  std::uint64_t fingerprint = 0;
  std::uint64_t operations = 0;  ///< of all ranks
  std::uint64_t executed = 0;    ///< of representatives of classes: what was simulated
  std::uint64_t events = 0;
  std::uint64_t resolves = 0;
  std::uint64_t solved_activities = 0;
  std::uint32_t ranks = 0;
  std::uint32_t classes = 0;
  std::uint64_t skipped_iterations = 0;  ///< of the longest loop: repetitions of a steady state
  std::uint64_t loop_iterations = 0;     ///< of the longest loop, when steady states were looked for
  std::uint32_t skipped_period = 0;      ///< iterations after which the state repeated
  Duration skipped;                      ///< simulated time of the repetitions
  RankId last_rank;                      ///< lowest rank of last_class
  std::string audit;                     ///< of the folding: "passed", "off", ...
};

/// Executes programs in virtual time. Deterministic. Throws InputError when the programs cannot
/// finish (who waits for what: ranks, operations, files), never hangs.
[[nodiscard]] Timeline execute(const program::Programs& programs,
                               const Placement& placement,
                               const routing::Router& router,
                               const compute::Model& compute,
                               const ExecutorOptions& options);

}  // namespace stepcast::replay
