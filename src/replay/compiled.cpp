#include "replay/compiled.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"

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
        throw InputError(
            program::at_operation(program, loop,
                                  fmt::format("program \"{}\": loops nested deeper than {}; unroll one",
                                              program.name, kMaxLoopDepth)));
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

/// HBM time of a local copy or reduction: every byte is read and written once.
std::int64_t local_copy_ps(std::int64_t bytes, const hardware::Accelerator& device) {
  const double rate = device.hbm_bandwidth.bytes_per_second() * device.memory_efficiency;
  return duration_from_seconds(2.0 * static_cast<double>(bytes) / rate).ps();
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
    for (std::uint32_t op = 0; op < program_.operations.size(); ++op) {
      compile_dependencies(op);
    }
    for (std::size_t stream = 0; stream < program_.streams.size(); ++stream) {
      out_.streams.emplace_back();
      emit(stream, 0, static_cast<std::uint32_t>(program_.operations.size()), 0);
    }
    return std::move(out_);
  }

 private:
  void check_counts() const {
    constexpr std::uint64_t kMostExecutions = 0xffffffffULL;
    const std::vector<std::uint64_t> counts = program::execution_counts(program_);
    for (std::size_t op = 0; op < counts.size(); ++op) {
      if (counts[op] > kMostExecutions) {
        throw InputError(program::at_operation(program_, static_cast<std::uint32_t>(op),
                                               fmt::format("program \"{}\": operation {} would run {} times; "
                                                           "the executor counts to 4294967295, repeat less",
                                                           program_.name, op, counts[op])));
      }
    }
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
      case OpKind::kCompute: compile_compute(op, compiled); break;
      case OpKind::kCopy:
      case OpKind::kLocal:
        if (op.duration_ps < 0) {
          compiled.duration_ps = local_copy_ps(op.bytes, device_);
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

  void compile_compute(const program::Operation& op, CompiledOperation& compiled) {
    std::array<std::int64_t, kPathParts> parts{};
    if (op.duration_ps >= 0) {
      parts[static_cast<std::size_t>(PathPart::kFixed)] = op.duration_ps;
    } else {
      STEPCAST_CHECK(op.target < program_.sequences.size(), "compute without kernels in program {}",
                     program_.name);
      const program::KernelSequence& sequence = program_.sequences[op.target];
      const compute::Work work =
          compute_.sequence(std::span(program_.kernels).subspan(sequence.first, sequence.count), device_);
      for (std::size_t cost = 0; cost < compute::kCostClasses; ++cost) {
        parts[cost] = work.by_class[cost].ps();  // PathPart starts with the cost classes, in their order
      }
      compiled.duration_ps = work.alone.ps();
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

  /// Emits the instructions of `stream` for operations [first, last); false when there are none.
  bool emit(std::size_t stream, std::uint32_t first, std::uint32_t last, std::uint8_t depth) {
    std::vector<Instruction>& out = out_.streams[stream];
    bool any = false;
    for (std::uint32_t index = first; index < last; ++index) {
      const program::Operation& op = program_.operations[index];
      if (op.kind != OpKind::kRepeat) {
        if (op.stream == stream) {
          out.push_back({Instruction::Kind::kOperation, depth, index, 0, 0});
          any = true;
        }
        continue;
      }
      const auto count = static_cast<std::uint32_t>(op.bytes);
      const std::size_t begin = out.size();
      out.push_back({Instruction::Kind::kLoopBegin, depth, 0, 0, count});
      if (emit(stream, index + 1, index + 1 + op.target, static_cast<std::uint8_t>(depth + 1))) {
        out.push_back({Instruction::Kind::kLoopEnd, depth, 0, static_cast<std::uint32_t>(begin + 1), count});
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
