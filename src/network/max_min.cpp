#include "network/max_min.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/error.hpp"
#include "engine/heap.hpp"

namespace stepcast::network {
namespace {

[[noreturn]] void refuse_overflow() {
  throw InputError(
      "network: the integer weights of activities that share one resource exceed 64 bits; use fewer "
      "distinct splits or smaller weights");
}

constexpr auto kNobodyCares = [](const auto&, std::size_t) {};

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    refuse_overflow();
  }
  return sum;
}

}  // namespace

void MaxMin::clear() {
  resources_.clear();
  activities_.clear();
  members_.clear();
  uses_.clear();
  next_use_ = 0;
}

std::uint32_t MaxMin::add_resource(double capacity) {
  resources_.push_back({.capacity = capacity, .first_member = static_cast<std::uint32_t>(members_.size())});
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

void MaxMin::end_activity(double limit) {
  activities_.push_back({.limit = limit, .first_use = next_use_});
  next_use_ = static_cast<std::uint32_t>(uses_.size());
}

std::uint32_t MaxMin::end_of_uses(std::uint32_t activity) const {
  return activity + 1 < activities_.size() ? activities_[activity + 1].first_use
                                           : static_cast<std::uint32_t>(uses_.size());
}

std::uint32_t MaxMin::end_of_members(std::uint32_t resource) const {
  return resource + 1 < resources_.size() ? resources_[resource + 1].first_member
                                          : static_cast<std::uint32_t>(members_.size());
}

void MaxMin::rescale(std::uint32_t activity, std::int64_t factor, double limit) {
  activities_[activity].limit = limit;
  for (std::uint32_t use = activities_[activity].first_use; use < end_of_uses(activity); ++use) {
    if (__builtin_mul_overflow(uses_[use].weight, factor, &uses_[use].weight)) {
      refuse_overflow();
    }
  }
}

void MaxMin::push(double key, std::uint32_t index) {
  heap_.push_back({key, index});
  engine::heap_rise(heap_, heap_.size() - 1, Entry{key, index}, Before{}, kNobodyCares);
}

void MaxMin::open_resources() {
  for (const Use& use : uses_) {
    Resource& resource = resources_[use.resource];
    resource.open_weight = checked_sum(resource.open_weight, use.weight);
  }
  heap_.clear();
  std::uint32_t index = 0;
  for (Resource& resource : resources_) {
    resource.key = resource.capacity / static_cast<double>(resource.open_weight);
    heap_.push_back({resource.key, index++});
  }
  for (const Activity& activity : activities_) {
    if (activity.limit < kUnlimited) {
      heap_.push_back({activity.limit, index});
    }
    ++index;
  }
  for (std::size_t slot = heap_.size() / engine::kHeapArity + 1; slot-- > 0;) {
    if (slot < heap_.size()) {
      engine::heap_sink(heap_, slot, heap_[slot], Before{}, kNobodyCares);
    }
  }
}

void MaxMin::fill() {
  open_resources();
  open_activities_ = activities_.size();
  pass_ = 0;
  while (open_activities_ > 0) {
    ++pass_;
    const double level = take_lowest();
    freeze_taken(level);
    update_touched(level);
  }
}

void MaxMin::drop_lowest() {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    engine::heap_sink(heap_, 0, last, Before{}, kNobodyCares);
  }
}

/// Takes everything whose current key is the smallest one. A key that grew leaves its old entry
/// behind, which is pushed again with the new key when met; a key that shrank has a second entry.
double MaxMin::take_lowest() {
  const auto resource_count = static_cast<std::uint32_t>(resources_.size());
  taken_.clear();
  double level = 0;
  while (!heap_.empty() && (taken_.empty() || heap_.front().key == level)) {
    const Entry entry = heap_.front();
    if (entry.index < resource_count) {
      const Resource& resource = resources_[entry.index];
      if (entry.key < resource.key && resource.open_weight > 0) {
        engine::heap_sink(heap_, 0, Entry{resource.key, entry.index}, Before{}, kNobodyCares);
        continue;
      }
      drop_lowest();
      if (resource.open_weight == 0 || entry.key > resource.key) {
        continue;
      }
    } else {
      drop_lowest();
      if (activities_[entry.index - resource_count].frozen) {
        continue;
      }
    }
    level = entry.key;
    taken_.push_back(entry.index);
  }
  STEPCAST_CHECK(!taken_.empty(), "{} activities without a limit", open_activities_);
  return level;
}

void MaxMin::freeze_taken(double level) {
  const auto resource_count = static_cast<std::uint32_t>(resources_.size());
  touched_.clear();
  for (const std::uint32_t index : taken_) {
    if (index >= resource_count) {
      freeze(index - resource_count, level);
      continue;
    }
    const std::uint32_t end = end_of_members(index);
    for (std::uint32_t member = resources_[index].first_member; member < end; ++member) {
      freeze(members_[member], level);
    }
  }
}

void MaxMin::freeze(std::uint32_t index, double level) {
  Activity& activity = activities_[index];
  if (activity.frozen) {
    return;
  }
  activity.frozen = true;
  activity.level = level;
  --open_activities_;
  const std::uint32_t end = end_of_uses(index);
  for (std::uint32_t use = activity.first_use; use < end; ++use) {
    Resource& resource = resources_[uses_[use].resource];
    if (resource.round_level != level) {
      resource.before_round = resource.consumed_with_round();
      resource.round_weight = 0;
      resource.round_level = level;
    }
    resource.round_weight += uses_[use].weight;
    resource.open_weight -= uses_[use].weight;
    if (resource.touched != pass_) {
      resource.touched = pass_;
      touched_.push_back(uses_[use].resource);
    }
  }
}

void MaxMin::update_touched(double level) {
  for (const std::uint32_t index : touched_) {
    Resource& resource = resources_[index];
    if (resource.open_weight == 0) {
      continue;
    }
    const double residual = resource.capacity - resource.consumed_with_round();
    const double key = std::max(residual / static_cast<double>(resource.open_weight), level);
    if (key < resource.key) {
      push(key, index);
    }
    resource.key = key;
  }
}

}  // namespace stepcast::network
