#include "network/flow_state.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace stepcast::network {

void FlowNetwork::State::change(std::int64_t at) {
  STEPCAST_CHECK(at >= now, "change at {} ps, now {} ps", at, now);
  STEPCAST_CHECK(!changed || at == now, "changes at {} ps were not resolved before {} ps", now, at);
  now = at;
  changed = true;
}

std::uint32_t FlowNetwork::State::take_slot(const Shape& shape) {
  std::uint32_t& first_free = free_slots[shape.slot_class];
  if (first_free != kNone) {
    const std::uint32_t index = first_free;
    first_free = activities[index].next_free;
    return index;
  }
  const auto index = static_cast<std::uint32_t>(activities.size());
  activities.push_back({.first_node = static_cast<std::uint32_t>(nodes.size())});
  nodes.resize(nodes.size() + shape.demand_count, {.activity = index});
  finishes.add_item();
  return index;
}

void FlowNetwork::State::link(const Activity& activity, const Shape& shape) {
  const std::uint32_t* const resource_of = demand_resource.data() + shape.first_demand;
  for (std::uint32_t offset = 0; offset < shape.demand_count; ++offset) {
    Resource& resource = resources[resource_of[offset]];
    const std::uint32_t index = activity.first_node + offset;
    Node& node = nodes[index];
    node.previous = kNone;
    node.next = resource.head;
    if (resource.head != kNone) {
      nodes[resource.head].previous = index;
    }
    resource.head = index;
    ++resource.users;
  }
}

void FlowNetwork::State::unlink(const Activity& activity, const Shape& shape) {
  const std::uint32_t* const resource_of = demand_resource.data() + shape.first_demand;
  for (std::uint32_t offset = 0; offset < shape.demand_count; ++offset) {
    Resource& resource = resources[resource_of[offset]];
    const Node& node = nodes[activity.first_node + offset];
    if (node.next != kNone) {
      nodes[node.next].previous = node.previous;
    }
    if (node.previous != kNone) {
      nodes[node.previous].next = node.next;
    } else {
      resource.head = node.next;
    }
    if (--resource.users > 0) {
      mark_dirty(resource_of[offset]);
    }
  }
}

void FlowNetwork::State::mark_dirty(std::uint32_t resource) {
  if (resources[resource].users > 0 && !extras[resource].dirty) {
    extras[resource].dirty = true;
    dirty_resources.push_back(resource);
  }
}

double FlowNetwork::State::peak_of_demand(std::uint32_t demand) const {
  const Shape& shape = shapes[demands[demand].shape];
  const double capacity = resources[demand_resource[demand]].capacity;
  if (capacity == 0) {
    return 0;
  }
  // The same product as in MaxMin, so that several activities of a class and one that stands for them agree.
  const double load = static_cast<double>(demand_share[demand]) * shape.peak_level;
  return std::min(load / capacity, 1.0);
}

void FlowNetwork::State::raise_own_peaks(const Shape& shape, double level, std::int64_t scale) {
  for (std::uint32_t demand = shape.first_demand; demand < shape.first_demand + shape.demand_count;
       ++demand) {
    const double capacity = resources[demand_resource[demand]].capacity;
    if (capacity > 0) {
      const double load = static_cast<double>(demand_share[demand] * scale) * level;
      double& peak = extras[demand_resource[demand]].peak;
      peak = std::max(peak, std::min(load / capacity, 1.0));
    }
  }
}

void FlowNetwork::State::keep_peaks(std::uint32_t resource) {
  for (std::uint32_t on = extras[resource].demands; on != kNone; on = demands[on].previous) {
    Shape& shape = shapes[demands[on].shape];
    for (std::uint32_t demand = shape.first_demand; demand < shape.first_demand + shape.demand_count;
         ++demand) {
      double& peak = extras[demand_resource[demand]].peak;
      peak = std::max(peak, peak_of_demand(demand));
    }
    shape.peak_level = 0;
  }
}

std::uint32_t FlowNetwork::State::known(ResourceId id) const {
  STEPCAST_CHECK(id.index() < resources.size(), "resource {} of {}", id.index(), resources.size());
  return id.index();
}

std::uint32_t FlowNetwork::State::known(ShapeId id) const {
  STEPCAST_CHECK(id.index() < shapes.size(), "shape {} of {}", id.index(), shapes.size());
  return id.index();
}

const FlowNetwork::State::Activity& FlowNetwork::State::at(ActivityId id) const {
  STEPCAST_CHECK(id.index() < activities.size() && activities[id.index()].shape != kNone,
                 "activity {} does not run", id.index());
  return activities[id.index()];
}

}  // namespace stepcast::network
