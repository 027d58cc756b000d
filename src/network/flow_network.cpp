#include "network/flow_network.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/error.hpp"
#include "network/flow_state.hpp"

namespace stepcast::network {
namespace {

[[noreturn]] void refuse_shape() {
  throw InputError(
      "network: weight x members x fairness of an activity on one resource exceeds 63 bits; "
      "use smaller weights");
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    refuse_shape();
  }
  return product;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    refuse_shape();
  }
  return sum;
}

}  // namespace

FlowNetwork::FlowNetwork() : state_(std::make_unique<State>()) {}
FlowNetwork::FlowNetwork(FlowNetwork&&) noexcept = default;
FlowNetwork& FlowNetwork::operator=(FlowNetwork&&) noexcept = default;
FlowNetwork::~FlowNetwork() = default;

ResourceId FlowNetwork::add_resource(double bytes_per_second, std::uint32_t multiplicity) {
  STEPCAST_CHECK(std::isfinite(bytes_per_second) && bytes_per_second >= 0, "capacity of {} bytes/s",
                 bytes_per_second);
  STEPCAST_CHECK(multiplicity > 0, "resource without multiplicity");
  const ResourceId id{state_->resources.size()};
  state_->resources.push_back({.capacity = std::abs(bytes_per_second)});
  state_->extras.push_back({.multiplicity = multiplicity});
  return id;
}

void FlowNetwork::reserve(std::size_t shapes, std::size_t demands) {
  State& s = *state_;
  s.shapes.reserve(s.shapes.size() + shapes);
  s.demands.reserve(s.demands.size() + demands);
  s.demand_share.reserve(s.demand_share.size() + demands);
  s.demand_resource.reserve(s.demand_resource.size() + demands);
  // All shapes may run at once: room, not memory, as long as nobody writes there.
  s.activities.reserve(s.activities.size() + shapes);
  s.nodes.reserve(s.nodes.size() + demands);
}

void FlowNetwork::State::merge_weights(std::span<const network::Demand> wanted) {
  merged.clear();
  for (const auto& demand : wanted) {
    STEPCAST_CHECK(demand.weight > 0 && demand.members > 0, "demand of weight {}, members {}", demand.weight,
                   demand.members);
    merged.push_back({known(demand.resource), checked_product(demand.weight, demand.members)});
  }
  std::sort(merged.begin(), merged.end(),
            [](const Weight& a, const Weight& b) { return a.resource < b.resource; });
  std::size_t kept = 0;
  for (const Weight& weight : merged) {
    if (kept > 0 && merged[kept - 1].resource == weight.resource) {
      merged[kept - 1].bytes = checked_sum(merged[kept - 1].bytes, weight.bytes);
    } else {
      merged[kept++] = weight;
    }
  }
  merged.resize(kept);
}

ShapeId FlowNetwork::add_shape(const Shape& shape) {
  State& s = *state_;
  STEPCAST_CHECK(shape.divisor > 0 && shape.fairness > 0 && shape.multiplicity > 0,
                 "shape with divisor {}, fairness {}, multiplicity {}", shape.divisor, shape.fairness,
                 shape.multiplicity);
  STEPCAST_CHECK(std::isfinite(shape.cap) && shape.cap >= 0, "cap of {} per second", shape.cap);
  // Everything that can be refused is refused before anything changes.
  s.merge_weights(shape.demands);
  for (const auto& [resource, weight] : s.merged) {
    static_cast<void>(checked_product(weight, shape.fairness));
  }
  const ShapeId id{s.shapes.size()};
  State::Shape kept{.first_demand = static_cast<std::uint32_t>(s.demands.size()),
                    .divisor = shape.divisor,
                    .fairness = shape.fairness,
                    .multiplicity = shape.multiplicity,
                    .cap = shape.cap};
  for (const auto& [resource, weight] : s.merged) {
    s.demand_share.push_back(checked_product(weight, shape.fairness));
    s.demand_resource.push_back(resource);
    s.demands.push_back({.weight = weight, .shape = id.index(), .previous = s.extras[resource].demands});
    s.extras[resource].demands = static_cast<std::uint32_t>(s.demands.size() - 1);
  }
  kept.demand_count = static_cast<std::uint32_t>(s.demands.size()) - kept.first_demand;
  const auto fresh = static_cast<std::uint32_t>(s.slot_class_of.size());
  kept.slot_class = s.slot_class_of.try_emplace(kept.demand_count, fresh).first->second;
  s.free_slots.resize(s.slot_class_of.size(), State::kNone);
  s.shapes.push_back(kept);
  return id;
}

ActivityId FlowNetwork::start(
    ShapeId shape_id, std::int64_t work, TimePoint now, std::uint64_t tag, std::int64_t payload) {
  State& s = *state_;
  STEPCAST_CHECK(work >= 0, "work of {}", work);
  s.change(now.ps());
  const State::Shape& shape = s.shapes[s.known(shape_id)];
  const std::uint32_t index = s.take_slot(shape);
  State::Activity& activity = s.activities[index];
  activity.rate = 0;
  activity.remaining = static_cast<double>(work);
  activity.settled = now.ps();
  activity.finish = State::kNever;
  activity.shape = shape_id.index();
  activity.tag = tag;
  activity.ordinal = s.starts++;
  activity.payload = payload < 0 ? work : payload;
  ++s.running;
  s.link(activity, shape);
  const bool unlimited = shape.demand_count == 0 && shape.cap == 0;
  if (unlimited) {
    activity.rate = MaxMin::kUnlimited;
  } else {
    s.started.push_back(index);
  }
  if (work == 0 || unlimited) {
    activity.finish = now.ps();
    s.finishes.set(index, activity.finish);
  }
  return ActivityId{index};
}

void FlowNetwork::set_capacity(ResourceId resource, double bytes_per_second, TimePoint now) {
  State& s = *state_;
  STEPCAST_CHECK(std::isfinite(bytes_per_second) && bytes_per_second >= 0, "capacity of {} bytes/s",
                 bytes_per_second);
  s.change(now.ps());
  const std::uint32_t index = s.known(resource);
  s.keep_peaks(index);
  s.resources[index].capacity = std::abs(bytes_per_second);
  ++s.capacity_epoch;
  s.mark_dirty(index);
}

void FlowNetwork::resolve(TimePoint now) {
  State& s = *state_;
  s.change(now.ps());
  STEPCAST_CHECK(s.finishes.empty() || s.finishes.lowest() >= s.now,
                 "an activity finished at {} ps, now {} ps", s.finishes.lowest(), s.now);
  s.changed = false;
  if (s.started.empty() && s.dirty_resources.empty()) {
    return;
  }
  ++s.resolves;
  ++s.visit;
  for (const std::uint32_t index : s.started) {
    if (s.activities[index].visit != s.visit) {
      s.solve(index);
    }
  }
  for (const std::uint32_t index : s.dirty_resources) {
    s.extras[index].dirty = false;
    const std::uint32_t head = s.resources[index].head;
    if (head != State::kNone && s.activities[s.nodes[head].activity].visit != s.visit) {
      s.solve(s.nodes[head].activity);
    }
  }
  s.started.clear();
  s.dirty_resources.clear();
}

TimePoint FlowNetwork::next_completion() const {
  STEPCAST_CHECK(state_->started.empty() && state_->dirty_resources.empty(),
                 "next_completion before resolve");
  return state_->finishes.empty() ? TimePoint::never()
                                  : TimePoint::from_start(Duration::from_ps(state_->finishes.lowest()));
}

void FlowNetwork::take_completed(TimePoint now, std::vector<Completion>& out) {
  State& s = *state_;
  if (s.finishes.empty() || s.finishes.lowest() > now.ps()) {
    return;
  }
  s.change(now.ps());
  STEPCAST_CHECK(s.finishes.lowest() == s.now, "an activity finished at {} ps, now {} ps",
                 s.finishes.lowest(), s.now);
  s.batch.clear();
  while (!s.finishes.empty() && s.finishes.lowest() == s.now) {
    const std::uint32_t index = s.finishes.lowest_item();
    s.finishes.remove(index);
    s.batch.push_back(index);
  }
  if (s.batch.size() > 1) {
    std::sort(s.batch.begin(), s.batch.end(), [&s](std::uint32_t a, std::uint32_t b) {
      return s.activities[a].ordinal < s.activities[b].ordinal;
    });
  }
  for (const std::uint32_t index : s.batch) {
    State::Activity& activity = s.activities[index];
    State::Shape& shape = s.shapes[activity.shape];
    out.push_back({ActivityId{index}, activity.tag});
    shape.finished_work += activity.payload;
    s.unlink(activity, shape);
    activity.shape = State::kNone;
    activity.next_free = s.free_slots[shape.slot_class];
    s.free_slots[shape.slot_class] = index;
  }
  s.running -= s.batch.size();
}

double FlowNetwork::rate(ActivityId activity) const {
  return state_->at(activity).rate;
}

std::uint64_t FlowNetwork::tag(ActivityId activity) const {
  return state_->at(activity).tag;
}

double FlowNetwork::capacity(ResourceId resource) const {
  return state_->resources[state_->known(resource)].capacity;
}

std::uint32_t FlowNetwork::multiplicity(ResourceId resource) const {
  return state_->extras[state_->known(resource)].multiplicity;
}

std::uint32_t FlowNetwork::multiplicity(ShapeId shape) const {
  return state_->shapes[state_->known(shape)].multiplicity;
}

double FlowNetwork::load(ResourceId id) const {
  const State& s = *state_;
  const State::Resource& resource = s.resources[s.known(id)];
  if (resource.users != 1) {
    return resource.users == 0 ? 0 : s.extras[id.index()].shared_load;
  }
  const State::Activity& activity = s.activities[s.nodes[resource.head].activity];
  const State::Shape& shape = s.shapes[activity.shape];
  const std::uint32_t demand = shape.first_demand + (resource.head - activity.first_node);
  return static_cast<double>(s.demands[demand].weight) * activity.rate / shape.divisor;
}

Int128 FlowNetwork::bytes(ResourceId id) const {
  const State& s = *state_;
  std::map<std::uint32_t, Int128> numerators;  // by divisor
  for (std::uint32_t index = s.extras[s.known(id)].demands; index != State::kNone;
       index = s.demands[index].previous) {
    const State::Demand& demand = s.demands[index];
    const State::Shape& shape = s.shapes[demand.shape];
    Int128 product = 0;
    Int128& numerator = numerators[shape.divisor];
    const bool overflow = __builtin_mul_overflow(shape.finished_work, Int128{demand.weight}, &product) ||
                          __builtin_add_overflow(numerator, product, &numerator);
    STEPCAST_CHECK(!overflow, "bytes of resource {} exceed 127 bits", id.index());
  }
  Int128 total = 0;
  for (const auto& [divisor, numerator] : numerators) {
    total += numerator / divisor;
  }
  return total;
}

double FlowNetwork::peak_utilisation(ResourceId id) const {
  const State& s = *state_;
  double peak = s.extras[s.known(id)].peak;
  for (std::uint32_t index = s.extras[id.index()].demands; index != State::kNone;
       index = s.demands[index].previous) {
    peak = std::max(peak, s.peak_of_demand(index));
  }
  return peak;
}

std::size_t FlowNetwork::running() const {
  return state_->running;
}
std::size_t FlowNetwork::resource_count() const {
  return state_->resources.size();
}
std::uint64_t FlowNetwork::solved_activities() const {
  return state_->solved;
}
std::uint64_t FlowNetwork::resolves() const {
  return state_->resolves;
}

std::vector<FlowNetwork::Running> FlowNetwork::all_running() const {
  const State& s = *state_;
  STEPCAST_CHECK(!s.changed, "all_running before resolve");
  std::vector<std::uint32_t> order;
  for (std::uint32_t index = 0; index < s.activities.size(); ++index) {
    if (s.activities[index].shape != State::kNone) {
      order.push_back(index);
    }
  }
  std::sort(order.begin(), order.end(), [&s](std::uint32_t a, std::uint32_t b) {
    return s.activities[a].ordinal < s.activities[b].ordinal;
  });
  std::vector<Running> running;
  for (const std::uint32_t index : order) {
    const State::Activity& activity = s.activities[index];
    running.push_back({ShapeId{activity.shape}, activity.tag, activity.rate, activity.remaining,
                       s.now - activity.settled,
                       activity.finish == State::kNever ? -1 : activity.finish - s.now, activity.payload});
  }
  return running;
}

std::vector<Int128> FlowNetwork::finished_payload() const {
  std::vector<Int128> payload;
  payload.reserve(state_->shapes.size());
  for (const State::Shape& shape : state_->shapes) {
    payload.push_back(shape.finished_work);
  }
  return payload;
}

void FlowNetwork::skip(Duration by, std::span<const Int128> payload) {
  State& s = *state_;
  STEPCAST_CHECK(!s.changed && by >= Duration{} && payload.size() == s.shapes.size(),
                 "skip of {} ps, {} shapes", by.ps(), payload.size());
  s.now += by.ps();
  s.finishes.shift(by.ps());
  for (State::Activity& activity : s.activities) {
    activity.settled += by.ps();
    if (activity.finish != State::kNever) {
      activity.finish += by.ps();
    }
  }
  for (std::size_t shape = 0; shape < payload.size(); ++shape) {
    s.shapes[shape].finished_work += payload[shape];
  }
}

std::vector<ActivityId> FlowNetwork::stalled() const {
  const State& s = *state_;
  std::vector<ActivityId> ids;
  for (std::uint32_t index = 0; index < s.activities.size(); ++index) {
    if (s.activities[index].shape != State::kNone && s.activities[index].finish == State::kNever) {
      ids.emplace_back(index);
    }
  }
  std::sort(ids.begin(), ids.end(), [&s](ActivityId a, ActivityId b) {
    return s.activities[a.index()].ordinal < s.activities[b.index()].ordinal;
  });
  return ids;
}

}  // namespace stepcast::network
