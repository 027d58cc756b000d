#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace stepcast::engine {

/// What happens first when two events share a time. Lower runs first.
enum class Priority : std::uint8_t { kCapacity, kNetwork, kCompute, kRelease, kReport };

/// The total order of events (design 4.5): time, priority, kind, operation id in its program, colour
/// (rank class), then sequence of scheduling. No address, hash or thread decides an order.
struct EventKey {
  TimePoint at;
  Priority priority = Priority::kNetwork;
  std::uint8_t kind = 0;
  std::uint32_t operation = 0;
  std::uint32_t colour = 0;
  std::uint64_t sequence = 0;
  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
};

/// A scheduled event: its key and two words that only the scheduler of the event reads.
struct Event {
  EventKey key;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

/// Heap of events in total order, with the clock that they drive. No allocation per event in steady state.
class EventQueue {
 public:
  /// Adds an event; the queue numbers it. REQUIRES: at >= now().
  void schedule(TimePoint at,
                Priority priority,
                std::uint8_t kind,
                std::uint32_t operation,
                std::uint32_t colour,
                std::uint32_t first,
                std::uint32_t second);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  /// Time of the next event, or TimePoint::never().
  [[nodiscard]] TimePoint next_time() const;
  /// Removes and returns the next event; the clock moves to it. REQUIRES: !empty().
  Event pop();
  /// All events, in their order.
  [[nodiscard]] std::vector<Event> in_order() const;
  /// Moves the clock and every event but those of kind `fixed` later. REQUIRES: by >= 0, and no event of
  /// kind `fixed` comes before the new time.
  void shift(Duration by, std::uint8_t fixed);
  /// Time of the last event popped.
  [[nodiscard]] TimePoint now() const { return now_; }
  /// Events scheduled so far.
  [[nodiscard]] std::uint64_t scheduled() const { return sequence_; }

 private:
  /// An event with its key packed, so that most compares are one or two words.
  struct Packed {
    std::int64_t at;     ///< ps
    std::uint64_t rank;  ///< priority, kind, operation, from the top
    std::uint64_t sequence;
    std::uint32_t colour;
    std::uint32_t first;
    std::uint32_t second;
  };
  /// A type, not a function, so that the heap inlines it.
  struct Before {
    bool operator()(const Packed& a, const Packed& b) const {
      if (a.at != b.at) {
        return a.at < b.at;
      }
      if (a.rank != b.rank) {
        return a.rank < b.rank;
      }
      return a.colour != b.colour ? a.colour < b.colour : a.sequence < b.sequence;
    }
  };

  [[nodiscard]] static Event unpacked(const Packed& packed);

  std::vector<Packed> heap_;
  std::uint64_t sequence_ = 0;
  TimePoint now_;
};

}  // namespace stepcast::engine
