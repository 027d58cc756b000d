#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace stepcast::support {

/// An activity as the flow equation of design 2.1 states it, in real numbers.
struct ReferenceActivity {
  std::vector<std::pair<std::size_t, long double>> demands;  ///< resource, bytes per unit of progress
  long double fairness = 1;
  long double cap = 0;  ///< 0 = none
};

/// Weighted max-min rates by textbook progressive filling: raise the level of all open activities
/// until one resource or cap stops some of them; quadratic, long double, nothing shared with ours.
[[nodiscard]] inline std::vector<long double> reference_rates(
    const std::vector<long double>& capacities, const std::vector<ReferenceActivity>& activities) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  std::vector<long double> rates(activities.size(), kInfinity);
  std::vector<bool> open(activities.size(), true);
  for (;;) {
    long double level = kInfinity;
    std::size_t tightest = capacities.size();  // resource, or activity when `by_cap`
    bool by_cap = false;
    for (std::size_t resource = 0; resource < capacities.size(); ++resource) {
      long double used = 0;
      long double weight = 0;
      for (std::size_t index = 0; index < activities.size(); ++index) {
        for (const auto& [on, bytes] : activities[index].demands) {
          if (on == resource) {
            (open[index] ? weight : used) +=
                bytes * (open[index] ? activities[index].fairness : rates[index]);
          }
        }
      }
      const long double own = weight > 0 ? std::max((capacities[resource] - used) / weight, 0.0L) : kInfinity;
      if (own < level) {
        level = own;
        tightest = resource;
      }
    }
    for (std::size_t index = 0; index < activities.size(); ++index) {
      const ReferenceActivity& activity = activities[index];
      if (open[index] && activity.cap > 0 && activity.cap / activity.fairness < level) {
        level = activity.cap / activity.fairness;
        tightest = index;
        by_cap = true;
      }
    }
    if (level == kInfinity) {
      return rates;
    }
    for (std::size_t index = 0; index < activities.size(); ++index) {
      const auto& demands = activities[index].demands;
      const bool stopped = by_cap ? index == tightest
                                  : std::any_of(demands.begin(), demands.end(),
                                                [&](const auto& demand) { return demand.first == tightest; });
      if (open[index] && stopped) {
        open[index] = false;
        rates[index] = level * activities[index].fairness;
      }
    }
  }
}

}  // namespace stepcast::support
