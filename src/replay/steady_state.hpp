#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "replay/accounting.hpp"
#include "replay/executor.hpp"

// Internal to replay/: repetitions of a steady state are counted, not simulated.
namespace stepcast::replay {

/// What a communication operation of a program has cost, over all ranks.
struct OperationUse {
  std::uint64_t calls = 0;
  Int128 transfer_ps = 0;
  Int128 wait_ps = 0;
};

/// An operation that finished while a period was recorded.
struct Finished {
  std::uint32_t stream = 0;
  std::uint32_t operation = 0;
  std::uint64_t iteration = 0;
  std::uint64_t inner_runs = 1;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// Counters at a boundary between iterations, of which a period adds the same every time.
struct PeriodMarks {
  std::int64_t now = 0;
  PathParts path{};                                                  ///< of the anchor stream
  std::vector<std::array<std::uint64_t, kMaxLoopDepth + 1>> linear;  ///< by stream
  std::vector<std::uint64_t> signals;
  std::vector<std::uint32_t> posted;
  std::vector<std::uint32_t> bases;
  std::vector<std::array<std::int64_t, kActivities>> spent;  ///< by class
  std::int64_t nobody = 0;
  std::vector<Int128> payload;  ///< by shape
  std::vector<std::vector<OperationUse>> use;
  std::uint64_t operations = 0;
};

/// Looks for repetitions at the iterations of one stream's outermost loops (the anchor). A state whose
/// hash was seen up to kLongestPeriod boundaries before is written down in full; when it comes back to
/// the bit one period later, with everything relative to now, the rest of the loop repeats that period.
struct SteadyState {
  static constexpr std::size_t kLongestPeriod = 64;
  static constexpr std::uint32_t kFewestIterations = 8;  ///< loops below are simulated without looking
  static constexpr std::uint32_t kMostFailures = 16;     ///< hashes that came back but not the state
  static constexpr std::size_t kMostFinished = 4'000'000;

  struct Boundary {
    std::uint64_t hash = 0;
    std::uint64_t number = 0;
  };

  std::uint32_t anchor = kNone;  ///< stream; kNone = not looking
  bool passed = false;           ///< the anchor began a new iteration at this time
  std::uint64_t boundaries = 0;
  std::array<Boundary, kLongestPeriod> recent{};
  std::uint32_t failures = 0;

  bool recording = false;
  std::uint64_t verify_at = 0;
  std::uint32_t period = 0;
  std::vector<std::uint64_t> state;
  PeriodMarks marks;
  std::vector<Finished> finished;
};

}  // namespace stepcast::replay
