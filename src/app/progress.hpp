#pragma once

#include <chrono>

#include "replay/executor.hpp"

// Internal to app/.
namespace stepcast::app {

/// A line on standard error that says how far a run is: only on a terminal, only after a second, and gone
/// when the run ends (also by an exception).
class ProgressLine : public replay::RunObserver {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() override;
  void progress(TimePoint now, std::uint64_t done, std::uint64_t total) override;

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_ = false;
  bool shown_ = false;
  Clock::time_point next_;  ///< when to show it again
};

}  // namespace stepcast::app
