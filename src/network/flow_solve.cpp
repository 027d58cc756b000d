#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "base/error.hpp"
#include "network/flow_state.hpp"

namespace stepcast::network {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;

/// ceil(remaining / rate) in ps. The quotient carries the rounding of a few doubles: what exceeds an
/// integer by less than 1/1024 ps, or 2^-50 of itself when that is more, counts as that integer.
std::int64_t time_to_finish(double remaining, double rate) {
  constexpr double kSlack = 1.0 / 1024;
  constexpr double kRelativeSlack = 0x1p-50;
  constexpr double kLongest = 9.2e18;
  const double quotient = remaining * kPicosecondsPerSecond / rate;
  if (!(quotient < kLongest)) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const double reduced = quotient - (kSlack + quotient * kRelativeSlack);
  const auto whole = static_cast<std::int64_t>(reduced);
  const std::int64_t up = whole + (reduced > static_cast<double>(whole) ? 1 : 0);
  return std::max<std::int64_t>(up, 0);
}

[[noreturn]] void refuse_divisors() {
  throw InputError(
      "network: the divisors of activities that share resources have no common multiple below 2^63; "
      "use fewer distinct splits");
}

std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &product)) {
    refuse_divisors();
  }
  return product;
}

/// Fairness in units of the common divisor: progress per second per level.
double progress_per_level(std::uint32_t fairness, std::int64_t common_divisor) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(std::int64_t{fairness}, common_divisor, &product)) {
    refuse_divisors();
  }
  return static_cast<double>(product);
}

/// Level at which an activity reaches its cap.
double cap_level(double cap, double per_level) {
  return cap > 0 ? cap / per_level : MaxMin::kUnlimited;
}

/// A rate at the cap is the cap itself, whatever its level is rounded to.
double rate_at(double level, double per_level, double cap) {
  return level == cap_level(cap, per_level) ? cap : per_level * level;
}

}  // namespace

void FlowNetwork::State::solve(std::uint32_t seed) {
  Activity& activity = activities[seed];
  Shape& shape = shapes[activity.shape];
  if (alone(shape)) {
    activity.visit = visit;
    ++solved;
    refresh_alone_rate(shape);
    shape.peak_level = std::max(shape.peak_level, shape.alone_level);
    set_rate(seed, shape.alone_rate);
    return;
  }
  const std::int64_t common_divisor = gather(seed);
  max_min.fill();
  solved += component.size();
  for (std::uint32_t index = 0; index < component.size(); ++index) {
    Shape& member = shapes[activities[component[index]].shape];
    const double level = max_min.level(index);
    if (common_divisor == member.divisor) {
      member.peak_level = std::max(member.peak_level, level);
    } else {
      raise_own_peaks(member, level, common_divisor / member.divisor);
    }
    set_rate(component[index],
             rate_at(level, progress_per_level(member.fairness, common_divisor), member.cap));
  }
  for (std::uint32_t local = 0; local < shared.size(); ++local) {
    ResourceExtra& extra = extras[shared[local]];
    const double capacity = resources[shared[local]].capacity;
    extra.shared_load = max_min.load(local);
    if (capacity > 0) {
      extra.peak = std::max(extra.peak, std::min(extra.shared_load / capacity, 1.0));
    }
  }
}

bool FlowNetwork::State::alone(const Shape& shape) const {
  const std::uint32_t* resource = demand_resource.data() + shape.first_demand;
  const std::uint32_t* const end = resource + shape.demand_count;
  for (; resource != end; ++resource) {
    if (resources[*resource].users != 1) {
      return false;
    }
  }
  return true;
}

double FlowNetwork::State::own_limit(const Shape& shape, std::int64_t common_divisor) const {
  const std::int64_t scale = common_divisor / shape.divisor;
  double limit = cap_level(shape.cap, progress_per_level(shape.fairness, common_divisor));
  for (std::uint32_t demand = shape.first_demand; demand < shape.first_demand + shape.demand_count;
       ++demand) {
    const Resource& resource = resources[demand_resource[demand]];
    if (resource.users == 1) {
      std::int64_t share = 0;
      if (__builtin_mul_overflow(demand_share[demand], scale, &share)) {
        refuse_divisors();
      }
      limit = std::min(limit, resource.capacity / static_cast<double>(share));
    }
  }
  return limit;
}

void FlowNetwork::State::refresh_alone_rate(Shape& shape) const {
  if (shape.alone_epoch != capacity_epoch) {
    shape.alone_epoch = capacity_epoch;
    const double limit = own_limit(shape, shape.divisor);
    shape.alone_level = limit;
    shape.alone_rate = rate_at(limit, progress_per_level(shape.fairness, shape.divisor), shape.cap);
  }
}

std::int64_t FlowNetwork::State::gather(std::uint32_t seed) {
  max_min.clear();
  component.clear();
  shared.clear();
  const auto add = [this](std::uint32_t index) {
    Activity& activity = activities[index];
    if (activity.visit != visit) {
      activity.visit = visit;
      activity.local = static_cast<std::uint32_t>(component.size());
      component.push_back(index);
    }
    return activity.local;
  };
  add(seed);
  std::int64_t common_divisor = 1;
  bool scaled = false;
  for (std::size_t next = 0; next < component.size(); ++next) {
    const Shape& shape = shapes[activities[component[next]].shape];
    double limit = cap_level(shape.cap, progress_per_level(shape.fairness, shape.divisor));
    for (std::uint32_t demand = shape.first_demand; demand < shape.first_demand + shape.demand_count;
         ++demand) {
      const std::uint32_t index = demand_resource[demand];
      const Resource& resource = resources[index];
      if (resource.users == 1) {
        limit = std::min(limit, resource.capacity / static_cast<double>(demand_share[demand]));
        continue;
      }
      ResourceExtra& extra = extras[index];
      if (extra.visit != visit) {
        extra.visit = visit;
        extra.local = max_min.add_resource(resource.capacity);
        shared.push_back(index);
        for (std::uint32_t node = resource.head; node != kNone; node = nodes[node].next) {
          max_min.add_member(add(nodes[node].activity));
        }
      }
      max_min.add_use(extra.local, demand_share[demand]);
    }
    max_min.end_activity(limit);
    if (shape.divisor != common_divisor) {
      scaled = scaled || next > 0;
      common_divisor = common_multiple(common_divisor, shape.divisor);
    }
  }
  if (scaled) {
    scale_to(common_divisor);
  }
  return common_divisor;
}

void FlowNetwork::State::scale_to(std::int64_t common_divisor) {
  for (std::uint32_t index = 0; index < component.size(); ++index) {
    const Shape& shape = shapes[activities[component[index]].shape];
    max_min.rescale(index, common_divisor / shape.divisor, own_limit(shape, common_divisor));
  }
}

void FlowNetwork::State::set_rate(std::uint32_t index, double rate) {
  Activity& activity = activities[index];
  if (std::bit_cast<std::uint64_t>(rate) == std::bit_cast<std::uint64_t>(activity.rate)) {
    return;
  }
  const auto elapsed = static_cast<double>(now - activity.settled);
  activity.remaining = std::max(activity.remaining - activity.rate * elapsed / kPicosecondsPerSecond, 0.0);
  activity.settled = now;
  activity.rate = rate;
  if (activity.finish <= now) {
    return;
  }
  activity.finish = kNever;
  if (rate > 0) {
    const std::int64_t time = time_to_finish(activity.remaining, rate);
    if (__builtin_add_overflow(now, time, &activity.finish)) {
      activity.finish = kNever;
    }
  }
  if (activity.finish == kNever) {
    finishes.remove(index);
  } else {
    finishes.set(index, activity.finish);
  }
}

}  // namespace stepcast::network
