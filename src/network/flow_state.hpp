#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "network/completion_heap.hpp"
#include "network/flow_network.hpp"
#include "network/max_min.hpp"

namespace stepcast::network {

/// What a FlowNetwork holds. Private to the sources of this folder; flat arrays, indices only.
///
/// Hot: a lone activity (nothing shares its resources) is linked into its resources' lists, takes the
/// rate kept in its shape, and is unlinked; nothing else is touched. Bytes and peaks of resources are
/// therefore kept per shape and summed when asked for.
struct FlowNetwork::State {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Resource {
    double capacity = 0;
    std::uint32_t head = kNone;  ///< first node of the list of running activities
    std::uint32_t users = 0;     ///< length of that list
  };
  struct ResourceExtra {
    double shared_load = 0;  ///< by the last solve with two or more users
    double peak = 0;         ///< without what Shape::peak_level still holds
    std::uint64_t visit = 0;
    std::uint32_t local = 0;        ///< index in the component of `visit`
    std::uint32_t demands = kNone;  ///< last demand of any shape on it
    std::uint32_t multiplicity = 1;
    bool dirty = false;
  };
  struct Demand {
    std::int64_t weight = 0;  ///< weight x members
    std::uint32_t shape = 0;
    std::uint32_t previous = kNone;  ///< demand before on the same resource
  };
  struct Shape {
    std::uint32_t first_demand = 0;
    std::uint32_t demand_count = 0;
    std::uint32_t slot_class = 0;  ///< which free list its activities come from
    std::uint32_t divisor = 1;
    std::uint32_t fairness = 1;
    std::uint32_t multiplicity = 1;
    double cap = 0;
    double alone_rate = 0;          ///< rate when nothing shares its resources
    std::uint64_t alone_epoch = 0;  ///< capacity_epoch for which alone_rate holds
    double alone_level = 0;         ///< its level then
    double peak_level = 0;          ///< highest level since the capacities of its resources last changed
    Int128 finished_work = 0;
  };
  struct Activity {
    double rate = 0;
    double remaining = 0;          ///< at `settled`
    std::int64_t settled = 0;      ///< ps
    std::int64_t finish = kNever;  ///< ps
    std::uint32_t shape = kNone;   ///< kNone: free
    std::uint32_t first_node = 0;
    std::uint64_t visit = 0;
    std::uint32_t local = 0;
    std::uint32_t next_free = kNone;
    std::uint64_t tag = 0;
    std::uint64_t ordinal = 0;  ///< order of start
    std::int64_t payload = 0;   ///< of the work, what counts as moved bytes
  };
  /// Bytes per unit of progress (times the divisor) over one resource.
  struct Weight {
    std::uint32_t resource = 0;
    std::int64_t bytes = 0;
  };
  /// Membership of an activity in the list of one resource.
  struct Node {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t activity = kNone;
  };

  std::vector<Resource> resources;
  std::vector<ResourceExtra> extras;
  std::vector<Shape> shapes;
  std::vector<std::uint32_t> demand_resource;  ///< by demand
  std::vector<std::int64_t> demand_share;      ///< by demand: weight x members x fairness
  std::vector<Demand> demands;
  std::vector<Activity> activities;
  std::vector<Node> nodes;
  std::map<std::uint32_t, std::uint32_t> slot_class_of;  ///< by demand count
  std::vector<std::uint32_t> free_slots;                 ///< by slot class: first free activity
  CompletionHeap finishes;

  std::vector<std::uint32_t> started;          ///< activities since the last resolve
  std::vector<std::uint32_t> dirty_resources;  ///< changed since the last resolve, still in use
  std::vector<std::uint32_t> batch;            ///< scratch of take_completed
  std::vector<Weight> merged;                  ///< scratch of add_shape
  std::vector<std::uint32_t> component;        ///< scratch of solve: activities
  std::vector<std::uint32_t> shared;           ///< scratch of solve: resources, as in max_min
  MaxMin max_min;
  std::int64_t now = 0;     ///< of the last change or resolve
  bool changed = false;     ///< something waits for resolve
  std::uint64_t visit = 0;  ///< number of the current resolve
  std::uint64_t capacity_epoch = 1;
  std::uint64_t starts = 0;
  std::size_t running = 0;
  std::uint64_t solved = 0;
  std::uint64_t resolves = 0;

  /// Demands by resource, one entry each, into `merged`. Throws InputError when a product or sum overflows.
  void merge_weights(std::span<const network::Demand> wanted);
  /// Notes that something changes at `at`; everything that changes before one resolve shares a time.
  void change(std::int64_t at);
  [[nodiscard]] std::uint32_t take_slot(const Shape& shape);
  void link(const Activity& activity, const Shape& shape);
  void unlink(const Activity& activity, const Shape& shape);
  void mark_dirty(std::uint32_t resource);
  /// Folds the peak rates of every shape on the resource into the peaks of their resources.
  void keep_peaks(std::uint32_t resource);
  [[nodiscard]] double peak_of_demand(std::uint32_t demand) const;
  /// Peaks of the resources of a shape at a level whose unit is 1 / `scale` of the shape's own.
  void raise_own_peaks(const Shape& shape, double level, std::int64_t scale);
  /// Index behind an id; InternalError for one that is not of this network.
  [[nodiscard]] std::uint32_t known(ResourceId id) const;
  [[nodiscard]] std::uint32_t known(ShapeId id) const;
  [[nodiscard]] const Activity& at(ActivityId id) const;

  /// Solves the connected component of an activity.
  void solve(std::uint32_t seed);
  [[nodiscard]] bool alone(const Shape& shape) const;
  void refresh_alone_rate(Shape& shape) const;
  /// Lists the component in `component` and fills `max_min`. Returns the common divisor.
  [[nodiscard]] std::int64_t gather(std::uint32_t seed);
  /// Largest level that the shape's cap and the resources that nobody shares allow.
  [[nodiscard]] double own_limit(const Shape& shape, std::int64_t common_divisor) const;
  void scale_to(std::int64_t common_divisor);
  void set_rate(std::uint32_t index, double rate);
};

}  // namespace stepcast::network
