#include "app/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace stepcast::app {
namespace {

constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kBetween{100};

}  // namespace

ProgressLine::ProgressLine(bool quiet)
    : enabled_(!quiet && ::isatty(STDERR_FILENO) == 1), next_(Clock::now() + kFirst) {}

ProgressLine::~ProgressLine() {
  if (shown_) {
    std::fputs("\r\033[K", stderr);  // back to the start of the line, cleared
  }
}

void ProgressLine::progress(TimePoint now, std::uint64_t done, std::uint64_t total) {
  if (!enabled_) {
    return;
  }
  const Clock::time_point time = Clock::now();
  if (time < next_) {
    return;
  }
  next_ = time + kBetween;
  shown_ = true;
  const double share = total == 0 ? 0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
  const std::string line = fmt::format("\r{:3.0f} % of the operations, {:.3f} s of the step\033[K", share,
                                       now.since_start().seconds());
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace stepcast::app
