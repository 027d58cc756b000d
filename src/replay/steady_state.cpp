#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.hpp"
#include "replay/simulation.hpp"

// Steady states: when everything, relative to now, is again as it was some iterations before, what
// follows is what followed then.
namespace stepcast::replay {
namespace {

std::uint64_t word(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::uint64_t hash_of(const std::vector<std::uint64_t>& state) {
  std::uint64_t hash = state.size();
  for (const std::uint64_t value : state) {
    hash = mix(hash, value);
  }
  return hash;
}

}  // namespace

void Simulation::choose_anchor() {
  if (!options_.steady_state || options_.record_timeline) {
    return;
  }
  std::uint32_t most = SteadyState::kFewestIterations - 1;
  for (std::uint32_t id = 0; id < streams_.size(); ++id) {
    const StreamState& stream = streams_[id];
    for (const Instruction& instruction : compiled_[classes_[stream.cls].program].streams[stream.index]) {
      if (instruction.kind == Instruction::Kind::kLoopEnd && instruction.depth == 0 &&
          instruction.count > most) {
        most = instruction.count;
        longest_loop_ = most;
        steady_.anchor = id;
      }
    }
  }
}

void Simulation::at_boundary() {
  steady_.passed = false;
  ++steady_.boundaries;
  if (steady_.recording && steady_.boundaries < steady_.verify_at) {
    if (steady_.finished.size() > SteadyState::kMostFinished) {
      forget_period(true);
    }
    return;
  }
  accounting_.settle_all(now_);
  std::vector<std::uint64_t> state = relative_state();
  if (steady_.recording) {
    const bool repeats = state == steady_.state && same_progress();
    if (repeats) {
      repeat_period();
    }
    forget_period(!repeats);
    return;
  }
  const std::uint64_t hash = hash_of(state);
  for (std::uint32_t period = 1; period <= SteadyState::kLongestPeriod && period < steady_.boundaries;
       ++period) {
    const SteadyState::Boundary& before =
        steady_.recent[(steady_.boundaries - period) % SteadyState::kLongestPeriod];
    if (before.number == steady_.boundaries - period && before.hash == hash) {
      steady_.recording = true;
      steady_.period = period;
      steady_.verify_at = steady_.boundaries + period;
      steady_.state = std::move(state);
      steady_.marks = marks();
      steady_.finished.clear();
      break;
    }
  }
  steady_.recent[steady_.boundaries % SteadyState::kLongestPeriod] = {hash, steady_.boundaries};
}

void Simulation::forget_period(bool failed) {
  steady_.recording = false;
  steady_.finished.clear();
  steady_.state.clear();
  steady_.recent = {};
  if (failed && ++steady_.failures >= SteadyState::kMostFailures) {
    steady_.anchor = kNone;
  }
}

PeriodMarks Simulation::marks() const {
  PeriodMarks marks;
  marks.now = now_;
  marks.path = streams_[steady_.anchor].path;
  for (const StreamState& stream : streams_) {
    marks.linear.push_back(stream.linear);
  }
  for (const Signal& signal : signals_) {
    marks.signals.push_back(signal.count);
  }
  marks.posted = posted_;
  for (const SiteState& site : sites_) {
    marks.bases.push_back(site.base);
  }
  for (std::uint32_t cls = 0; cls < accounting_.classes(); ++cls) {
    marks.spent.push_back(accounting_.spent(cls));
  }
  marks.nobody = accounting_.nobody_total(now_);
  marks.payload = network_.finished_payload();
  marks.use = use_;
  marks.operations = operations_;
  return marks;
}

/// Everything that decides what happens next, relative to now and to the chain of the anchor.
std::vector<std::uint64_t> Simulation::relative_state() const {
  std::vector<std::uint64_t> out;
  for (const StreamState& stream : streams_) {
    append_stream(stream, out);
  }
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    if (sites_[site].open.empty()) {
      continue;
    }
    out.push_back(site);
    out.push_back(sites_[site].open.size());
    for (const std::uint32_t index : sites_[site].open) {
      if (index == kNone) {
        out.push_back(kNone);
      } else {
        append_instance(instances_[index], out);
      }
    }
  }
  for (const engine::Event& event : queue_.in_order()) {
    append_event(event, out);
  }
  for (const network::FlowNetwork::Running& running : network_.all_running()) {
    const auto index = static_cast<std::uint32_t>(running.tag & 0xffffffffULL);
    out.insert(out.end(),
               {running.shape.index(), name_of_instance(index), running.tag >> 32U,
                std::bit_cast<std::uint64_t>(running.rate), std::bit_cast<std::uint64_t>(running.remaining),
                word(running.settled_ago), word(running.finishes_in), word(running.payload)});
  }
  for (std::uint32_t cls = 0; cls < accounting_.classes(); ++cls) {
    for (const std::uint16_t active : accounting_.active(cls)) {
      out.push_back(active);
    }
    out.push_back(std::bit_cast<std::uint64_t>(classes_[cls].speed));
  }
  return out;
}

void Simulation::append_path(const PathParts& path, std::vector<std::uint64_t>& out) const {
  const PathParts& reference = streams_[steady_.anchor].path;
  for (std::size_t part = 0; part < path.size(); ++part) {
    out.push_back(word(path[part] - reference[part]));
  }
}

void Simulation::append_stream(const StreamState& stream, std::vector<std::uint64_t>& out) const {
  out.push_back((std::uint64_t{stream.pc} << 32U) | (stream.running ? 1U : 0U) |
                (stream.computing ? 2U : 0U) | (stream.in_flight ? 4U : 0U) | (stream.finished ? 8U : 0U) |
                (stream.chain_of_dependency ? 16U : 0U));
  if (stream.finished) {
    return;
  }
  out.push_back((std::uint64_t{stream.next_dependency} << 32U) | stream.next_waiter);
  const std::size_t depth = compiled_[classes_[stream.cls].program].streams[stream.index][stream.pc].depth;
  for (std::size_t loop = 1; loop < depth; ++loop) {
    out.push_back(stream.iteration[loop]);
  }
  // A stream that waits takes the chain of whoever releases it, so that its own says nothing.
  if (stream.running) {
    out.push_back(word(now_ - stream.head_start));
    out.push_back(word(now_ - stream.head_active));
    append_path(stream.path, out);
    out.push_back(word(now_ - stream.path_total));
  }
  if (stream.computing) {
    out.push_back(std::bit_cast<std::uint64_t>(stream.remaining_ps));
    out.push_back(word(now_ - stream.remaining_since));
  }
}

std::uint64_t Simulation::name_of_instance(std::uint32_t index) const {
  const Instance& instance = instances_[index];
  return (std::uint64_t{instance.site} << 32U) | (instance.sequence - sites_[instance.site].base);
}

void Simulation::append_instance(const Instance& instance, std::vector<std::uint64_t>& out) const {
  out.push_back((std::uint64_t{instance.exchange} << 32U) | instance.done);
  out.push_back((instance.started ? 1U : 0U) | (instance.transferred ? 2U : 0U));
  for (const Arrival& arrival : instance.arrivals) {
    out.push_back((std::uint64_t{arrival.stream} << 32U) | (arrival.member << 1U) | (arrival.done ? 1U : 0U));
  }
  if (instance.started) {
    append_path(instance.path, out);
    out.push_back(word(now_ - instance.path_total));
  }
  if (instance.transferred) {
    out.push_back(word(now_ - instance.transferred_at));
  }
  if (wiring_.exchanges[instance.exchange].plan != kNone) {
    out.insert(out.end(), instance.steps->waits.begin(), instance.steps->waits.end());
    out.insert(out.end(), instance.steps->left.begin(), instance.steps->left.end());
  }
}

void Simulation::append_event(const engine::Event& event, std::vector<std::uint64_t>& out) const {
  const auto kind = static_cast<EventKind>(event.key.kind);
  if (kind == kFault) {
    return;  // at a time of its own: a repetition ends before it
  }
  if (kind == kComputeDone &&
      (streams_[event.first].generation != event.second || !streams_[event.first].computing)) {
    return;  // overtaken by a change of speed
  }
  out.insert(out.end(), {word(event.key.at.ps() - now_),
                         (std::uint64_t{event.key.kind} << 32U) | event.key.operation, event.key.colour});
  switch (kind) {
    case kComputeDone: out.push_back(event.first); break;
    case kLaunchSignal:
      out.push_back(event.first);
      append_path(launch_paths_[event.second].second, out);
      break;
    case kFault: break;
    default:
      out.push_back(name_of_instance(event.first));
      out.push_back(event.second);
      break;
  }
}

/// True when, since the marks, all streams of a class that are inside loops went on by the same number
/// of iterations: then whatever waits for what keeps its distance.
bool Simulation::same_progress() const {
  bool any = false;
  for (const ClassState& cls : classes_) {
    const CompiledProgram& program = compiled_[cls.program];
    std::uint64_t progress = 0;
    bool known = false;
    for (std::uint32_t id = cls.first_stream; id < cls.first_stream + program.streams.size(); ++id) {
      const StreamState& stream = streams_[id];
      if (stream.finished || program.streams[stream.index][stream.pc].depth == 0) {
        continue;
      }
      const std::uint64_t mine = stream.linear[1] - steady_.marks.linear[id][1];
      if (known && mine != progress) {
        return false;
      }
      known = true;
      progress = mine;
    }
    any = any || progress > 0;
  }
  return any;
}

/// Whole periods until a loop ends, a fault begins or ends, or time would leave its range.
std::int64_t Simulation::periods_ahead(std::int64_t length) const {
  std::int64_t times = (std::numeric_limits<std::int64_t>::max() - now_) / length - 1;
  for (std::uint32_t id = 0; id < streams_.size(); ++id) {
    const StreamState& stream = streams_[id];
    if (stream.finished) {
      continue;
    }
    const Instruction& at = compiled_[classes_[stream.cls].program].streams[stream.index][stream.pc];
    if (at.depth == 0) {
      continue;
    }
    const auto progress = static_cast<std::int64_t>(stream.linear[1] - steady_.marks.linear[id][1]);
    if (progress > 0) {
      const auto left = static_cast<std::int64_t>(at.outer_count - 1 - stream.iteration[0]);
      times = std::min(times, left / progress);
    }
  }
  for (const engine::Event& event : queue_.in_order()) {
    if (static_cast<EventKind>(event.key.kind) == kFault) {
      times = std::min(times, (event.key.at.ps() - now_ - 1) / length);
    }
  }
  return times;
}

/// Lets the recorded period happen again as often as it can.
void Simulation::repeat_period() {
  const PeriodMarks& marks = steady_.marks;
  const std::int64_t length = now_ - marks.now;
  if (length <= 0) {
    return;
  }
  const std::int64_t times = periods_ahead(length);
  if (times <= 0) {
    return;
  }
  const auto count = static_cast<std::uint64_t>(times);
  const std::int64_t by = times * length;
  add_repeated_fingerprints(length, count);
  PathParts path{};
  for (std::size_t part = 0; part < path.size(); ++part) {
    path[part] = (streams_[steady_.anchor].path[part] - marks.path[part]) * times;
  }
  const auto move_path = [&](PathParts& of, std::int64_t& total) {
    for (std::size_t part = 0; part < path.size(); ++part) {
      of[part] += path[part];
    }
    total += by;
  };
  skipped_iterations_ += (streams_[steady_.anchor].linear[1] - marks.linear[steady_.anchor][1]) * count;
  skipped_period_ = steady_.period;
  skipped_time_ += by;
  for (std::uint32_t id = 0; id < streams_.size(); ++id) {
    StreamState& stream = streams_[id];
    if (stream.finished) {
      continue;
    }
    const std::uint64_t progress = stream.linear[1] - marks.linear[id][1];
    const std::size_t depth = compiled_[classes_[stream.cls].program].streams[stream.index][stream.pc].depth;
    for (std::size_t loop = 1; loop <= depth; ++loop) {
      stream.linear[loop] += (stream.linear[loop] - marks.linear[id][loop]) * count;
    }
    if (depth > 0) {
      stream.iteration[0] += static_cast<std::uint32_t>(progress * count);
    }
    if (stream.running) {
      stream.head_start += by;
      stream.head_active += by;
      stream.remaining_since += by;
      move_path(stream.path, stream.path_total);
    }
  }
  for (std::size_t signal = 0; signal < signals_.size(); ++signal) {
    signals_[signal].count += (signals_[signal].count - marks.signals[signal]) * count;
  }
  for (std::size_t member = 0; member < posted_.size(); ++member) {
    posted_[member] += static_cast<std::uint32_t>((posted_[member] - marks.posted[member]) * count);
  }
  for (std::size_t site = 0; site < sites_.size(); ++site) {
    const auto added = static_cast<std::uint32_t>((sites_[site].base - marks.bases[site]) * count);
    sites_[site].base += added;
    for (const std::uint32_t index : sites_[site].open) {
      if (index != kNone) {
        Instance& instance = instances_[index];
        instance.sequence += added;
        instance.transferred_at += by;
        if (instance.started) {
          move_path(instance.path, instance.path_total);
        }
      }
    }
  }
  for (const engine::Event& event : queue_.in_order()) {
    if (static_cast<EventKind>(event.key.kind) == kLaunchSignal) {
      move_path(launch_paths_[event.second].second, launch_paths_[event.second].first);
    }
  }
  for (std::uint32_t cls = 0; cls < accounting_.classes(); ++cls) {
    std::array<std::int64_t, kActivities> spent = accounting_.spent(cls);
    for (std::size_t i = 0; i < kActivities; ++i) {
      spent[i] -= marks.spent[cls][i];
    }
    accounting_.add_spent(cls, spent, times);
  }
  accounting_.skip(by, (accounting_.nobody_total(now_) - marks.nobody) * times);
  std::vector<Int128> payload = network_.finished_payload();
  for (std::size_t shape = 0; shape < payload.size(); ++shape) {
    payload[shape] = (payload[shape] - marks.payload[shape]) * times;
  }
  network_.skip(Duration::from_ps(by), payload);
  queue_.shift(Duration::from_ps(by), kFault);
  operations_ += (operations_ - marks.operations) * count;
  for (std::size_t program = 0; program < use_.size(); ++program) {
    for (std::size_t op = 0; op < use_[program].size(); ++op) {
      OperationUse& use = use_[program][op];
      const OperationUse& before = marks.use[program][op];
      use.calls += (use.calls - before.calls) * count;
      use.transfer_ps += (use.transfer_ps - before.transfer_ps) * times;
      use.wait_ps += (use.wait_ps - before.wait_ps) * times;
    }
  }
  now_ += by;
}

/// The fingerprint counts skipped repetitions as if they had been run.
void Simulation::add_repeated_fingerprints(std::int64_t length, std::uint64_t count) {
  for (const Finished& done : steady_.finished) {
    const StreamState& stream = streams_[done.stream];
    const std::uint64_t step = (stream.linear[1] - steady_.marks.linear[done.stream][1]) * done.inner_runs;
    const std::uint64_t size = partition_.ranks.size[stream.cls];
    for (std::uint64_t time = 1; time <= count; ++time) {
      const auto shift = static_cast<std::int64_t>(time) * length;
      fingerprint_.add(operation_hash(done.start + shift, done.end + shift, classes_[stream.cls].program,
                                      done.operation, done.iteration + time * step),
                       size);
    }
  }
}

}  // namespace stepcast::replay
