#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  void phase(std::string_view name) override;

  /// Takes the line away; host seconds by phase, in order.
  std::vector<std::pair<std::string, double>> finish();

 private:
  void clear();
  using Clock = std::chrono::steady_clock;
  std::vector<std::pair<std::string, Clock::time_point>> begun_;
  bool enabled_ = false;
  bool shown_ = false;
  Clock::time_point next_;  ///< when to show it again
};

}  // namespace stepcast::app
