#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/executor.hpp"

// Internal to replay/: where each class's time goes, kept while the run goes on.
namespace stepcast::replay {

/// Attributes every instant of every class to the first activity that applies (design 4.2). O(1) per
/// change: a class is settled only when one of its own operations starts or ends.
class Accounting {
 public:
  explicit Accounting(std::size_t classes) : classes_(classes) {}

  void begin(std::uint32_t cls, Activity activity, std::int64_t now) { change(cls, activity, now, 1); }
  void end(std::uint32_t cls, Activity activity, std::int64_t now) { change(cls, activity, now, -1); }

  /// Settles a class up to `now` and returns its breakdown, which sums to `now`.
  [[nodiscard]] const std::array<std::int64_t, kActivities>& close(std::uint32_t cls, std::int64_t now) {
    settle(classes_[cls], now);
    return classes_[cls].spent;
  }

  /// Compute and optimizer time of a class so far (settled up to its last change).
  [[nodiscard]] std::int64_t busy(std::uint32_t cls) const {
    return classes_[cls].spent[static_cast<std::size_t>(Activity::kCompute)] +
           classes_[cls].spent[static_cast<std::size_t>(Activity::kOptimizer)];
  }

  // Steady states: what a class does now, and what repetitions of a period add.

  /// Settles every class up to `now`.
  void settle_all(std::int64_t now) {
    for (PerClass& state : classes_) {
      settle(state, now);
    }
  }
  [[nodiscard]] std::size_t classes() const { return classes_.size(); }
  /// Operations in progress by activity. REQUIRES: settled.
  [[nodiscard]] std::span<const std::uint16_t> active(std::uint32_t cls) const {
    return classes_[cls].active;
  }
  [[nodiscard]] const std::array<std::int64_t, kActivities>& spent(std::uint32_t cls) const {
    return classes_[cls].spent;
  }
  [[nodiscard]] std::int64_t nobody_total(std::int64_t now) const { return nobody_computed(now); }
  /// Adds `times` x `spent` to a class. REQUIRES: settled at the time before the skip.
  void add_spent(std::uint32_t cls, const std::array<std::int64_t, kActivities>& spent, std::int64_t times) {
    for (std::size_t i = 0; i < kActivities; ++i) {
      classes_[cls].spent[i] += spent[i] * times;
    }
  }
  /// All classes are settled at a time later by `by`, of which nobody computed for `nobody`.
  void skip(std::int64_t by, std::int64_t nobody) {
    for (PerClass& state : classes_) {
      state.since += by;
      state.nobody_at_since += nobody;
    }
    nobody_total_ += nobody;
    nobody_since_ += by;
  }

 private:
  static constexpr std::size_t kTracked = static_cast<std::size_t>(Activity::kBubble);
  struct PerClass {
    std::int64_t since = 0;
    std::int64_t nobody_at_since = 0;              ///< nobody_computed(since)
    std::array<std::uint16_t, kTracked> active{};  ///< operations in progress by activity
    std::array<std::int64_t, kActivities> spent{};
  };

  /// Time up to `now` in which no class computed: what is then waited for is not a bubble.
  [[nodiscard]] std::int64_t nobody_computed(std::int64_t now) const {
    return nobody_total_ + (computing_ == 0 ? now - nobody_since_ : 0);
  }

  void settle(PerClass& state, std::int64_t now) {
    if (now == state.since) {
      return;
    }
    const std::int64_t elapsed = now - state.since;
    const std::int64_t nobody = nobody_computed(now);
    std::size_t at = 0;
    while (at < kTracked && state.active[at] == 0) {
      ++at;
    }
    if (at < kTracked) {
      state.spent[at] += elapsed;
    } else {
      const std::int64_t other = nobody - state.nobody_at_since;
      state.spent[static_cast<std::size_t>(Activity::kBubble)] += elapsed - other;
      state.spent[static_cast<std::size_t>(Activity::kOther)] += other;
    }
    state.since = now;
    state.nobody_at_since = nobody;
  }

  void change(std::uint32_t cls, Activity activity, std::int64_t now, int by) {
    const auto index = static_cast<std::size_t>(activity);
    if (index >= kTracked) {
      return;  // a wait or a delay: nothing is in progress
    }
    PerClass& state = classes_[cls];
    settle(state, now);
    state.active[index] = static_cast<std::uint16_t>(state.active[index] + by);
    if (activity == Activity::kCompute || activity == Activity::kOptimizer) {
      if (by > 0 && computing_++ == 0) {
        nobody_total_ += now - nobody_since_;
      } else if (by < 0 && --computing_ == 0) {
        nobody_since_ = now;
      }
    }
  }

  std::vector<PerClass> classes_;
  std::uint64_t computing_ = 0;
  std::int64_t nobody_since_ = 0;
  std::int64_t nobody_total_ = 0;
};

}  // namespace stepcast::replay
