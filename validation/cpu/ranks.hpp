#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "plan.hpp"

namespace testbed {

struct Settings {
  int hosts = 0;
  std::string namespaces;  ///< namespace of rank r is this and r; empty: all ranks here, on loopback
  std::string interface;   ///< that Gloo uses
  int warmup = 1;
  int iterations = 5;
  std::chrono::milliseconds timeout{30'000};  ///< of one repetition, and of connecting
};

/// What was measured of one call of a run.
struct Measured {
  std::vector<double> seconds;  ///< by repetition: from the common start to the last member's end
};

struct Outcome {
  std::vector<std::vector<Measured>>
      runs;             ///< by run and call; runs without all repetitions have fewer samples
  std::string failure;  ///< empty, or one line that names run and rank
  bool interrupted = false;
};

/// One process for each rank, in its namespace; all runs one after the other. Ranks start each repetition at
/// one agreed instant of the machine's clock. A rank that dies, a result that is wrong and a repetition that
/// does not end are a failure that names the rank; what was measured before is kept. No process is left
/// behind.
[[nodiscard]] Outcome measure(const std::vector<Run>& runs, const Settings& settings);

}  // namespace testbed
