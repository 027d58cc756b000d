#include "replay/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/findings.hpp"

namespace stepcast::replay {
namespace {

using engine::Priority;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

TimePoint at(std::int64_t ps) {
  return TimePoint::from_start(Duration::from_ps(ps));
}

}  // namespace

Simulation::Simulation(const program::Programs& programs,
                       const routing::Router& router,
                       const Placement& placement,
                       const compute::Model& compute,
                       const ExecutorOptions& options)
    : programs_(programs), router_(router), options_(options) {
  for (const program::Program& program : programs.programs) {
    compiled_.push_back(compile(program, compute, router.cluster().host.accelerator));
  }
  {
    phase("routes and prices");
    const Sites sites =
        options.lowering == nullptr
            ? resolve_sites(programs, placement, collective::Lowering(router), router, compiled_,
                            options.form)
            : resolve_sites(programs, placement, *options.lowering, router, compiled_, options.form);
    phase("folding");
    partition_ = options.fold == Fold::kAuto ? fold(sites) : identity_partition(sites);
    check_memory();
    phase("wiring");
    wiring_ = wire(programs, sites, partition_, router, network_);
  }
  for (const auto& index : wiring_.endpoint_index) {
    use_.emplace_back(
        std::count_if(index.begin(), index.end(), [](std::uint32_t dense) { return dense != kNone; }));
  }
  const auto classes = static_cast<std::uint32_t>(partition_.ranks.count());
  accounting_ = Accounting(classes);
  finish_.resize(classes);
  sites_.resize(wiring_.sites.size());
  posted_.assign(wiring_.member_rank.size(), 0);
  if (options.record_timeline) {
    record_class_.assign(classes, options.record_ranks.empty());
    for (const std::uint32_t rank : options.record_ranks) {
      record_class_[partition_.ranks.of[rank]] = true;
    }
  }
  std::size_t streams = 0;
  for (const std::uint32_t rank : partition_.ranks.representative) {
    streams += compiled_[programs.program_of[rank]].streams.size();
  }
  streams_.reserve(streams);
  instances_.reserve(wiring_.sites.size());  // room, not memory: pages that nobody writes cost nothing
  for (std::uint32_t cls = 0; cls < classes; ++cls) {
    const RankId rank{partition_.ranks.representative[cls]};
    ClassState state;
    state.program = programs.program_of[rank.index()];
    state.first_stream = static_cast<std::uint32_t>(streams_.size());
    state.first_signal = static_cast<std::uint32_t>(signals_.size());
    const CompiledProgram& compiled = compiled_[state.program];
    state.open_streams = static_cast<std::uint32_t>(compiled.streams.size());
    for (std::size_t index = 0; index < compiled.streams.size(); ++index) {
      StreamState stream;
      stream.cls = cls;
      stream.index = static_cast<std::uint16_t>(index);
      streams_.push_back(stream);
    }
    signals_.resize(signals_.size() + compiled.signals);
    open_classes_ += state.open_streams > 0 ? 1 : 0;
    classes_.push_back(state);
    gpu_of_.push_back(placement[rank]);
  }
  check_transfers();
  const auto& faults = router.cluster().faults;
  fault_active_.assign(faults.size(), false);
  for (std::uint32_t fault = 0; fault < faults.size(); ++fault) {
    queue_.schedule(faults[fault].at, Priority::kCapacity, kFault, fault, 0, fault, 1);
    if (faults[fault].until != TimePoint::never()) {
      queue_.schedule(faults[fault].until, Priority::kCapacity, kFault, fault, 0, fault, 0);
    }
  }
}

/// Refuses collectives that would be played step by step in more transfers than a run can bear.
void Simulation::check_transfers() const {
  if (wiring_.plans.empty()) {
    return;
  }
  std::vector<std::vector<std::uint64_t>> counts_of;
  for (const program::Program& program : programs_.programs) {
    counts_of.push_back(program::execution_counts(program));
  }
  double transfers = 0;
  for (std::uint32_t cls = 0; cls < classes_.size(); ++cls) {
    const std::uint32_t index = classes_[cls].program;
    const std::vector<std::uint64_t>& counts = counts_of[index];
    for (std::size_t op = 0; op < counts.size(); ++op) {
      const std::uint32_t dense = wiring_.endpoint_index[index][op];
      const std::uint32_t plan =
          dense == kNone ? kNone : wiring_.exchanges[wiring_.endpoints[cls][dense].exchange].plan;
      if (plan != kNone) {  // each member of a site counts its own transfers
        const std::uint32_t member = wiring_.endpoints[cls][dense].member;
        transfers += 0.5 * static_cast<double>(counts[op]) *
                     static_cast<double>(wiring_.plans[plan].of_member[member].size());
      }
    }
  }
  if (transfers > kMostTransfers) {
    throw UnsupportedError(
        fmt::format("the collectives of this step would be {:.3g} transfers when played step by step, more "
                    "than {:.0e}; use "
                    "--lowering coupled, or fewer micro-batches, layers or ranks",
                    transfers, kMostTransfers));
  }
}

/// Refuses a run whose state would not fit: the classes are known, nothing of it exists yet.
void Simulation::check_memory() const {
  if (options_.memory_limit == 0) {
    return;
  }
  std::uint64_t bytes = 0;
  for (const std::uint32_t rank : partition_.ranks.representative) {
    const std::uint32_t index = programs_.program_of[rank];
    const CompiledProgram& program = compiled_[index];
    const auto ends = std::count_if(program.operations.begin(), program.operations.end(),
                                    [](const CompiledOperation& op) { return op.duration_ps < 0; });
    bytes += sizeof(ClassState) + program.streams.size() * sizeof(StreamState) +
             program.signals * sizeof(Signal) + static_cast<std::uint64_t>(ends) * sizeof(Endpoint);
  }
  constexpr std::uint64_t kSiteBytes = sizeof(SiteState) + sizeof(SiteClass) + 2 * sizeof(Exchange);
  bytes += partition_.sites.count() * kSiteBytes;
  if (bytes > options_.memory_limit) {
    constexpr double kGiB = 1024.0 * 1024 * 1024;
    throw UnsupportedError(fmt::format(
        "running {} classes of ranks would take about {:.1f} GiB of memory and {:.1f} GiB are free; use "
        "--fold auto, fewer --ranks, or --fidelity analytic",
        partition_.ranks.count(), static_cast<double>(bytes) / kGiB,
        static_cast<double>(options_.memory_limit) / kGiB));
  }
}

void Simulation::phase(std::string_view name) const {
  if (options_.observer != nullptr) {
    options_.observer->phase(name);
  }
}

Timeline Simulation::run() {
  phase("run");
  while (queue_.next_time() == at(0)) {  // faults present from the start, before anything is timed
    const engine::Event event = queue_.pop();
    apply_fault(event.first, event.second != 0);
  }
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    ready_.push_back(stream);
  }
  choose_anchor();
  drain();
  network_.resolve(at(0));
  constexpr std::uint32_t kBatchesPerReport = 256;
  std::uint32_t batches = 0;
  const std::uint64_t in_all = options_.observer == nullptr ? 0 : operations_in_all();
  for (;;) {
    const std::int64_t next = std::min(queue_.next_time().ps(), network_.next_completion().ps());
    // Faults beyond the last operation change nothing: the step is over.
    if (next == kNever || open_classes_ == 0) {
      break;
    }
    now_ = next;
    if (options_.observer != nullptr && ++batches % kBatchesPerReport == 0) {
      options_.observer->progress(at(now_), operations_, in_all);
    }
    do {
      if (network_.next_completion().ps() == now_) {
        completions_.clear();
        network_.take_completed(at(now_), completions_);
        for (const network::Completion& completion : completions_) {
          complete(completion);
        }
      }
      do {
        while (queue_.next_time().ps() == now_) {
          const engine::Event event = queue_.pop();
          switch (static_cast<EventKind>(event.key.kind)) {
            case kComputeDone:
              if (streams_[event.first].generation == event.second && streams_[event.first].computing) {
                finish_head(event.first);
              }
              break;
            case kLaunchSignal: {
              const auto& [total, path] = launch_paths_[event.second];
              raise(event.key.colour, event.first, path, total);
              free_launch_paths_.push_back(event.second);
              break;
            }
            case kTransferStart: start_transfer(event.first); break;
            case kMemberDone: finish_member(event.first, event.second); break;
            case kStepArrived: step_arrived(event.first, event.second); break;
            case kMemberReady: member_ready(event.first, event.second); break;
            case kFault: apply_fault(event.first, event.second != 0); break;
          }
        }
        drain();
      } while (queue_.next_time().ps() == now_);
      network_.resolve(at(now_));
    } while (network_.next_completion().ps() == now_);
    if (steady_.passed && open_classes_ != 0) {
      at_boundary();
    }
  }
  if (open_classes_ != 0) {
    throw InputError(stall_text());
  }
  return collect();
}

std::uint64_t Simulation::operations_in_all() const {
  std::vector<std::uint64_t> of_program;
  for (const program::Program& program : programs_.programs) {
    const std::vector<std::uint64_t> counts = program::execution_counts(program);
    std::uint64_t sum = 0;
    for (std::size_t op = 0; op < counts.size(); ++op) {
      sum += program.operations[op].kind == program::OpKind::kRepeat ? 0 : counts[op];
    }
    of_program.push_back(sum);
  }
  std::uint64_t total = 0;
  for (std::uint32_t cls = 0; cls < classes_.size(); ++cls) {
    total += of_program[classes_[cls].program] * partition_.ranks.size[cls];
  }
  return total;
}

TimePoint Simulation::after(std::int64_t wait) const {
  if (wait > std::numeric_limits<std::int64_t>::max() - 1 - now_) {
    config::Diagnostics diagnostics;
    diagnostics.add(program::origin_of(programs_.programs.front()),
                    "the step would last longer than 106 days, beyond the range of simulated time",
                    "shorten durations, bytes or repeats");
    diagnostics.throw_if_any();
  }
  return at(now_ + wait);
}

void Simulation::drain() {
  for (std::size_t next = 0; next < ready_.size(); ++next) {
    advance(ready_[next]);
  }
  ready_.clear();
}

void Simulation::advance(std::uint32_t id) {
  StreamState& stream = streams_[id];
  if (stream.running || stream.finished) {
    return;
  }
  ClassState& cls = classes_[stream.cls];
  const CompiledProgram& program = compiled_[cls.program];
  const std::vector<Instruction>& instructions = program.streams[stream.index];
  for (;;) {
    while (stream.pc < instructions.size() && instructions[stream.pc].kind != Instruction::Kind::kOperation) {
      next_instruction(stream);
    }
    if (stream.pc == instructions.size()) {
      stream.finished = true;
      if (--cls.open_streams == 0) {
        finish_[ClassId{stream.cls}] = at(now_);
        --open_classes_;
      }
      return;
    }
    const std::uint32_t operation = instructions[stream.pc].operation;
    const CompiledOperation& op = program.operations[operation];
    if (!dependencies_hold(stream, op)) {
      return;
    }
    start_head(id, operation, op);
    if (stream.running) {
      return;
    }
  }
}

void Simulation::next_instruction(StreamState& stream) {
  const Instruction& edge = compiled_[classes_[stream.cls].program].streams[stream.index][stream.pc];
  const std::size_t depth = edge.depth;
  if (edge.kind == Instruction::Kind::kLoopBegin) {
    stream.iteration[depth] = 0;
    stream.linear[depth + 1] = stream.linear[depth] * edge.count;
    ++stream.pc;
    return;
  }
  if (++stream.iteration[depth] < edge.count) {
    ++stream.linear[depth + 1];
    stream.pc = edge.body;
    if (depth == 0 && steady_.anchor == static_cast<std::uint32_t>(&stream - streams_.data())) {
      steady_.passed = true;
    }
  } else {
    ++stream.pc;
  }
}

bool Simulation::dependencies_hold(StreamState& stream, const CompiledOperation& op) {
  const ClassState& cls = classes_[stream.cls];
  const CompiledProgram& program = compiled_[cls.program];
  for (; stream.next_dependency < op.dependency_count; ++stream.next_dependency) {
    const CompiledDependency& wait = program.dependencies[op.first_dependency + stream.next_dependency];
    Signal& signal = signals_[cls.first_signal + wait.signal];
    if (signal.count < (stream.linear[wait.shared] + 1) * wait.multiplier) {
      stream.next_waiter = signal.waiter;
      signal.waiter = static_cast<std::uint32_t>(&stream - streams_.data());
      return false;
    }
    if (signal.raised_at == now_ && op.dependency_count > 1) {
      take_chain(stream, recent_paths_[signal.recent], now_);
    }
  }
  stream.next_dependency = 0;
  return true;
}

void Simulation::start_head(std::uint32_t id, std::uint32_t operation, const CompiledOperation& op) {
  StreamState& stream = streams_[id];
  stream.running = true;
  stream.chain_of_dependency = false;
  stream.head_start = now_;
  stream.head_active = now_;
  ++executed_;
  operations_ += partition_.ranks.size[stream.cls];
  if (op.start_signal != kNone) {
    raise(stream.cls, op.start_signal, stream.path, stream.path_total);
  }
  const std::uint32_t program = classes_[stream.cls].program;
  if (wiring_.endpoint_index[program][operation] != kNone) {
    arrive(id, operation);
    return;
  }
  if (op.duration_ps == 0) {
    finish_head(id);
    ready_.pop_back();  // the caller goes on with this stream itself
    return;
  }
  stream.computing = op.work != kNone;
  stream.in_flight = true;
  accounting_.begin(stream.cls, op.activity, now_);
  stream.remaining_ps = static_cast<double>(op.duration_ps);
  stream.remaining_since = now_;
  if (stream.computing) {
    schedule_compute(id);
  } else {
    stream.computing = true;  // delays and copies end by the same event, at speed 1
    ++stream.generation;
    queue_.schedule(after(op.duration_ps), Priority::kCompute, kComputeDone, operation, stream.cls, id,
                    stream.generation);
  }
}

void Simulation::schedule_compute(std::uint32_t id) {
  StreamState& stream = streams_[id];
  ++stream.generation;
  constexpr double kBeyondRange = 9.2e18;
  const double wall = std::ceil(stream.remaining_ps / classes_[stream.cls].speed);
  queue_.schedule(
      after(wall < kBeyondRange ? static_cast<std::int64_t>(wall) : std::numeric_limits<std::int64_t>::max()),
      Priority::kCompute, kComputeDone, head_operation(stream), stream.cls, id, stream.generation);
}

std::uint32_t Simulation::head_operation(const StreamState& stream) const {
  return compiled_[classes_[stream.cls].program].streams[stream.index][stream.pc].operation;
}

void Simulation::finish_head(std::uint32_t id) {
  StreamState& stream = streams_[id];
  const ClassState& cls = classes_[stream.cls];
  const CompiledProgram& program = compiled_[cls.program];
  const std::uint32_t operation = head_operation(stream);
  const CompiledOperation& op = program.operations[operation];
  if (stream.in_flight) {
    accounting_.end(stream.cls, op.activity, now_);
    stream.in_flight = false;
  }
  if (stream.computing) {
    const std::int64_t elapsed = now_ - stream.head_start;
    if (op.work != kNone) {
      const PathParts& parts = program.works[op.work];
      for (std::size_t part = 0; part < compute::kCostClasses; ++part) {
        stream.path[part] += parts[part];
      }
      stream.path[static_cast<std::size_t>(PathPart::kOther)] += elapsed - op.duration_ps;  // a slow device
    } else {
      stream.path[static_cast<std::size_t>(op.part)] += elapsed;
    }
    stream.path_total = now_;
    stream.chain_of_dependency = false;
    stream.computing = false;
  }
  const Instruction& instruction = program.streams[stream.index][stream.pc];
  const std::uint64_t iteration = stream.linear[instruction.depth];
  fingerprint_.add(operation_hash(stream.head_start, now_, cls.program, operation, iteration),
                   partition_.ranks.size[stream.cls]);
  if (const std::uint32_t index = wiring_.endpoint_index[cls.program][operation]; index != kNone) {
    const auto size = static_cast<std::int64_t>(partition_.ranks.size[stream.cls]);
    OperationUse& use = use_[cls.program][index];
    use.calls += static_cast<std::uint64_t>(size);
    use.transfer_ps += Int128{now_ - stream.head_active} * size;
    use.wait_ps += Int128{stream.head_active - stream.head_start} * size;
  }
  if (steady_.recording) {
    steady_.finished.push_back({id, operation, iteration, instruction.inner_runs, stream.head_start, now_});
  }
  if (options_.record_timeline && record_class_[stream.cls]) {
    if (intervals_.size() >= options_.max_intervals) {
      refuse_intervals();
    }
    intervals_.push_back({RankId{stream.cls}, OpId{operation}, static_cast<std::uint32_t>(iteration),
                          at(stream.head_start), at(stream.head_active), at(now_)});
  }
  stream.running = false;
  ++stream.pc;
  if (op.finish_signal != kNone) {
    raise(stream.cls, op.finish_signal, stream.path, stream.path_total);
  }
  if (op.launch_signal != kNone) {
    const std::int64_t latency = router_.cluster().host.accelerator.launch_per_kernel.ps();
    std::uint32_t slot = 0;
    if (free_launch_paths_.empty()) {
      slot = static_cast<std::uint32_t>(launch_paths_.size());
      launch_paths_.emplace_back();
    } else {
      slot = free_launch_paths_.back();
      free_launch_paths_.pop_back();
    }
    launch_paths_[slot] = {now_ + latency, stream.path};
    launch_paths_[slot].second[static_cast<std::size_t>(PathPart::kLaunch)] +=
        latency + now_ - stream.path_total;
    queue_.schedule(after(latency), Priority::kRelease, kLaunchSignal, operation, stream.cls,
                    op.launch_signal, slot);
  }
  ready_.push_back(id);
}

void Simulation::raise(std::uint32_t cls,
                       std::uint32_t index,
                       const PathParts& path,
                       std::int64_t path_total) {
  Signal& signal = signals_[classes_[cls].first_signal + index];
  ++signal.count;
  if (path_total == now_ && compiled_[classes_[cls].program].signal_joins[index]) {
    if (signal.raised_at != now_) {
      if (recent_at_ != now_) {
        recent_at_ = now_;
        recent_paths_.clear();
      }
      signal.raised_at = now_;
      signal.recent = static_cast<std::uint32_t>(recent_paths_.size());
      recent_paths_.push_back(path);
    } else if (recent_paths_[signal.recent] < path) {
      recent_paths_[signal.recent] = path;
    }
  }
  std::uint32_t waiter = signal.waiter;
  signal.waiter = kNone;
  while (waiter != kNone) {
    StreamState& stream = streams_[waiter];
    const std::uint32_t next = stream.next_waiter;
    stream.next_waiter = kNone;
    take_chain(stream, path, path_total);
    ready_.push_back(waiter);
    waiter = next;
  }
}

/// The stream goes on from the longer chain. Of chains of several dependencies that end together the
/// lexicographically largest counts, so that the order in which they are met does not.
void Simulation::take_chain(StreamState& stream, const PathParts& path, std::int64_t path_total) {
  const bool tied = path_total == stream.path_total && stream.chain_of_dependency && stream.path < path;
  if (path_total > stream.path_total || tied) {
    stream.path = path;
    stream.path_total = path_total;
    stream.chain_of_dependency = true;
  }
}

void Simulation::apply_fault(std::uint32_t index, bool begins) {
  const auto& faults = router_.cluster().faults;
  fault_active_[index] = begins;
  const topology::Fault& fault = faults[index];
  if (fault.target == topology::Fault::Target::kLink) {
    for (const ResourceId resource : router_.resources_of(fault)) {
      // The other links of a class have faults like those of the representative.
      const std::uint32_t cls = wiring_.resource_class[resource.index()];
      if (cls == Classes::kNone || wiring_.resource_representative[cls] != resource.index()) {
        continue;
      }
      double capacity = router_.resources()[resource.index()].bytes_per_second;
      for (std::size_t other = 0; other < faults.size(); ++other) {
        if (fault_active_[other] && faults[other].target == topology::Fault::Target::kLink) {
          const auto touched = router_.resources_of(faults[other]);
          if (std::find(touched.begin(), touched.end(), resource) != touched.end()) {
            capacity *= faults[other].factor;
          }
        }
      }
      network_.set_capacity(ResourceId{cls}, capacity, at(now_));
    }
    return;
  }
  for (std::uint32_t cls = 0; cls < classes_.size(); ++cls) {
    if (gpu_of_[cls] != fault.gpu) {
      continue;
    }
    double speed = 1;
    for (std::size_t other = 0; other < faults.size(); ++other) {
      if (fault_active_[other] && faults[other].target == topology::Fault::Target::kGpu &&
          faults[other].gpu == fault.gpu) {
        speed *= faults[other].factor;
      }
    }
    const double before = classes_[cls].speed;
    classes_[cls].speed = speed;
    const std::uint32_t first = classes_[cls].first_stream;
    const CompiledProgram& program = compiled_[classes_[cls].program];
    for (std::uint32_t id = first; id < first + program.streams.size(); ++id) {
      StreamState& stream = streams_[id];
      if (stream.computing && program.operations[head_operation(stream)].work != kNone) {
        stream.remaining_ps -= static_cast<double>(now_ - stream.remaining_since) * before;
        stream.remaining_ps = std::max(stream.remaining_ps, 0.0);
        stream.remaining_since = now_;
        schedule_compute(id);
      }
    }
  }
}

Timeline execute(const program::Programs& programs,
                 const Placement& placement,
                 const routing::Router& router,
                 const compute::Model& compute,
                 const ExecutorOptions& options) {
  return Simulation(programs, router, placement, compute, options).run();
}

}  // namespace stepcast::replay
