#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fingerprint.hpp"
#include "base/small_vector.hpp"
#include "engine/event_queue.hpp"
#include "network/flow_network.hpp"
#include "replay/accounting.hpp"
#include "replay/compiled.hpp"
#include "replay/executor.hpp"
#include "replay/folding.hpp"
#include "replay/steady_state.hpp"
#include "replay/wiring.hpp"

// Internal to replay/: the state of one run.
namespace stepcast::replay {

/// A stream of a class: where it stands and the longest chain that led there.
struct StreamState {
  std::uint32_t cls = 0;
  std::uint32_t pc = 0;     ///< into CompiledProgram::streams[stream]
  std::uint16_t index = 0;  ///< stream number in the program
  bool running = false;     ///< its head operation is in progress
  bool computing = false;   ///< ... and is a compute operation (speed faults apply)
  bool in_flight = false;   ///< ... and counts as in progress for the accounting
  bool finished = false;
  bool chain_of_dependency = false;   ///< `path` came from a dependency of the head
  std::uint32_t next_dependency = 0;  ///< dependencies of the head before this one hold
  std::uint32_t next_waiter = kNone;  ///< list of streams that wait for the same signal
  std::uint32_t generation = 0;       ///< of the compute completion event
  std::int64_t head_start = 0;
  std::int64_t head_active = 0;
  double remaining_ps = 0;  ///< of a compute operation, at speed 1
  std::int64_t remaining_since = 0;
  std::array<std::uint32_t, kMaxLoopDepth> iteration{};
  std::array<std::uint64_t, kMaxLoopDepth + 1> linear{};  ///< linear index over the first d loops
  std::int64_t path_total = 0;
  PathParts path{};
};

/// A counter that streams wait for.
struct Signal {
  std::uint64_t count = 0;
  std::uint32_t waiter = kNone;  ///< first waiting stream
  std::uint32_t recent = 0;      ///< chain of `raised_at`, in recent_paths_
  std::int64_t raised_at = -1;   ///< last raise; kept for signals that join with others only
};

struct ClassState {
  std::uint32_t program = 0;
  std::uint32_t first_stream = 0;
  std::uint32_t first_signal = 0;
  std::uint32_t open_streams = 0;
  double speed = 1;
};

/// Somebody who arrived at an exchange.
struct Arrival {
  std::uint32_t stream = 0;
  std::uint32_t member = 0;
  bool done = false;
};

/// Progress of an exchange that is played step by step.
struct Steps {
  std::vector<std::uint32_t> waits;  ///< what each transfer still waits for
  std::vector<std::uint32_t> left;   ///< transfers a member still takes part in
};

/// One exchange in progress.
struct Instance {
  std::uint32_t site = 0;
  std::uint32_t sequence = 0;
  std::uint32_t exchange = kNone;
  std::uint32_t done = 0;
  bool started = false;
  bool transferred = false;
  std::int64_t transferred_at = 0;
  std::int64_t path_total = 0;  ///< chain of the arrival that started it
  PathParts path{};
  SmallVector<Arrival, 2> arrivals;  ///< a message has two
  std::unique_ptr<Steps> steps;      ///< stepped collectives
};

/// Instances of one site that have not finished, in order of their sequence.
struct SiteState {
  SmallVector<std::uint32_t, 2> open;  ///< instance by sequence - base; kNone = finished
  std::uint32_t base = 0;
};

[[nodiscard]] constexpr std::uint64_t operation_hash(std::int64_t start,
                                                     std::int64_t end,
                                                     std::uint32_t program,
                                                     std::uint32_t operation,
                                                     std::uint64_t iteration) {
  const std::uint64_t times = mix(static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(end));
  return mix(mix(times, (std::uint64_t{program} << 32U) | operation), iteration);
}

/// Executes compiled programs. One object, one run.
class Simulation {
 public:
  Simulation(const program::Programs& programs,
             const routing::Router& router,
             const Placement& placement,
             const compute::Model& compute,
             const ExecutorOptions& options);

  Timeline run();

 private:
  enum EventKind : std::uint8_t {
    kComputeDone,
    kLaunchSignal,
    kTransferStart,
    kMemberDone,
    kStepArrived,
    kMemberReady,
    kFault
  };

  void phase(std::string_view name) const;
  void check_memory() const;
  void check_transfers() const;

  // Streams (simulation.cpp).
  void advance(std::uint32_t stream);
  [[nodiscard]] bool dependencies_hold(StreamState& stream, const CompiledOperation& op);
  void start_head(std::uint32_t stream, std::uint32_t operation, const CompiledOperation& op);
  void finish_head(std::uint32_t stream);
  void next_instruction(StreamState& stream);
  void raise(std::uint32_t cls, std::uint32_t signal, const PathParts& path, std::int64_t path_total);
  static void take_chain(StreamState& stream, const PathParts& path, std::int64_t path_total);
  void schedule_compute(std::uint32_t stream);
  void apply_fault(std::uint32_t fault, bool begins);
  void drain();
  /// now + `wait`; an InputError when simulated time would leave its range of 106 days.
  [[nodiscard]] TimePoint after(std::int64_t wait) const;
  [[nodiscard]] std::uint32_t head_operation(const StreamState& stream) const;

  // Exchanges (exchanges.cpp).
  void arrive(std::uint32_t stream, std::uint32_t operation);
  void take_longest_chain(Instance& instance, std::uint32_t arrival) const;
  [[nodiscard]] std::int64_t offset_of(const Exchange& exchange, std::uint32_t member) const {
    return exchange.offsets == kNone ? 0 : wiring_.offsets[exchange.offsets][member];
  }
  void start_instance(std::uint32_t instance);
  void start_transfer(std::uint32_t instance);
  void transferred(std::uint32_t instance);
  void finish_member(std::uint32_t instance, std::uint32_t arrival);
  void release(std::uint32_t instance);
  void step_ready(std::uint32_t instance, std::uint32_t step);
  void step_left(std::uint32_t instance, std::uint32_t step);
  void step_arrived(std::uint32_t instance, std::uint32_t step);
  void step_member_progress(std::uint32_t instance, std::uint32_t member);
  void member_ready(std::uint32_t instance, std::uint32_t member);
  [[nodiscard]] std::uint32_t open_instance(std::uint32_t site,
                                            std::uint32_t sequence,
                                            std::uint32_t exchange);
  void complete(const network::Completion& completion);

  // Steady states (steady_state.cpp).
  void choose_anchor();
  void at_boundary();
  void forget_period(bool failed);
  [[nodiscard]] PeriodMarks marks() const;
  [[nodiscard]] std::vector<std::uint64_t> relative_state() const;
  void append_path(const PathParts& path, std::vector<std::uint64_t>& out) const;
  void append_stream(const StreamState& stream, std::vector<std::uint64_t>& out) const;
  void append_instance(const Instance& instance, std::vector<std::uint64_t>& out) const;
  void append_event(const engine::Event& event, std::vector<std::uint64_t>& out) const;
  [[nodiscard]] std::uint64_t name_of_instance(std::uint32_t index) const;
  [[nodiscard]] bool same_progress() const;
  [[nodiscard]] std::int64_t periods_ahead(std::int64_t length) const;
  void repeat_period();
  void add_repeated_fingerprints(std::int64_t length, std::uint64_t count);

  // Words (stall_report.cpp).
  [[nodiscard]] std::string describe_operation(const StreamState& stream, std::uint32_t operation) const;
  [[nodiscard]] std::uint32_t named_rank(const StreamState& stream, std::uint32_t operation) const;
  [[nodiscard]] std::string describe_wait(const StreamState& stream) const;
  [[nodiscard]] std::string describe_mismatch(std::uint32_t instance,
                                              std::uint32_t late,
                                              std::uint32_t exchange) const;
  /// Says who waits for what when nothing can happen any more.
  [[nodiscard]] std::string down_links_text() const;
  [[nodiscard]] std::string stall_text() const;

  [[nodiscard]] Timeline collect();
  [[nodiscard]] std::vector<TierUse> tier_use(TimePoint end) const;
  [[nodiscard]] std::vector<CommunicationUse> communication() const;
  [[nodiscard]] std::vector<Interval> by_rank();
  [[noreturn]] void refuse_intervals() const;
  [[nodiscard]] std::uint64_t operations_in_all() const;  ///< that the run will execute
  [[nodiscard]] const PathParts& path_of(std::uint32_t cls) const;

  const program::Programs& programs_;
  const routing::Router& router_;
  const ExecutorOptions& options_;
  std::vector<CompiledProgram> compiled_;
  network::FlowNetwork network_;
  Partition partition_;
  Wiring wiring_;
  engine::EventQueue queue_;
  Accounting accounting_{0};
  std::int64_t now_ = 0;

  std::vector<ClassState> classes_;
  std::vector<StreamState> streams_;
  std::vector<Signal> signals_;
  std::vector<std::uint32_t> ready_;  ///< streams to advance, first in first out
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> free_instances_;
  std::vector<SiteState> sites_;
  std::vector<std::uint32_t> posted_;    ///< arrivals so far, by member of Wiring
  std::vector<PathParts> recent_paths_;  ///< chains of signals raised at recent_at_
  std::int64_t recent_at_ = -1;
  std::vector<bool> record_class_;  ///< by class, when the timeline is recorded
  std::vector<network::Completion> completions_;
  std::vector<bool> fault_active_;
  std::vector<std::pair<std::int64_t, PathParts>> launch_paths_;  ///< of launch signals under way
  std::vector<std::uint32_t> free_launch_paths_;
  IdVector<ClassId, TimePoint> finish_;
  std::vector<Interval> intervals_;
  std::vector<std::vector<OperationUse>> use_;  ///< by program, by dense index of communication
  Fingerprint fingerprint_;
  SteadyState steady_;
  std::uint64_t skipped_iterations_ = 0;
  std::uint64_t longest_loop_ = 0;
  std::uint32_t skipped_period_ = 0;
  std::int64_t skipped_time_ = 0;
  std::uint64_t operations_ = 0;  ///< of all ranks
  std::uint64_t executed_ = 0;    ///< of representatives
  std::uint32_t open_classes_ = 0;
  std::vector<GpuId> gpu_of_;  ///< by class
};

}  // namespace stepcast::replay
