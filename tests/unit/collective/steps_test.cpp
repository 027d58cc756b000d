#include <algorithm>
#include <map>

#include "collective/layout.hpp"
#include "network/flow_network.hpp"
#include "small_fabric.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::collective::test;
using namespace stepcast::literals;

namespace {

Request simple_request(Kind kind, Bytes bytes) {
  Request request;
  request.kind = kind;
  request.bytes = bytes;
  request.protocol = Protocol::kSimple;
  return request;
}

network::FlowNetwork network_of(const routing::Router& router) {
  network::FlowNetwork flows;
  for (const routing::Resource& resource : router.resources()) {
    flows.add_resource(resource.bytes_per_second);
  }
  return flows;
}

Duration play(const routing::Router& router, const CoupledActivity& activity) {
  network::FlowNetwork flows = network_of(router);
  network::Shape shape;
  shape.demands = activity.demands;
  shape.divisor = activity.divisor;
  shape.cap = activity.cap;
  const TimePoint start = TimePoint::from_start(activity.latency);
  flows.start(flows.add_shape(shape), activity.work, start, 0);
  flows.resolve(start);
  return flows.next_completion().since_start();
}

/// All phases one after the other, to the end of the last member.
Duration play(const routing::Router& router, const Lowered& lowered) {
  Duration total = play(router, lowered.coupled);
  const CoupledActivity* last = &lowered.coupled;
  for (const CoupledActivity& phase : lowered.then) {
    total += play(router, phase);
    last = &phase;
  }
  Duration latest;
  for (const Duration offset : last->completion_offset) {
    latest = std::max(latest, offset);
  }
  return total + latest;
}

/// Plays transfers on an otherwise idle network; a transfer starts when what it comes after has arrived or
/// left.
Duration play(const routing::Router& router, const SteppedTransfers& transfers) {
  network::FlowNetwork flows = network_of(router);
  const std::size_t count = transfers.steps.size();
  std::vector<ShapeId> shapes;
  std::vector<std::size_t> missing(count);
  std::vector<std::vector<std::uint32_t>> when_arrived(count);
  std::vector<std::vector<std::uint32_t>> when_left(count);
  std::multimap<TimePoint, std::uint32_t> starts;
  for (std::uint32_t i = 0; i < count; ++i) {
    const StepTransfer& step = transfers.steps[i];
    network::Shape shape;
    shape.demands = step.demands;
    shape.divisor = step.divisor;
    shapes.push_back(flows.add_shape(shape));
    missing[i] = step.after.size() + step.after_left.size();
    for (const std::uint32_t before : step.after) {
      REQUIRE(before < i);
      when_arrived[before].push_back(i);
    }
    for (const std::uint32_t before : step.after_left) {
      REQUIRE(before < i);
      when_left[before].push_back(i);
    }
    if (missing[i] == 0) {
      starts.emplace(TimePoint::from_start(transfers.latency), i);
    }
  }
  std::vector<TimePoint> ready(count, TimePoint::from_start(transfers.latency));
  TimePoint end;
  std::size_t finished = 0;
  std::vector<network::Completion> done;
  while (finished < count) {
    const TimePoint now =
        std::min(flows.next_completion(), starts.empty() ? TimePoint::never() : starts.begin()->first);
    REQUIRE(now < TimePoint::never());
    done.clear();
    flows.take_completed(now, done);
    for (const network::Completion& completion : done) {
      const StepTransfer& step = transfers.steps[completion.tag];
      end = std::max(end, now + step.latency);
      ++finished;
      const auto release = [&](const std::vector<std::uint32_t>& followers, TimePoint at) {
        for (const std::uint32_t follower : followers) {
          ready[follower] = std::max(ready[follower], at);
          if (--missing[follower] == 0) {
            starts.emplace(ready[follower], follower);
          }
        }
      };
      release(when_left[completion.tag], now);
      release(when_arrived[completion.tag], now + step.latency);
    }
    while (!starts.empty() && starts.begin()->first == now) {
      const std::uint32_t i = starts.begin()->second;
      starts.erase(starts.begin());
      flows.start(shapes[i], transfers.steps[i].work, now, i);
    }
    flows.resolve(now);
  }
  return end.since_start();
}

std::int64_t total_work(const SteppedTransfers& transfers) {
  std::int64_t total = 0;
  for (const StepTransfer& step : transfers.steps) {
    total += step.work;
  }
  return total;
}

}  // namespace

TEST_CASE("the steps of a ring carry every byte exactly", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  // Every chunk is sent n - 1 times by an all-gather or reduce-scatter, twice that by an all-reduce,
  // whatever its size: n - 1 (or 2(n - 1)) times the buffer in all. send_recv: n buffers.
  for (const std::uint32_t members : {2U, 3U, 4U, 8U}) {
    const auto group = first_gpus(members);
    for (const std::int64_t bytes : {1, 4, 1'000, 1'000'003}) {
      const auto total = [&](Kind kind) {
        return total_work(lowering.lower(simple_request(kind, Bytes(bytes)), group, Form::kSteps).stepped);
      };
      const std::int64_t n = members;
      CAPTURE(members, bytes);
      CHECK(total(Kind::kAllReduce) == 2 * (n - 1) * bytes);
      CHECK(total(Kind::kAllGather) == (n - 1) * bytes);
      CHECK(total(Kind::kReduceScatter) == (n - 1) * bytes);
      CHECK(total(Kind::kSendRecv) == n * bytes);
    }
  }
}

TEST_CASE("the first step of a lane waits for nothing, the others for data and the last send",
          "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowered lowered =
      Lowering(router).lower(simple_request(Kind::kAllGather, 4_MiB), first_gpus(4), Form::kSteps);
  const auto& steps = lowered.stepped.steps;
  REQUIRE(steps.size() == 12);  // 4 members, 3 sends each
  CHECK(lowered.stepped.latency == 5_us);
  std::vector<int> sends(4, 0);
  for (const StepTransfer& step : steps) {
    CHECK(step.destination == (step.source + 1) % 4);
    CHECK(step.work == 1'048'576);
    CHECK(step.latency == 10_us);
    if (sends[step.source]++ == 0) {
      CHECK(step.after.empty());
      CHECK(step.after_left.empty());
      continue;
    }
    REQUIRE(step.after.size() == 1);
    CHECK(steps[step.after[0]].destination == step.source);
    REQUIRE(step.after_left.size() == 1);
    CHECK(steps[step.after_left[0]].source == step.source);
  }
}

TEST_CASE("steps on an idle fabric add one hop and one chunk a round", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowered lowered =
      Lowering(router).lower(simple_request(Kind::kAllReduce, Bytes(3'200'000)), first_gpus(4), Form::kSteps);
  // 5 us of launch, 6 rounds of 800,000 B at 80 GB/s (10 us) and a hop of 10 us: 125 us.
  CHECK(play(router, lowered.stepped).ps() == Approx(125'000'000).margin(10));
  CHECK(lowered.idle_time.ps() == Approx(125'000'000).margin(10));
}

TEST_CASE("without latencies steps and coupled activity take the same time", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(without_latency(round_host(4)), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.family != "ring" && algorithm.kind != Kind::kSendRecv) {
      continue;  // only where every hop is busy all the time step by step, too
    }
    if (algorithm.kind == Kind::kBarrier || has_root(algorithm.kind)) {
      continue;
    }
    for (const std::uint32_t members : {2U, 3U, 4U, 8U}) {
      CAPTURE(algorithm.name, members);
      const auto group = first_gpus(members);
      Request request = simple_request(algorithm.kind, Bytes(4'800'000));
      request.algorithm = algorithm.name;
      const Lowered coupled = lowering.lower(request, group, Form::kCoupled);
      const Lowered steps = lowering.lower(request, group, Form::kSteps);
      const Duration expected = play(router, coupled.coupled);
      CHECK(expected.ps() == Approx(coupled.idle_time.ps()).margin(2));
      // Each of the at most 14 steps rounds up to a picosecond.
      CHECK(play(router, steps.stepped).ps() == Approx(expected.ps()).margin(32));
      CHECK(steps.idle_time.ps() == Approx(expected.ps()).margin(32));
    }
  }
}

TEST_CASE("a coupled activity on an idle fabric takes its predicted time", "[collective][lowering]") {
  hardware::HostKind host = round_host(8);
  host.collective.ll_channel_bytes = 4096;
  host.collective.overlap_exponent = 1.65;
  host.collective.last_step_share = 0.4;
  const topology::Cluster cluster = one_leaf(host, 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::int64_t bytes : {1, 4'096, 300'000, 50'000'000}) {
      for (const std::uint32_t members : {2U, 8U, 16U}) {
        CAPTURE(algorithm.name, bytes, members);
        if (algorithm.available != nullptr ||
            (algorithm.fits != nullptr && !algorithm.fits(places_of(router, first_gpus(members))).empty())) {
          continue;
        }
        Request request = simple_request(algorithm.kind, Bytes(bytes));
        request.protocol.reset();
        request.algorithm = algorithm.name;
        const Lowered lowered = lowering.lower(request, first_gpus(members), Form::kCoupled);
        CHECK(play(router, lowered).ps() == Approx(lowered.idle_time.ps()).margin(20));
      }
    }
  }
}
