#include "engine/event_queue.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using engine::Event;
using engine::EventKey;
using engine::EventQueue;
using engine::Priority;

namespace {

TimePoint at(std::int64_t ps) {
  return TimePoint::from_start(Duration::from_ps(ps));
}

void schedule(EventQueue& queue, const EventKey& key, std::uint32_t first = 0) {
  queue.schedule(key.at, key.priority, key.kind, key.operation, key.colour, first, 0);
}

/// `first` of every event, in the order in which they come out.
std::vector<std::uint32_t> drain(EventQueue& queue) {
  std::vector<std::uint32_t> order;
  while (!queue.empty()) {
    order.push_back(queue.pop().first);
  }
  return order;
}

}  // namespace

TEST_CASE("each word of the event key decides only when all words before it are equal") {
  // Every event is lower than the one above in exactly one word and higher in all words after it,
  // so any word compared out of turn changes the order.
  EventQueue queue;
  schedule(queue, {at(2), Priority::kCapacity, 0, 0, 0}, 6);
  schedule(queue, {at(1), Priority::kReport, 0, 0, 0}, 5);
  schedule(queue, {at(1), Priority::kNetwork, 9, 0, 0}, 4);
  schedule(queue, {at(1), Priority::kNetwork, 8, 7, 0}, 3);
  schedule(queue, {at(1), Priority::kNetwork, 8, 6, 5}, 2);
  schedule(queue, {at(1), Priority::kNetwork, 8, 6, 4}, 0);
  schedule(queue, {at(1), Priority::kNetwork, 8, 6, 4}, 1);
  CHECK(drain(queue) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("events of equal key come out in the order in which they were scheduled") {
  EventQueue queue;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t index = 0; index < 100; ++index) {
    schedule(queue, {at(5)}, index);
    expected.push_back(index);
  }
  CHECK(drain(queue) == expected);
}

TEST_CASE("an event comes back with the key and words it was scheduled with") {
  EventQueue queue;
  queue.schedule(at(7), Priority::kReport, 255, 0xfffffffe, 0xfffffffd, 0xfffffffc, 0xfffffffb);
  CHECK(queue.next_time() == at(7));
  const Event event = queue.pop();
  CHECK(event.key == EventKey{at(7), Priority::kReport, 255, 0xfffffffe, 0xfffffffd, 0});
  CHECK(event.first == 0xfffffffc);
  CHECK(event.second == 0xfffffffb);
}

TEST_CASE("the clock is the time of the last event popped") {
  EventQueue queue;
  CHECK(queue.now() == at(0));
  CHECK(queue.next_time() == TimePoint::never());
  schedule(queue, {at(30)});
  schedule(queue, {at(10)});
  CHECK(queue.now() == at(0));
  CHECK(queue.next_time() == at(10));
  queue.pop();
  CHECK(queue.now() == at(10));
  schedule(queue, {at(10)});  // the present is not the past
  queue.pop();
  CHECK(queue.now() == at(10));
  queue.pop();
  CHECK(queue.now() == at(30));
  CHECK(queue.empty());
  CHECK(queue.scheduled() == 3);
}

TEST_CASE("scheduling in the past is a defect, not a silent reorder") {
  EventQueue queue;
  schedule(queue, {at(10)});
  queue.pop();
  CHECK_THROWS_AS(schedule(queue, {at(9)}), InternalError);
  CHECK_NOTHROW(schedule(queue, {at(10)}));
}

TEST_CASE("taking an event out of an empty queue is a defect") {
  EventQueue queue;
  CHECK_THROWS_AS(queue.pop(), InternalError);
}

TEST_CASE("interleaved scheduling and popping gives the order of a sorted list") {
  // The oracle is the smallest key of a plain list, by the declared order of EventKey.
  EventQueue queue;
  std::vector<EventKey> waiting;
  RandomStream random(1, "event queue test");
  std::uint64_t sequence = 0;
  bool equal = true;
  for (int step = 0; step < 4000; ++step) {
    if (waiting.empty() || random.below(5) < (step < 2000 ? 3U : 2U)) {
      const EventKey key{queue.now() + Duration::from_ps(static_cast<std::int64_t>(random.below(4))),
                         static_cast<Priority>(random.below(5)),
                         static_cast<std::uint8_t>(random.below(2)),
                         static_cast<std::uint32_t>(random.below(3)),
                         static_cast<std::uint32_t>(random.below(3)),
                         sequence++};
      schedule(queue, key);
      waiting.push_back(key);
    } else {
      const auto lowest = std::min_element(waiting.begin(), waiting.end());
      equal = equal && queue.pop().key == *lowest;
      waiting.erase(lowest);
    }
  }
  CHECK(equal);
  CHECK(queue.size() == waiting.size());
}
