#include <algorithm>
#include <string>

#include "collective/collective.hpp"
#include "support/catch.hpp"

using namespace stepcast::collective;
using Catch::Matchers::Contains;

namespace {

Schedule ring(std::string_view name, std::uint32_t members) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) {
      return algorithm.schedule(Places::even(members), 1, 0);
    }
  }
  FAIL("no algorithm " << name);
  return {};
}

Step send_to(std::uint32_t peer, ChunkRange source) {
  Step step;
  step.action = Action::kSend;
  step.send_peer = peer;
  step.source = source;
  return step;
}

Step receive_from(std::uint32_t peer, ChunkRange destination) {
  Step step;
  step.action = Action::kRecv;
  step.receive_peer = peer;
  step.destination = destination;
  return step;
}

Step local(Action action, ChunkRange source, ChunkRange destination) {
  Step step;
  step.action = action;
  step.source = source;
  step.destination = destination;
  return step;
}

/// Two members of one chunk that exchange their inputs through scratch and add them: an all-reduce.
Schedule exchange() {
  Schedule schedule;
  schedule.kind = Kind::kAllReduce;
  schedule.members = 2;
  schedule.chunks = 1;
  const ChunkRange input{.buffer = Buffer::kInput, .offset = 0, .count = 1};
  const ChunkRange scratch{.buffer = Buffer::kScratch, .offset = 0, .count = 1};
  const ChunkRange output{.buffer = Buffer::kOutput, .offset = 0, .count = 1};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    schedule.lanes.push_back({.rank = rank,
                              .thread_block = 0,
                              .channel = 0,
                              .steps = {send_to(1 - rank, input), receive_from(1 - rank, scratch),
                                        local(Action::kReduce, scratch, output)}});
  }
  return schedule;
}

}  // namespace

TEST_CASE("an exchange through scratch is an all-reduce", "[collective]") {
  const CheckResult result = check(exchange());
  CAPTURE(result.problem);
  CHECK(result.ok);
}

TEST_CASE("a contribution counted twice is found", "[collective]") {
  Schedule schedule = exchange();
  schedule.lanes[1].steps.push_back(schedule.lanes[1].steps.back());  // adds rank 0's data once more
  const CheckResult result = check(schedule);
  CHECK_FALSE(result.ok);
  CHECK(result.problem == "rank 1, output chunk 0: the contribution of rank 0 is counted 2 times");
}

TEST_CASE("a missing reduction is found", "[collective]") {
  Schedule schedule = exchange();
  schedule.lanes[0].steps.pop_back();
  CHECK(check(schedule).problem == "rank 0, output chunk 0: the contribution of rank 1 is missing");
}

TEST_CASE("a read before any write is found", "[collective]") {
  Schedule schedule = exchange();
  schedule.lanes[0].steps[2].source.offset = 1;  // scratch chunk 1 is never written
  CHECK(check(schedule).problem ==
        "rank 0, thread block 0, step 2 (reduce) reads scratch chunk 1 before anything is written to it");
}

TEST_CASE("a receive whose message is never sent names both ranks", "[collective]") {
  Schedule schedule = exchange();
  auto& steps = schedule.lanes[1].steps;
  steps.erase(steps.begin());
  CHECK(check(schedule).problem ==
        "rank 0, thread block 0, step 1 (recv from rank 1) waits for a message that rank 1 never sends");
}

TEST_CASE("two members that both receive first wait for each other", "[collective]") {
  Schedule schedule = exchange();
  for (Lane& lane : schedule.lanes) {
    std::swap(lane.steps[0], lane.steps[1]);
  }
  CHECK(check(schedule).problem ==
        "rank 0, thread block 0, step 0 (recv from rank 1) waits for "
        "rank 1, thread block 0, step 0 (recv from rank 0) waits for "
        "rank 0, thread block 0, step 0 (recv from rank 1): a circle");
}

TEST_CASE("a message that nobody receives is found", "[collective]") {
  Schedule schedule = exchange();
  schedule.lanes[0].steps.push_back(schedule.lanes[0].steps[0]);
  CHECK(check(schedule).problem ==
        "rank 0, thread block 0, step 3 (send to rank 1) sends a message that rank 1 never receives");
}

TEST_CASE("a ring with one round too few is refused", "[collective]") {
  Schedule schedule = ring("ring_all_gather", 4);
  // The last round of 4 members is: forward the third part, receive it. Without it the third hop's data
  // (the part of the next member) never arrives.
  for (Lane& lane : schedule.lanes) {
    Step& last_forward = lane.steps[lane.steps.size() - 2];
    REQUIRE(last_forward.action == Action::kRecvCopySend);
    last_forward.action = Action::kRecv;
    lane.steps.pop_back();
  }
  CHECK(check(schedule).problem == "rank 0, output chunk 1: nothing is written to it");
}

TEST_CASE("an all-reduce with one reduction too few is refused", "[collective]") {
  Schedule schedule = ring("ring_all_reduce", 4);
  for (Lane& lane : schedule.lanes) {
    for (Step& step : lane.steps) {
      if (step.action == Action::kRecvReduceCopySend) {
        step.action = Action::kRecvCopySend;
      }
    }
  }
  CHECK_THAT(check(schedule).problem, Contains("the contribution of rank 0 is missing"));
}

TEST_CASE("a swapped peer is refused and both ends are named", "[collective]") {
  Schedule schedule = ring("ring_all_gather", 4);
  schedule.lanes[2].steps[0].send_peer = 0;  // rank 2 sends to rank 0 instead of rank 3
  // Rank 3 misses one message of rank 2; all others wait for what rank 3 would have forwarded.
  const CheckResult result = check(schedule);
  CHECK_FALSE(result.ok);
  CHECK_THAT(result.problem,
             Contains("rank 3, thread block 0") && Contains("a message that rank 2 never sends"));
}

TEST_CASE("data of different chunks is never added up", "[collective]") {
  Schedule schedule = ring("ring_reduce_scatter", 3);
  schedule.lanes[0].steps[1].source.offset = 0;
  CHECK_THAT(check(schedule).problem,
             Contains("rank 0, thread block 0, step 1") && Contains("reduces data of chunk"));
}

TEST_CASE("the form of a schedule is checked before it runs", "[collective]") {
  Schedule schedule = exchange();
  SECTION("a peer outside the group") {
    schedule.lanes[0].steps[0].send_peer = 2;
    CHECK_THAT(check(schedule).problem, Contains("sends to rank 2, which is itself or not a member"));
  }
  SECTION("two lanes that take messages from one queue") {
    schedule.lanes.push_back(schedule.lanes[0]);
    CHECK_THAT(check(schedule).problem, Contains("another lane"));
  }
  SECTION("a dependency on a step that does not exist") {
    schedule.lanes[0].steps[0].after.push_back({0, 9});
    CHECK_THAT(check(schedule).problem, Contains("waits for step 9 of lane 0"));
  }
  SECTION("a chunk outside its buffer") {
    schedule.lanes[0].steps[2].destination.offset = 1;
    CHECK_THAT(check(schedule).problem, Contains("of a buffer of 1"));
  }
  SECTION("chunks that the members cannot share") {
    schedule.kind = Kind::kAllGather;
    CHECK_THAT(check(schedule).problem, Contains("1 chunks cannot be shared by 2 members"));
  }
}

TEST_CASE("a step waits for a step of another thread block", "[collective]") {
  Schedule schedule = exchange();
  // Rank 0 reduces in a second thread block, after the receive of the first.
  Step reduce = schedule.lanes[0].steps[2];
  schedule.lanes[0].steps.pop_back();
  reduce.after.push_back({0, 1});
  schedule.lanes.insert(schedule.lanes.begin() + 1,
                        Lane{.rank = 0, .thread_block = 1, .channel = 0, .steps = {reduce}});
  CHECK(check(schedule).ok);

  // Without the receive the second thread block waits for the first for ever.
  schedule.lanes[2].steps.erase(schedule.lanes[2].steps.begin());
  CHECK_THAT(check(schedule).problem, Contains("a message that rank 1 never sends"));
}

TEST_CASE("broadcast, reduce and all-to-all have their own promises", "[collective]") {
  const ChunkRange whole{.buffer = Buffer::kInput, .offset = 0, .count = 1};
  Schedule broadcast;
  broadcast.kind = Kind::kBroadcast;
  broadcast.members = 2;
  broadcast.chunks = 1;
  broadcast.root = 1;
  broadcast.lanes = {{.rank = 0, .thread_block = 0, .channel = 0, .steps = {receive_from(1, whole)}},
                     {.rank = 1, .thread_block = 0, .channel = 0, .steps = {send_to(0, whole)}}};
  CHECK(check(broadcast).ok);
  broadcast.root = 0;
  CHECK_THAT(check(broadcast).problem, Contains("before anything is written"));

  Schedule to_all;
  to_all.kind = Kind::kAllToAll;
  to_all.members = 2;
  to_all.chunks = 2;
  to_all.in_place = false;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const ChunkRange away{.buffer = Buffer::kInput, .offset = 1 - rank, .count = 1};
    const ChunkRange arrived{.buffer = Buffer::kOutput, .offset = 1 - rank, .count = 1};
    const ChunkRange mine{.buffer = Buffer::kInput, .offset = rank, .count = 1};
    const ChunkRange kept{.buffer = Buffer::kOutput, .offset = rank, .count = 1};
    to_all.lanes.push_back({.rank = rank,
                            .thread_block = 0,
                            .channel = 0,
                            .steps = {send_to(1 - rank, away), local(Action::kCopy, mine, kept),
                                      receive_from(1 - rank, arrived)}});
  }
  CHECK(check(to_all).ok);
  to_all.lanes[0].steps[1].source.offset = 1;
  CHECK(check(to_all).problem == "rank 0, output chunk 0: holds data of chunk 1 instead of 0");
}
