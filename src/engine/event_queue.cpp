#include "engine/event_queue.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace stepcast::engine {

void EventQueue::schedule(TimePoint at,
                          Priority priority,
                          std::uint8_t kind,
                          std::uint32_t operation,
                          std::uint32_t colour,
                          std::uint32_t first,
                          std::uint32_t second) {
  STEPCAST_CHECK(at >= now_, "event at {} ps, now {} ps", at.ps(), now_.ps());
  const Packed packed{.at = at.ps(),
                      .rank = std::uint64_t{static_cast<std::uint8_t>(priority)} << 40 |
                              std::uint64_t{kind} << 32 | operation,
                      .sequence = sequence_++,
                      .colour = colour,
                      .first = first,
                      .second = second};
  std::size_t slot = heap_.size();
  heap_.push_back(packed);
  while (slot > 0 && before(packed, heap_[(slot - 1) / kArity])) {
    heap_[slot] = heap_[(slot - 1) / kArity];
    slot = (slot - 1) / kArity;
  }
  heap_[slot] = packed;
}

TimePoint EventQueue::next_time() const {
  return heap_.empty() ? TimePoint::never() : TimePoint::from_start(Duration::from_ps(heap_.front().at));
}

Event EventQueue::pop() {
  STEPCAST_CHECK(!heap_.empty(), "pop of an empty event queue");
  const Packed lowest = heap_.front();
  const Packed last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    sink(last);
  }
  now_ = TimePoint::from_start(Duration::from_ps(lowest.at));
  Event event;
  event.key = {.at = now_,
               .priority = static_cast<Priority>(lowest.rank >> 40),
               .kind = static_cast<std::uint8_t>(lowest.rank >> 32),
               .operation = static_cast<std::uint32_t>(lowest.rank),
               .colour = lowest.colour,
               .sequence = lowest.sequence};
  event.first = lowest.first;
  event.second = lowest.second;
  return event;
}

void EventQueue::sink(const Packed& packed) {
  const std::size_t size = heap_.size();
  std::size_t slot = 0;
  for (;;) {
    const std::size_t child = slot * kArity + 1;
    if (child >= size) {
      break;
    }
    std::size_t lowest = child;
    const std::size_t end = std::min(child + kArity, size);
    for (std::size_t other = child + 1; other < end; ++other) {
      if (before(heap_[other], heap_[lowest])) {
        lowest = other;
      }
    }
    if (!before(heap_[lowest], packed)) {
      break;
    }
    heap_[slot] = heap_[lowest];
    slot = lowest;
  }
  heap_[slot] = packed;
}

}  // namespace stepcast::engine
