// Laws of every pipeline schedule in the registry, from an ideal pipeline without communication time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include "support/catch.hpp"
#include "workload/pipeline_schedule.hpp"

using namespace stepcast::workload;

namespace {

using TaskKey = std::tuple<bool, std::uint32_t, std::uint32_t>;  // forward, model part, micro-batch

/// Plays all stages with a forward of `f` and a backward of `b` per chunk; returns the end, or -1 when
/// some stage waits for ever. A task starts when its stage is free and its input is there.
std::int64_t play(const PipelineSchedule& schedule,
                  std::uint32_t p,
                  std::uint32_t m,
                  std::uint32_t v,
                  std::int64_t f,
                  std::int64_t b) {
  std::vector<std::vector<PipelineTask>> orders;
  for (std::uint32_t stage = 0; stage < p; ++stage) {
    orders.push_back(schedule.tasks(stage, p, m, v));
  }
  std::map<TaskKey, std::int64_t> finished;
  std::vector<std::size_t> next(p, 0);
  std::vector<std::int64_t> free_at(p, 0);
  const auto input_of = [&](const PipelineTask& task, std::uint32_t part) -> std::int64_t {
    if (task.forward) {
      const auto found = part == 0 ? finished.end() : finished.find({true, part - 1, task.micro_batch});
      return part == 0 ? 0 : found == finished.end() ? -1 : found->second;
    }
    const bool last = part + 1 == p * v;
    const auto found = finished.find({last, last ? part : part + 1, task.micro_batch});
    return found == finished.end() ? -1 : found->second;
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::uint32_t stage = 0; stage < p; ++stage) {
      while (next[stage] < orders[stage].size()) {
        const PipelineTask& task = orders[stage][next[stage]];
        const std::uint32_t part = task.chunk * p + stage;
        const std::int64_t input = input_of(task, part);
        if (input < 0) {
          break;
        }
        free_at[stage] = std::max(free_at[stage], input) + (task.forward ? f : b);
        finished[{task.forward, part, task.micro_batch}] = free_at[stage];
        ++next[stage];
        moved = true;
      }
    }
  }
  for (std::uint32_t stage = 0; stage < p; ++stage) {
    if (next[stage] < orders[stage].size()) {
      return -1;
    }
  }
  return *std::max_element(free_at.begin(), free_at.end());
}

struct Shape {
  std::uint32_t p = 1;
  std::uint32_t m = 1;
  std::uint32_t v = 1;
};

/// A shape that the schedule takes: interleaving wants p > 1, v > 1 and whole groups of p.
Shape any_shape(const PipelineSchedule& schedule) {
  Shape shape;
  shape.p = *rc::gen::inRange<std::uint32_t>(schedule.interleaves ? 2 : 1, 7);
  shape.v = schedule.interleaves ? *rc::gen::inRange<std::uint32_t>(2, 5) : 1;
  shape.m = *rc::gen::inRange<std::uint32_t>(1, 13);
  if (schedule.interleaves) {
    shape.m = shape.p * (1 + shape.m % 4);
  }
  return shape;
}

}  // namespace

TEST_CASE("every schedule runs each chunk forward and backward once per micro-batch") {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    CAPTURE(schedule.name);
    CHECK(rc::check([&schedule] {
      const Shape s = any_shape(schedule);
      for (std::uint32_t stage = 0; stage < s.p; ++stage) {
        std::map<TaskKey, std::uint32_t> seen;
        for (const PipelineTask& task : schedule.tasks(stage, s.p, s.m, s.v)) {
          RC_ASSERT(task.chunk < s.v);
          RC_ASSERT(task.micro_batch < s.m);
          ++seen[{task.forward, task.chunk, task.micro_batch}];
          // Backward needs the activations of its own forward.
          RC_ASSERT(task.forward || seen[(TaskKey{true, task.chunk, task.micro_batch})] == 1);
        }
        RC_ASSERT(seen.size() == std::size_t{2} * s.m * s.v);
        for (const auto& [key, count] : seen) {
          RC_ASSERT(count == 1);
        }
      }
    }));
  }
}

TEST_CASE("the stages of every schedule never wait for each other in a circle") {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    CAPTURE(schedule.name);
    CHECK(rc::check([&schedule] {
      const Shape s = any_shape(schedule);
      const std::int64_t f = *rc::gen::inRange(1, 20);
      const std::int64_t b = *rc::gen::inRange(1, 20);
      RC_ASSERT(play(schedule, s.p, s.m, s.v, f, b) >= s.m * s.v * (f + b));
    }));
  }
}

TEST_CASE("the bubble is (p-1)/v forwards and backwards of a stage") {
  // Per chunk f and b, so an ideal stage takes m v (f + b). GPipe and 1F1B (v = 1) end after
  // (m + p - 1)(f + b), i.e. a bubble of (p-1)/(m+p-1) of the total; interleaving ends after
  // m v (f + b) + (p - 1)(f + b), i.e. (p-1)/(v m) of the ideal time. Source: arXiv 2104.04473, 2.2.
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    CAPTURE(schedule.name);
    CHECK(rc::check([&schedule] {
      const Shape s = any_shape(schedule);
      const std::int64_t f = *rc::gen::inRange(1, 20);
      const std::int64_t b = 2 * f;
      const std::int64_t ideal = std::int64_t{s.m} * s.v * (f + b);
      RC_ASSERT(play(schedule, s.p, s.m, s.v, f, b) == ideal + (std::int64_t{s.p} - 1) * (f + b));
    }));
  }
}

TEST_CASE("in-flight chunks are the most forwards without their backward") {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    CAPTURE(schedule.name);
    CHECK(rc::check([&schedule] {
      const Shape s = any_shape(schedule);
      for (std::uint32_t stage = 0; stage < s.p; ++stage) {
        std::uint32_t alive = 0;
        std::uint32_t most = 0;
        for (const PipelineTask& task : schedule.tasks(stage, s.p, s.m, s.v)) {
          alive = task.forward ? alive + 1 : alive - 1;
          most = std::max(most, alive);
        }
        RC_ASSERT(schedule.in_flight_chunks(stage, s.p, s.m, s.v) == most);
      }
    }));
  }
}

TEST_CASE("published bubbles and in-flight numbers") {
  // p = 8, m = 64: 7/71 = 9.86 % of the total for 1F1B; v = 3: 7/192 = 3.65 % of the ideal.
  const PipelineSchedule* plain = find_pipeline_schedule("1f1b");
  const PipelineSchedule* interleaved = find_pipeline_schedule("interleaved");
  REQUIRE(plain != nullptr);
  REQUIRE(interleaved != nullptr);
  CHECK(play(*plain, 8, 64, 1, 1, 2) == 3 * 71);
  CHECK(play(*interleaved, 8, 64, 3, 1, 2) == 3 * 192 + 3 * 7);
  // First stage: p micro-batches; interleaved p (1 + (p-1)/(p v)) = 8 + 7/3 of 3 chunks each = 31 chunks.
  CHECK(plain->in_flight_chunks(0, 8, 64, 1) == 8);
  CHECK(interleaved->in_flight_chunks(0, 8, 64, 3) == 31);
  CHECK(find_pipeline_schedule("no such schedule") == nullptr);
}
