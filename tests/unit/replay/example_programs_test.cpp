#include "support/catch.hpp"
#include "support/replay_text.hpp"

// The ten programs of workloads/programs on the clean cluster (support/clean_cluster.hpp):
// message inside a host = 1 us launch + 2 us hop + bytes / 100 GB/s;
// ring collective of n ranks = 1 us + k x 2 us + k/n x bytes / 100 GB/s, k = 2(n-1) or n-1.

using namespace stepcast;
using replay::Activity;
using test::replay_example;
using test::spent_ps;
using test::step_ps;

TEST_CASE("send_recv: both ends post, then the message passes") {
  // 10 us kernel + (1 + 2 + 1,048,576 B / 100 GB/s = 10.48576) us + 5 us kernel = 28.48576 us.
  const replay::Run run = replay_example("send_recv");
  CHECK(step_ps(run) == 28'485'760);
  // The receiver waits 10 us for a computing peer, then has the transfer in flight.
  CHECK(spent_ps(run, Activity::kBubble) == 10'000'000);
  CHECK(spent_ps(run, Activity::kExposedPp) == 13'485'760);
  CHECK(spent_ps(run, Activity::kCompute) == 5'000'000);
}

TEST_CASE("eager_send: a late receiver finds the message there") {
  // The message is there long before 100 us; the receiver is done as soon as it posts.
  CHECK(step_ps(replay_example("eager_send")) == 100'000'000);
}

TEST_CASE("all_reduce: eight ranks, 64 MiB") {
  // k = 14: 1 us + 28 us + 14/8 x 67,108,864 B = 117,440,512 B / 100 GB/s = 1,174.40512 us.
  CHECK(step_ps(replay_example("all_reduce")) == 1'203'405'120);
}

TEST_CASE("all_reduce played step by step takes the same time on an idle node") {
  // 14 steps of 8 MiB: 1 us + 14 x (8,388,608 B / 100 GB/s = 83.88608 us + 2 us) = 1,203.40512 us.
  replay::PredictOptions options;
  options.form = collective::Form::kSteps;
  CHECK(step_ps(replay_example("all_reduce", options)) == 1'203'405'120);
}

TEST_CASE("all_gather_reduce_scatter: two halves with a kernel between") {
  // k = 7 each: 1 + 14 + 7/8 x 67,108,864 B / 100 GB/s = 587.20256 us, so 602.20256 us; twice, plus 50 us.
  const replay::Run run = replay_example("all_gather_reduce_scatter");
  CHECK(step_ps(run) == 1'254'405'120);
  CHECK(spent_ps(run, Activity::kOptimizer) == 50'000'000);
  CHECK(spent_ps(run, Activity::kExposedDp) == 1'204'405'120);
}

TEST_CASE("two_streams: an all-reduce hides under a kernel") {
  // 16 MiB take 1 + 28 + 293.60128 us, below 5 ms: 5 ms + 1 ms.
  const replay::Run run = replay_example("two_streams");
  CHECK(step_ps(run) == 6'000'000'000);
  CHECK(spent_ps(run, Activity::kExposedDp) == 0);
}

TEST_CASE("start_to_start: the copy begins with the kernel") {
  CHECK(step_ps(replay_example("start_to_start")) == 80'000'000);
}

TEST_CASE("repeat: nested loops") {
  // 3 x (4 x 10 us + 5 us).
  const replay::Run run = replay_example("repeat");
  CHECK(step_ps(run) == 135'000'000);
  // 3 x (4 kernels + 4 copies + 1 kernel).
  CHECK(run.result.timeline.operations == 27);
}

TEST_CASE("storage_write: the write outlasts the next kernel") {
  // 1 ms, then the links NIC to leaf and leaf to storage of 1 us each, then 1 GiB at 10 GB/s = 107.3741824
  // ms.
  const replay::Run run = replay_example("storage_write");
  CHECK(step_ps(run) == 1'000'000'000 + 2'000'000 + 107'374'182'400);
  // 1 ms and 2 ms of kernels; the rest of the write is exposed.
  CHECK(spent_ps(run, Activity::kCompute) == 3'000'000'000);
  CHECK(spent_ps(run, Activity::kStorage) == 105'376'182'400);
}

TEST_CASE("late_rank: the ring starts with its last member (case 60)") {
  // 510 us + (1 + 28 + 14/8 x 1,048,576 B = 1,835,008 B / 100 GB/s = 18.35008) us.
  const replay::Run run = replay_example("late_rank");
  CHECK(step_ps(run) == 557'350'080);
  // Waiting is apart from transfer: rank 0 waits 500 us, 10 us of it while rank 3 computes.
  CHECK(spent_ps(run, Activity::kExposedDp) == 47'350'080);
  CHECK(spent_ps(run, Activity::kBubble) == 10'000'000);
  CHECK(spent_ps(run, Activity::kOther) == 490'000'000);
}

TEST_CASE(
    "late_rank, step by step: none ends before what needs the late rank, none after it and a whole call") {
  // Rank 3 comes at 510 us, launches for 1 us and sends the first of its chunks on a way of 14 hops of 2 us
  // and 131,072 B at 100 GB/s (1.31072 us). Its owner has it added up after 7 of them; no rank has all
  // before.
  replay::PredictOptions options;
  options.form = collective::Form::kSteps;
  options.record_timeline = true;
  const replay::Run run = replay_example("late_rank", options);
  CHECK(step_ps(run) == 510'000'000 + 1'000'000 + 14 * 3'310'720);
  TimePoint first = TimePoint::never();
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    TimePoint end;
    for (const replay::Interval& interval : run.result.timeline.intervals) {
      end = interval.rank == RankId(rank) ? std::max(end, interval.end) : end;
    }
    first = std::min(first, end);
  }
  CHECK(first.since_start().ps() >= 510'000'000 + 1'000'000 + 7 * 3'310'720);
}

TEST_CASE("pipeline: one transfer is exposed, the rest hides") {
  // 100 us + 13.48576 us + 8 x 100 us.
  const replay::Run run = replay_example("pipeline");
  CHECK(step_ps(run) == 913'485'760);
  CHECK(spent_ps(run, Activity::kBubble) == 100'000'000);
  CHECK(spent_ps(run, Activity::kExposedPp) == 13'485'760);
}
