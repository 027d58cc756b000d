// Event queues compared. Each keeps its size; an item is one pop and one push of a later event. What they do
// is the hold model with times that differ or tie, and two patterns as runs make them:
//   ring   a message of each rank at a time: its arrival is scheduled 2 or 4 us ahead, after the sender's
//          transfer of 21 us (RING of message_bench: few different delays, many times)
//   step   groups of eight ranks in lockstep through the kernels of a layer, groups out of step: ties of
//          eight, delays between 2 us and 2 ms

#include <array>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/random.hpp"
#include "engine/event_queue.hpp"
#include "event_queues.hpp"

namespace {

using namespace stepcast;
using bench::CalendarQueue;
using bench::Entry;
using bench::HeapQueue;
using bench::RadixQueue;

/// The product's queue behind the interface of the others.
class Product {
 public:
  void push(const Entry& entry) {
    queue_.schedule(TimePoint::from_start(Duration::from_ps(entry.at)), engine::Priority::kCompute, 0,
                    static_cast<std::uint32_t>(entry.rank), entry.colour, entry.first, entry.second);
  }
  Entry pop() {
    const engine::Event event = queue_.pop();
    return {event.key.at.ps(), event.key.operation, event.key.sequence,
            event.key.colour,  event.first,         event.second};
  }

 private:
  engine::EventQueue queue_;
};

/// When the event of an item comes next. `items`: how many wait at a time.
class HoldDistinct {
 public:
  explicit HoldDistinct(std::uint32_t /*items*/) {}
  std::int64_t delay(std::uint32_t /*item*/) {
    return static_cast<std::int64_t>(random_.below(1'000'000'000)) + 1;
  }

 private:
  RandomStream random_{1, "event queue benchmark"};
};

class HoldTies {
 public:
  explicit HoldTies(std::uint32_t /*items*/) {}
  std::int64_t delay(std::uint32_t /*item*/) { return static_cast<std::int64_t>(random_.below(16)) + 1; }

 private:
  RandomStream random_{1, "event queue benchmark"};
};

class Ring {
 public:
  explicit Ring(std::uint32_t items) : steps_(items, 0) {}
  std::int64_t delay(std::uint32_t item) {
    constexpr std::int64_t kTransfer = 20'971'520;
    constexpr std::uint32_t kLeaf = 32;
    const std::uint32_t hop = item + steps_[item]++;  // the chunk goes round the ring
    return kTransfer + (hop % kLeaf == 0 ? 4'000'000 : 2'000'000);
  }

 private:
  std::vector<std::uint32_t> steps_;
};

class Step {
 public:
  explicit Step(std::uint32_t items) : steps_(items, 0) {}
  std::int64_t delay(std::uint32_t item) {
    constexpr std::array<std::int64_t, 8> kKernels{1'312'400'113, 2'000'000,   411'733'091, 2'000'000,
                                                   1'977'310'007, 612'044'519, 2'000'000,   88'104'211};
    const std::uint32_t group = item / 8;
    const std::uint32_t step = steps_[item]++;
    return kKernels[(step + group) % kKernels.size()] + (step == 0 ? std::int64_t{group} * 7'919'003 : 0);
  }

 private:
  std::vector<std::uint32_t> steps_;
};

template <class Queue, class Pattern>
void hold(benchmark::State& state) {
  Queue queue;
  const auto items = static_cast<std::uint32_t>(state.range(0));
  Pattern pattern(items);
  std::uint64_t sequence = 0;
  const auto push = [&](std::int64_t now, std::uint32_t item) {
    queue.push({.at = now + pattern.delay(item),
                .rank = item % 7,
                .sequence = sequence++,
                .colour = item,
                .first = item});
  };
  for (std::uint32_t item = 0; item < items; ++item) {
    push(0, item);
  }
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const Entry entry = queue.pop();
    push(entry.at, entry.first);
  }
  state.SetItemsProcessed(state.iterations());
}

#define STEPCAST_COMPARE(Pattern)                                                \
  BENCHMARK(hold<Product, Pattern>)->RangeMultiplier(16)->Range(16, 65536);      \
  BENCHMARK(hold<HeapQueue<2>, Pattern>)->RangeMultiplier(16)->Range(16, 65536); \
  BENCHMARK(hold<HeapQueue<4>, Pattern>)->RangeMultiplier(16)->Range(16, 65536); \
  BENCHMARK(hold<HeapQueue<8>, Pattern>)->RangeMultiplier(16)->Range(16, 65536); \
  BENCHMARK(hold<RadixQueue, Pattern>)->RangeMultiplier(16)->Range(16, 65536);   \
  BENCHMARK(hold<CalendarQueue, Pattern>)->RangeMultiplier(16)->Range(16, 65536)

STEPCAST_COMPARE(HoldDistinct);
STEPCAST_COMPARE(HoldTies);
STEPCAST_COMPARE(Ring);
STEPCAST_COMPARE(Step);

}  // namespace
