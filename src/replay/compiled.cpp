#include "replay/compiled.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/findings.hpp"

namespace stepcast::replay {
namespace {

using program::OpKind;

/// Loops around each operation, outermost first.
std::vector<std::vector<std::uint32_t>> loop_nests(const program::Program& program) {
  const std::vector<std::uint32_t> innermost = program::enclosing_loops(program);
  std::vector<std::vector<std::uint32_t>> nests(program.operations.size());
  for (std::size_t op = 0; op < nests.size(); ++op) {
    // A loop stands before its body, so its own nest is already known.
    if (const std::uint32_t loop = innermost[op]; loop != kNone) {
      nests[op] = nests[loop];
      nests[op].push_back(loop);
      if (nests[op].size() > kMaxLoopDepth) {
        config::Diagnostics diagnostics;
        program::add_unsupported(
            diagnostics, program, loop,
            fmt::format("{} is loop number {} of a nest; the executor runs at most {}",
                        program::describe(program, loop), nests[op].size(), kMaxLoopDepth),
            "write out the operations of one loop, or merge two into one count");
        diagnostics.throw_if_any();
      }
    }
  }
  return nests;
}

Activity activity_of(const program::Operation& op, const program::Label& label) {
  switch (op.kind) {
    case OpKind::kCompute:
    case OpKind::kLocal:
      return label.phase == program::Phase::kOptimizer ? Activity::kOptimizer : Activity::kCompute;
    case OpKind::kStorage: return Activity::kStorage;
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kPut:
    case OpKind::kGet:
      switch (label.dimension) {
        case program::Dimension::kTp: return Activity::kExposedTp;
        case program::Dimension::kCp: return Activity::kExposedCp;
        case program::Dimension::kEp: return Activity::kExposedEp;
        case program::Dimension::kDp: return Activity::kExposedDp;
        case program::Dimension::kPp: return Activity::kExposedPp;
        case program::Dimension::kNone: break;
      }
      // An unlabelled collective counts as data parallel, an unlabelled message as pipeline.
      return op.kind == OpKind::kCollective ? Activity::kExposedDp : Activity::kExposedPp;
    default: return Activity::kOther;
  }
}

PathPart part_of(Activity activity) {
  switch (activity) {
    case Activity::kExposedTp: return PathPart::kTp;
    case Activity::kExposedCp: return PathPart::kCp;
    case Activity::kExposedEp: return PathPart::kEp;
    case Activity::kExposedDp: return PathPart::kDp;
    case Activity::kExposedPp: return PathPart::kPp;
    case Activity::kStorage: return PathPart::kStorage;
    case Activity::kOptimizer:
    case Activity::kCompute: return PathPart::kFixed;
    default: return PathPart::kOther;
  }
}

/// HBM time of a local copy or reduction in seconds: every byte is read and written once.
double local_copy_seconds(std::int64_t bytes, const hardware::Accelerator& device) {
  const double rate = device.hbm_bandwidth.bytes_per_second() * device.memory_efficiency;
  return 2.0 * static_cast<double>(bytes) / rate;
}

class Compiler {
 public:
  Compiler(const program::Program& program,
           const compute::Model& compute,
           const hardware::Accelerator& device)
      : program_(program), compute_(compute), device_(device), nests_(loop_nests(program)) {}

  CompiledProgram run() {
    check_counts();
    out_.operations.resize(program_.operations.size());
    for (std::uint32_t op = 0; op < program_.operations.size(); ++op) {
      compile_operation(op);
    }
    diagnostics_.throw_if_any();
    for (std::uint32_t op = 0; op < program_.operations.size(); ++op) {
      compile_dependencies(op);
    }
    for (std::size_t stream = 0; stream < program_.streams.size(); ++stream) {
      out_.streams.emplace_back();
      emit(stream, 0, static_cast<std::uint32_t>(program_.operations.size()), {});
    }
    return std::move(out_);
  }

 private:
  void check_counts() {
    constexpr std::uint64_t kMostExecutions = 0xffffffffULL;
    const std::vector<std::uint64_t> counts = program::execution_counts(program_);
    for (std::size_t op = 0; op < counts.size(); ++op) {
      if (counts[op] > kMostExecutions) {
        program::add_unsupported(diagnostics_, program_, static_cast<std::uint32_t>(op),
                                 fmt::format("{} would run {} times; the executor counts to {}",
                                             program::describe(program_, static_cast<std::uint32_t>(op)),
                                             counts[op], kMostExecutions),
                                 "repeat less often");
      }
    }
    diagnostics_.throw_if_any();
  }

  void compile_operation(std::uint32_t index) {
    const program::Operation& op = program_.operations[index];
    CompiledOperation& compiled = out_.operations[index];
    const program::Label none;
    const program::Label& label = op.label == program::Operation::kNone ? none : program_.labels[op.label];
    compiled.activity = activity_of(op, label);
    compiled.part = part_of(compiled.activity);
    compiled.duration_ps = op.duration_ps;
    switch (op.kind) {
      case OpKind::kCompute: compile_compute(index, compiled); break;
      case OpKind::kCopy:
      case OpKind::kLocal:
        if (op.duration_ps < 0) {
          compile_copy(index, compiled);
        }
        break;
      case OpKind::kMark:
      case OpKind::kAlloc:
      case OpKind::kFree: compiled.duration_ps = 0; break;
      case OpKind::kDelay:
        STEPCAST_CHECK(op.duration_ps >= 0, "delay without duration in program {}", program_.name);
        break;
      default: break;
    }
  }

  void compile_copy(std::uint32_t index, CompiledOperation& compiled) {
    constexpr double kLongestSeconds = 9.0e6;
    const double seconds = local_copy_seconds(program_.operations[index].bytes, device_);
    if (seconds < kLongestSeconds) {
      compiled.duration_ps = duration_from_seconds(seconds).ps();
      return;
    }
    compiled.duration_ps = 0;
    program::add_unsupported(diagnostics_, program_, index,
                             fmt::format("{} takes {:.3g} s on {}, beyond the simulated range of 104 days",
                                         program::describe(program_, index), seconds, device_.name),
                             "give fewer bytes");
  }

  /// Work of an operation's kernels; what the model does not cover is recorded, once for equal kernels.
  compute::Work work_of(std::uint32_t index) {
    const std::uint32_t target = program_.operations[index].target;
    const program::KernelSequence& sequence = program_.sequences[target];
    try {
      return compute_.sequence(std::span(program_.kernels).subspan(sequence.first, sequence.count), device_);
    } catch (const UnsupportedError& error) {  // the model knows no places
      if (std::find(refused_.begin(), refused_.end(), target) == refused_.end()) {
        refused_.push_back(target);
        program::add_unsupported(diagnostics_, program_, index,
                                 fmt::format("{}: {}", program::describe(program_, index), error.what()), "");
      }
      return {};
    }
  }

  void compile_compute(std::uint32_t index, CompiledOperation& compiled) {
    const program::Operation& op = program_.operations[index];
    std::array<std::int64_t, kPathParts> parts{};
    if (op.duration_ps >= 0) {
      parts[static_cast<std::size_t>(PathPart::kFixed)] = op.duration_ps;
    } else {
      STEPCAST_CHECK(op.target < program_.sequences.size(), "compute without kernels in program {}",
                     program_.name);
      const compute::Work work = work_of(index);
      for (std::size_t cost = 0; cost < compute::kCostClasses; ++cost) {
        parts[cost] = work.by_class[cost].ps();  // PathPart starts with the cost classes, in their order
      }
      compiled.duration_ps = work.alone.ps();
      // Parts are rounded one by one; the largest takes the difference, so that they sum to the whole.
      auto largest = std::max_element(parts.begin(), parts.end());
      *largest += compiled.duration_ps - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    }
    compiled.work = static_cast<std::uint32_t>(out_.works.size());
    out_.works.push_back(parts);
  }

  void compile_dependencies(std::uint32_t index) {
    const program::Operation& op = program_.operations[index];
    CompiledOperation& compiled = out_.operations[index];
    compiled.first_dependency = static_cast<std::uint32_t>(out_.dependencies.size());
    compiled.dependency_count = op.dependency_count;
    for (std::uint32_t i = 0; i < op.dependency_count; ++i) {
      const program::Dependency& dependency = program_.dependencies[op.first_dependency + i];
      const auto& mine = nests_[index];
      const auto& theirs = nests_[dependency.operation];
      CompiledDependency wait;
      while (wait.shared < mine.size() && wait.shared < theirs.size() &&
             mine[wait.shared] == theirs[wait.shared]) {
        ++wait.shared;
      }
      for (std::size_t depth = wait.shared; depth < theirs.size(); ++depth) {
        wait.multiplier *= static_cast<std::uint64_t>(program_.operations[theirs[depth]].bytes);
      }
      wait.signal = signal_of(dependency);
      out_.signal_joins.resize(out_.signals, 0);
      out_.signal_joins[wait.signal] |= op.dependency_count > 1 ? 1 : 0;
      out_.dependencies.push_back(wait);
    }
  }

  std::uint32_t signal_of(const program::Dependency& dependency) {
    CompiledOperation& target = out_.operations[dependency.operation];
    std::uint32_t* signal = &target.finish_signal;
    if (dependency.edge == program::EdgeKind::kStartToStart) {
      signal = &target.start_signal;
    } else if (dependency.edge == program::EdgeKind::kLaunch) {
      signal = &target.launch_signal;
    }
    if (*signal == kNone) {
      *signal = out_.signals++;
    }
    return *signal;
  }

  /// Loops around an instruction.
  struct Nest {
    std::uint8_t depth = 0;
    std::uint32_t outer_count = 0;
    std::uint64_t inner_runs = 1;
    [[nodiscard]] Nest inside(std::uint32_t count) const {
      return {static_cast<std::uint8_t>(depth + 1), depth == 0 ? count : outer_count,
              depth == 0 ? 1 : inner_runs * count};
    }
  };

  /// Emits the instructions of `stream` for operations [first, last); false when there are none.
  bool emit(std::size_t stream, std::uint32_t first, std::uint32_t last, const Nest& nest) {
    std::vector<Instruction>& out = out_.streams[stream];
    bool any = false;
    const auto instruction = [&nest](Instruction::Kind kind) {
      Instruction made;
      made.kind = kind;
      made.depth = nest.depth;
      made.outer_count = nest.outer_count;
      made.inner_runs = nest.inner_runs;
      return made;
    };
    for (std::uint32_t index = first; index < last; ++index) {
      const program::Operation& op = program_.operations[index];
      if (op.kind != OpKind::kRepeat) {
        if (op.stream == stream) {
          out.push_back(instruction(Instruction::Kind::kOperation));
          out.back().operation = index;
          any = true;
        }
        continue;
      }
      const auto count = static_cast<std::uint32_t>(op.bytes);
      const std::size_t begin = out.size();
      out.push_back(instruction(Instruction::Kind::kLoopBegin));
      out.back().count = count;
      if (emit(stream, index + 1, index + 1 + op.target, nest.inside(count))) {
        out.push_back(instruction(Instruction::Kind::kLoopEnd));
        out.back().count = count;
        out.back().body = static_cast<std::uint32_t>(begin + 1);
        any = true;
      } else {
        out.resize(begin);
      }
      index += op.target;
    }
    return any;
  }

  const program::Program& program_;
  const compute::Model& compute_;
  const hardware::Accelerator& device_;
  std::vector<std::vector<std::uint32_t>> nests_;
  std::vector<std::uint32_t> refused_;  // kernel sequences
  config::Diagnostics diagnostics_;
  CompiledProgram out_;
};

}  // namespace

CompiledProgram compile(const program::Program& program,
                        const compute::Model& compute,
                        const hardware::Accelerator& device) {
  return Compiler(program, compute, device).run();
}

std::string_view name_of(Activity activity) {
  constexpr std::array<std::string_view, kActivities> kNames{
      "optimizer",  "compute",    "storage",    "exposed_tp", "exposed_cp",
      "exposed_ep", "exposed_dp", "exposed_pp", "bubble",     "other"};
  return kNames[static_cast<std::size_t>(activity)];
}

std::string_view name_of(PathPart part) {
  constexpr std::array<std::string_view, kPathParts> kNames{
      "gemm", "attention", "memory", "launch", "fixed", "tp", "cp", "ep", "dp", "pp", "storage", "other"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace stepcast::replay
