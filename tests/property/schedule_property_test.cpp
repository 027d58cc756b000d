#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include "collective/collective.hpp"
#include "support/catch.hpp"

using namespace stepcast::collective;

namespace {

/// Chunks that each sender gives each receiver on each channel.
std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::int64_t> chunks_sent(
    const Schedule& schedule) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::int64_t> sent;
  for (const Lane& lane : schedule.lanes) {
    for (const Step& step : lane.steps) {
      if (sends(step.action)) {
        sent[{lane.rank, step.send_peer, lane.channel}] += step.source.count;
      }
    }
  }
  return sent;
}

}  // namespace

TEST_CASE("every algorithm keeps its promise for any number of members and channels", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::uint32_t members = 1; members <= 17; ++members) {
      for (std::uint32_t channels = 1; channels <= 3; ++channels) {
        const Schedule schedule = algorithm.schedule(members, channels, members / 2);
        const CheckResult result = check(schedule);
        CAPTURE(algorithm.name, members, channels, result.problem);
        CHECK(result.ok);
        CHECK(schedule.kind == algorithm.kind);
        CHECK(schedule.members == members);
        CHECK(schedule.channels == channels);
      }
    }
  }
}

TEST_CASE("every algorithm keeps its promise for 64 members", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    const CheckResult result = check(algorithm.schedule(64, 2, 0));
    CAPTURE(algorithm.name, result.problem);
    CHECK(result.ok);
  }
}

TEST_CASE("the steady state of an algorithm is that of its schedule", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::uint32_t members = 2; members <= 9; ++members) {
      const std::uint32_t channels = 2;
      CAPTURE(algorithm.name, members);
      const Schedule schedule = algorithm.schedule(members, channels, 0);
      const SteadyState steady = algorithm.steady_state(members);
      const auto sent = chunks_sent(schedule);
      // Every member sends to the next one only, on every channel.
      CHECK(sent.size() == std::size_t{members} * channels);
      for (const auto& [key, chunks] : sent) {
        // chunks on one hop of one channel / chunks in all = share / channels
        CHECK(chunks * channels * steady.share_denominator ==
              steady.share_numerator * std::int64_t{schedule.chunks});
      }
      for (const Lane& lane : schedule.lanes) {
        // k sequential hops: a lane makes as many sends one after the other.
        CHECK(std::count_if(lane.steps.begin(), lane.steps.end(),
                            [](const Step& step) { return sends(step.action); }) == steady.steps);
      }
    }
  }
}

TEST_CASE("a schedule with any one step left out is refused", "[collective]") {
  CHECK(rc::check("a missing step is found", [] {
    const auto all = algorithms();
    const Algorithm& algorithm = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto members = *rc::gen::inRange<std::uint32_t>(2, 9);
    const auto channels = *rc::gen::inRange<std::uint32_t>(1, 4);
    Schedule schedule = algorithm.schedule(members, channels, 0);
    Lane& lane = schedule.lanes[*rc::gen::inRange<std::size_t>(0, schedule.lanes.size())];
    const auto gone = *rc::gen::inRange<std::size_t>(0, lane.steps.size());
    lane.steps.erase(lane.steps.begin() + static_cast<std::ptrdiff_t>(gone));
    RC_ASSERT(!check(schedule).ok);
  }));
}

TEST_CASE("a step that reads another chunk is refused", "[collective]") {
  CHECK(rc::check("a wrong chunk is found", [] {
    const auto all = algorithms();
    const Algorithm& algorithm = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto members = *rc::gen::inRange<std::uint32_t>(3, 9);
    Schedule schedule = algorithm.schedule(members, 2, 0);
    Lane& lane = schedule.lanes[*rc::gen::inRange<std::size_t>(0, schedule.lanes.size())];
    Step& first = lane.steps.front();  // a send of the member's own data in every ring
    first.source.offset = (first.source.offset + 1) % schedule.chunks;
    RC_ASSERT(!check(schedule).ok);
  }));
}
