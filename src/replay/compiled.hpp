#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compute/model.hpp"
#include "program/program.hpp"
#include "replay/executor.hpp"

// Internal to replay/: programs in the form that the executor walks.
namespace stepcast::replay {

inline constexpr std::uint32_t kNone = 0xffffffffU;
inline constexpr std::size_t kMaxLoopDepth = 6;

/// One step of a stream: an operation, or the edge of a loop that holds operations of this stream.
struct Instruction {
  enum class Kind : std::uint8_t { kOperation, kLoopBegin, kLoopEnd };
  Kind kind = Kind::kOperation;
  std::uint8_t depth = 0;         ///< loops around it (of a loop edge: outside the loop)
  std::uint32_t operation = 0;    ///< of kOperation
  std::uint32_t body = 0;         ///< of kLoopEnd: first instruction of the body
  std::uint32_t count = 0;        ///< iterations
  std::uint32_t outer_count = 0;  ///< iterations of the outermost loop around it; 0 = in none
  std::uint64_t inner_runs = 1;   ///< runs of it in one iteration of that loop
};

/// A dependency as a counter to wait for: the signal's count must reach
/// (linear index over the `shared` outer loops + 1) * multiplier.
struct CompiledDependency {
  std::uint32_t signal = 0;
  std::uint32_t shared = 0;
  std::uint64_t multiplier = 1;
};

struct CompiledOperation {
  std::uint32_t first_dependency = 0;
  std::uint32_t dependency_count = 0;
  std::uint32_t start_signal = kNone;  ///< counts starts; kNone when nobody waits for it
  std::uint32_t finish_signal = kNone;
  std::uint32_t launch_signal = kNone;  ///< counts finishes, the launch latency later
  std::uint32_t work = kNone;           ///< index into CompiledProgram::works (compute)
  std::int64_t duration_ps = -1;        ///< fixed durations; -1 = by the network
  Activity activity = Activity::kOther;
  PathPart part = PathPart::kOther;
};

struct CompiledProgram {
  std::vector<std::vector<Instruction>> streams;
  std::vector<CompiledOperation> operations;
  std::vector<CompiledDependency> dependencies;
  std::vector<std::array<std::int64_t, kPathParts>> works;  ///< path parts of compute operations, ps
  std::uint32_t signals = 0;
  std::vector<std::uint8_t> signal_joins;  ///< by signal: some operation waits for it and for others
};

/// Compiles one program for one device. Throws UnsupportedError, with the place of the operations, when
/// loops are nested deeper than kMaxLoopDepth, an operation would run more than 2^32 - 1 times, or one
/// would last more than 104 days or needs what the compute model does not have.
[[nodiscard]] CompiledProgram compile(const program::Program& program,
                                      const compute::Model& compute,
                                      const hardware::Accelerator& device);

}  // namespace stepcast::replay
