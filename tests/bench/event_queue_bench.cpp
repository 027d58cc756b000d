// Hold model: the queue keeps its size; each item is one pop and one schedule of a later event.

#include <benchmark/benchmark.h>

#include "base/random.hpp"
#include "engine/event_queue.hpp"

namespace {

using namespace stepcast;
using engine::Event;
using engine::EventQueue;
using engine::Priority;

/// Events that wait `delays` different times: few of them means many ties.
void hold(benchmark::State& state, std::uint64_t delays) {
  EventQueue queue;
  RandomStream random(1, "event queue benchmark");
  const auto later = [&] { return Duration::from_ps(static_cast<std::int64_t>(random.below(delays)) + 1); };
  const auto schedule = [&](std::uint32_t operation) {
    queue.schedule(queue.now() + later(), Priority::kCompute, 0, operation, operation % 64, operation, 0);
  };
  for (std::int64_t event = 0; event < state.range(0); ++event) {
    schedule(static_cast<std::uint32_t>(event));
  }
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const Event event = queue.pop();
    schedule(event.first);
  }
  state.SetItemsProcessed(state.iterations());
}

void hold_distinct_times(benchmark::State& state) {
  hold(state, 1'000'000'000);
}
void hold_many_ties(benchmark::State& state) {
  hold(state, 16);
}

BENCHMARK(hold_distinct_times)->RangeMultiplier(16)->Range(16, 65536);
BENCHMARK(hold_many_ties)->RangeMultiplier(16)->Range(16, 65536);

}  // namespace
