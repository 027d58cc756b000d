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
  clear();
}

void ProgressLine::clear() {
  if (shown_) {
    std::fputs("\r\033[K", stderr);  // back to the start of the line, cleared
    shown_ = false;
  }
}

void ProgressLine::phase(std::string_view name) {
  begun_.emplace_back(name, Clock::now());
}

std::vector<std::pair<std::string, double>> ProgressLine::finish() {
  clear();
  std::vector<std::pair<std::string, double>> out;
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    const Clock::time_point end = i + 1 < begun_.size() ? begun_[i + 1].second : Clock::now();
    out.emplace_back(begun_[i].first, std::chrono::duration<double>(end - begun_[i].second).count());
  }
  return out;
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
