#include "engine/event_queue.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "engine/heap.hpp"

namespace stepcast::engine {
namespace {

constexpr auto kNobodyCares = [](const auto&, std::size_t) {};

}  // namespace

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
  heap_.push_back(packed);
  heap_rise(heap_, heap_.size() - 1, packed, Before{}, kNobodyCares);
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
    heap_sink(heap_, 0, last, Before{}, kNobodyCares);
  }
  now_ = TimePoint::from_start(Duration::from_ps(lowest.at));
  return unpacked(lowest);
}

Event EventQueue::unpacked(const Packed& packed) {
  Event event;
  event.key = {.at = TimePoint::from_start(Duration::from_ps(packed.at)),
               .priority = static_cast<Priority>(packed.rank >> 40),
               .kind = static_cast<std::uint8_t>(packed.rank >> 32),
               .operation = static_cast<std::uint32_t>(packed.rank),
               .colour = packed.colour,
               .sequence = packed.sequence};
  event.first = packed.first;
  event.second = packed.second;
  return event;
}

std::vector<Event> EventQueue::in_order() const {
  std::vector<Packed> sorted = heap_;
  std::sort(sorted.begin(), sorted.end(), Before{});
  std::vector<Event> events;
  events.reserve(sorted.size());
  for (const Packed& packed : sorted) {
    events.push_back(unpacked(packed));
  }
  return events;
}

void EventQueue::shift(Duration by, std::uint8_t fixed) {
  STEPCAST_CHECK(by >= Duration{}, "shift by {} ps", by.ps());
  now_ = now_ + by;
  for (Packed& packed : heap_) {
    if (static_cast<std::uint8_t>(packed.rank >> 32) != fixed) {
      packed.at += by.ps();
    }
    STEPCAST_CHECK(packed.at >= now_.ps(), "a shift passes an event at {} ps", packed.at);
  }
  std::sort(heap_.begin(), heap_.end(), Before{});  // a sorted list is a heap
}

}  // namespace stepcast::engine
