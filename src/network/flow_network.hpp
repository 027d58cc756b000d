#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"

namespace stepcast::network {

/// What one activity moves over one resource per unit of its progress.
struct Demand {
  ResourceId resource;
  std::uint32_t weight = 1;   ///< bytes per unit of progress, times the shape's divisor; > 0
  std::uint32_t members = 1;  ///< members of the activity's class that cross one representative resource
};

/// A prepared kind of activity: its demand vector and how it shares (design 2.1).
/// Progress r obeys sum over activities of weight * members / divisor * r <= capacity.
struct Shape {
  std::span<const Demand> demands = {};  ///< one entry per resource (add_shape merges repeated ones)
  std::uint32_t divisor = 1;             ///< D: least common multiple of split denominators; > 0
  std::uint32_t fairness = 1;            ///< phi: integer weight of max-min sharing; > 0
  double cap = 0;                        ///< largest progress per second; 0 = none
  std::uint32_t multiplicity = 1;        ///< identical activities that this one stands for
};

/// An activity that has finished its work.
struct Completion {
  ActivityId activity;
  std::uint64_t tag = 0;
};

/// The flow network: weighted max-min sharing of resources by running activities, in virtual time.
///
/// Equation and arithmetic: design 2.1. Integer demands; the residual of a resource is its capacity
/// minus the sum over rounds of (integer weight x level), in round order; activities frozen in one
/// round share one level double; rounds of bitwise equal level are one; a ratio below the last level
/// is set to it; a cap is a round of its own. An activity is settled only when its own level changes
/// bitwise. Finish = settle time + ceil(remaining / rate) in integer ps, where a quotient that exceeds
/// an integer by less than 1/1024 ps or 2^-50 of itself (rounding of doubles) counts as that integer.
/// Only the connected component of what changed is solved again, with the same result as solving
/// everything.
///
/// Use: start / set_capacity / finish events at one picosecond in any order, then `resolve` once at
/// that picosecond; time does not pass a completion that was not taken (else InternalError).
/// Deterministic; no allocation per activity in steady state. Not thread-safe.
class FlowNetwork {
 public:
  /// A running activity, with times relative to now.
  struct Running {
    ShapeId shape;
    std::uint64_t tag = 0;
    double rate = 0;
    double remaining = 0;          ///< when it was settled
    std::int64_t settled_ago = 0;  ///< ps
    std::int64_t finishes_in = 0;  ///< ps; -1 = stalled
    std::int64_t payload = 0;
  };

  FlowNetwork();
  FlowNetwork(FlowNetwork&&) noexcept;
  FlowNetwork& operator=(FlowNetwork&&) noexcept;
  ~FlowNetwork();

  /// Adds a resource. `multiplicity`: how many links (of a link class) it stands for.
  /// REQUIRES: bytes_per_second >= 0 and finite.
  ResourceId add_resource(double bytes_per_second, std::uint32_t multiplicity = 1);

  /// Says how many shapes and demands of shapes will follow, so that they are not moved as they grow.
  void reserve(std::size_t shapes, std::size_t demands);

  /// Adds a shape; demands are copied, entries of one resource merged. Throws InputError when the
  /// integer sums overflow. A shape without demands and cap finishes at once.
  ShapeId add_shape(const Shape& shape);

  /// Starts an activity of `work` units of progress (bytes of its own) at `now`.
  /// `tag` comes back on completion. REQUIRES: now >= last resolve; work >= 0.
  /// `payload`: units that `bytes` counts, when the work holds more than is moved (protocol terms
  /// that only take time); -1 = all of it.
  ActivityId start(
      ShapeId shape, std::int64_t work, TimePoint now, std::uint64_t tag, std::int64_t payload = -1);

  /// Changes a capacity from `now` on (0 = down).
  void set_capacity(ResourceId resource, double bytes_per_second, TimePoint now);

  /// Computes new levels of everything that changed since the last call, at `now`.
  void resolve(TimePoint now);

  /// Earliest finish, or never() (nothing runs, or all that runs is stalled). REQUIRES: resolved.
  [[nodiscard]] TimePoint next_completion() const;

  /// Takes the activities that finish at `now` out of the network (in order of start) and appends
  /// them to `out`; their ids are free for the next start. Their resources count as changed until the next
  /// resolve.
  void take_completed(TimePoint now, std::vector<Completion>& out);

  [[nodiscard]] double rate(ActivityId activity) const;  ///< progress per second of a running activity
  [[nodiscard]] double capacity(ResourceId resource) const;
  /// Load of a resource by all running activities, bytes/s.
  [[nodiscard]] double load(ResourceId resource) const;
  /// Bytes moved over one representative resource so far by finished activities. Exact: sums are
  /// integers; what divisors leave is rounded down once per distinct divisor.
  [[nodiscard]] Int128 bytes(ResourceId resource) const;
  /// Highest load / capacity seen after any resolve (0 when never used).
  [[nodiscard]] double peak_utilisation(ResourceId resource) const;
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t resource_count() const;
  [[nodiscard]] std::uint32_t multiplicity(ResourceId resource) const;
  [[nodiscard]] std::uint32_t multiplicity(ShapeId shape) const;
  /// Running activities that have no finish: rate 0 (a link that is down), or so slow that it lies
  /// beyond the range of time. In order of start. REQUIRES: resolved.
  [[nodiscard]] std::vector<ActivityId> stalled() const;
  [[nodiscard]] std::uint64_t tag(ActivityId activity) const;
  /// What runs, in order of start. REQUIRES: resolved.
  [[nodiscard]] std::vector<Running> all_running() const;
  /// Payload moved by finished activities, by shape.
  [[nodiscard]] std::vector<Int128> finished_payload() const;
  /// Lets time pass in which what runs stays as it is, relative to now, and `payload` by shape finishes
  /// (repetitions of a steady state). REQUIRES: resolved.
  void skip(Duration by, std::span<const Int128> payload);
  /// Activities whose level was computed, summed over all resolves (for --profile).
  [[nodiscard]] std::uint64_t solved_activities() const;
  [[nodiscard]] std::uint64_t resolves() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepcast::network
