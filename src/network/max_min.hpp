#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stepcast::network {

/// Weighted max-min sharing within one connected component: progressive filling in rounds.
///
/// A component holds the resources that two or more of its activities share. What limits an activity
/// alone (its cap, resources that only it uses) is one number, its `limit`, in units of level.
///
/// Levels are a function of the component alone: neither the order in which resources, activities or
/// members are added nor what else exists changes a bit of them, because
/// - a round is the set of everything whose key equals the smallest key bitwise; keys are computed
///   again only when the whole set is frozen;
/// - consumption is the sum over rounds, in round order, of (integer weight of the round x level);
///   rounds of bitwise equal level are one; a key below the level of the round is set to it.
///
/// Filled through add_* in any order; scratch memory is kept between components.
class MaxMin {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  /// Forgets the component.
  void clear();
  /// Adds a shared resource; returns its index, dense from 0. Its members follow by add_member.
  std::uint32_t add_resource(double capacity);
  /// Adds an activity (by index, dense from 0) to the resource added last.
  void add_member(std::uint32_t activity) { members_.push_back(activity); }
  /// Adds a shared resource to the activity that end_activity closes next. REQUIRES: weight > 0.
  void add_use(std::uint32_t resource, std::int64_t weight) { uses_.push_back({weight, resource}); }
  /// Closes an activity (index dense from 0).
  void end_activity(double limit);

  /// Multiplies the weights of an activity (all are scaled to one common divisor) and sets its limit.
  /// Throws InputError when a weight leaves 64 bits.
  void rescale(std::uint32_t activity, std::int64_t factor, double limit);

  /// Computes all levels and loads. Throws InputError when a sum of weights leaves 64 bits.
  void fill();

  [[nodiscard]] std::size_t activities() const { return activities_.size(); }
  [[nodiscard]] std::size_t resources() const { return resources_.size(); }
  [[nodiscard]] double level(std::uint32_t activity) const { return activities_[activity].level; }
  /// Weight x level over all members of a resource.
  [[nodiscard]] double load(std::uint32_t resource) const {
    return resources_[resource].consumed_with_round();
  }

 private:
  struct Resource {
    double capacity = 0;
    double key = 0;                 ///< level at which it saturates if nobody else freezes before
    double before_round = 0;        ///< consumption by rounds before its last one
    double round_level = 0;         ///< level of the last round that touched it
    std::int64_t round_weight = 0;  ///< weight frozen in that round
    std::int64_t open_weight = 0;   ///< weight of members not frozen yet
    std::uint32_t first_member = 0;
    std::uint32_t touched = 0;  ///< number of the last pass that froze one of its members
    [[nodiscard]] double consumed_with_round() const {
      return before_round + static_cast<double>(round_weight) * round_level;
    }
  };
  struct Activity {
    double limit = 0;
    double level = 0;
    std::uint32_t first_use = 0;
    bool frozen = false;
  };
  struct Use {
    std::int64_t weight;
    std::uint32_t resource;
  };
  /// Key of a resource (index) or the limit of an activity (resource count + index).
  struct Entry {
    double key;
    std::uint32_t index;
  };

  [[nodiscard]] std::uint32_t end_of_uses(std::uint32_t activity) const;
  [[nodiscard]] std::uint32_t end_of_members(std::uint32_t resource) const;
  void open_resources();
  /// A type, not a function, so that the heap inlines it.
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const { return a.key < b.key; }
  };
  void push(double key, std::uint32_t index);
  void drop_lowest();
  [[nodiscard]] double take_lowest();
  void freeze_taken(double level);
  void freeze(std::uint32_t activity, double level);
  void update_touched(double level);

  std::vector<Resource> resources_;
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> members_;
  std::vector<Use> uses_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> taken_;    ///< entries of the current pass
  std::vector<std::uint32_t> touched_;  ///< resources whose members froze in the current pass
  std::uint32_t next_use_ = 0;          ///< first use of the activity that is being added
  std::size_t open_activities_ = 0;
  std::uint32_t pass_ = 0;
};

}  // namespace stepcast::network
