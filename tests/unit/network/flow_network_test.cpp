#include "network/flow_network.hpp"

#include <limits>

#include "support/catch.hpp"
#include "support/network_driver.hpp"

using namespace stepcast;
using namespace stepcast::support;
using network::Completion;
using network::FlowNetwork;

// Rates and finishes, worked by hand. Capacities are 100 bytes/s unless said otherwise: rates then read as
// percent. 1 s = 1e12 ps.

namespace {
constexpr std::int64_t kSecond = 1'000'000'000'000;
using Finishes = std::map<std::uint64_t, std::int64_t>;
}  // namespace

TEST_CASE("a long flow and the short flows it crosses share every link of a parking lot equally") {
  // Three links of 100; one flow over all of them, one more on each of the first two, three more on
  // the last. The last link has 4 flows: 25 each. The first two then have 100 - 25 = 75 for the other.
  FlowNetwork net;
  const ResourceId a = net.add_resource(100);
  const ResourceId b = net.add_resource(100);
  const ResourceId c = net.add_resource(100);
  const ActivityId whole = net.start(add_shape(net, {over(a), over(b), over(c)}), 1000, at(0), 0);
  const ActivityId on_a = net.start(add_shape(net, {over(a)}), 1000, at(0), 1);
  const ActivityId on_b = net.start(add_shape(net, {over(b)}), 1000, at(0), 2);
  const ShapeId last = add_shape(net, {over(c)});
  const ActivityId on_c = net.start(last, 1000, at(0), 3);
  net.start(last, 1000, at(0), 4);
  net.start(last, 1000, at(0), 5);
  net.resolve(at(0));
  CHECK(net.rate(whole) == 25);
  CHECK(net.rate(on_c) == 25);
  CHECK(net.rate(on_a) == 75);
  CHECK(net.rate(on_b) == 75);
  CHECK(net.load(c) == 100);
  CHECK(net.load(a) == 100);
}

TEST_CASE("an incast over two tiers is limited by the last link, and what it leaves goes to others") {
  // Leaf 1 and leaf 2 have one uplink of 100 each. Four senders of leaf 1 and one of leaf 2 send to
  // one receiver of 100: 20 each. Leaf 1's uplink carries 80; a sixth flow over it takes the other 20:
  // but max-min first: uplink 1 has 5 flows (20 each), the receiver 5 flows (20 each); equal, one round.
  FlowNetwork net;
  const ResourceId up1 = net.add_resource(100);
  const ResourceId up2 = net.add_resource(100);
  const ResourceId receiver = net.add_resource(100);
  const ShapeId near = add_shape(net, {over(up1), over(receiver)});
  std::vector<ActivityId> senders;
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    senders.push_back(net.start(near, 1000, at(0), tag));
  }
  senders.push_back(net.start(add_shape(net, {over(up2), over(receiver)}), 1000, at(0), 4));
  const ActivityId elsewhere = net.start(add_shape(net, {over(up1)}), 1000, at(0), 5);
  const ActivityId alone_on_up2 = net.start(add_shape(net, {over(up2)}), 1000, at(0), 6);
  net.resolve(at(0));
  for (const ActivityId sender : senders) {
    CHECK(net.rate(sender) == 20);
  }
  CHECK(net.rate(elsewhere) == 20);
  CHECK(net.rate(alone_on_up2) == 80);
  CHECK(net.load(up2) == 100);
}

TEST_CASE("a coupled ring runs at its slowest link over the times it crosses it") {
  // Eight links of 100, one of them cut to 60. A ring that crosses each once: 60/1. A ring that
  // crosses the slow one twice: 60/2 = 30. One that crosses a fast one twice: min(100/2, 60) = 50.
  FlowNetwork net;
  std::vector<network::Demand> ring;
  for (int link = 0; link < 8; ++link) {
    ring.push_back(over(net.add_resource(link == 3 ? 60 : 100)));
  }
  std::vector<network::Demand> twice = ring;
  twice.push_back(ring[3]);
  std::vector<network::Demand> fast_twice = ring;
  fast_twice[5].weight = 2;
  CHECK(net.load(ring[3].resource) == 0);
  const auto lone_rate = [&net](const std::vector<network::Demand>& demands) {
    const TimePoint now = net.next_completion() == TimePoint::never() ? at(0) : net.next_completion();
    std::vector<Completion> done;
    net.take_completed(now, done);
    const ActivityId activity = net.start(add_shape(net, demands), 1000, now, 0);
    net.resolve(now);
    return net.rate(activity);
  };
  CHECK(lone_rate(ring) == 60);
  CHECK(lone_rate(twice) == 30);
  CHECK(lone_rate(fast_twice) == 50);
}

TEST_CASE("activities share in proportion to their fairness weights") {
  // phi 1 and 3 on one link: level = 100 / (1 + 3) = 25; rates 25 and 75. 750 bytes at 75: 10 s.
  // The other has moved 250 of 1000 by then and gets all: 750 / 100 = 7.5 s more.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ActivityId light = net.start(add_shape(net, {over(link)}), 1000, at(0), 1);
  const ActivityId heavy = net.start(add_shape(net, {over(link)}, {.fairness = 3}), 750, at(0), 3);
  net.resolve(at(0));
  CHECK(net.rate(light) == 25);
  CHECK(net.rate(heavy) == 75);
  CHECK(run_to_end(net) == Finishes{{3, 10 * kSecond}, {1, 17 * kSecond + kSecond / 2}});
}

TEST_CASE("equal fairness means equal progress, not equal bytes on a link") {
  // Demands of 1 and 3 bytes per unit: (1 + 3) r = 100, r = 25 for both; bytes/s are 25 and 75.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ActivityId once = net.start(add_shape(net, {over(link)}), 1000, at(0), 1);
  const ActivityId thrice = net.start(add_shape(net, {over(link, 3)}), 1000, at(0), 3);
  net.resolve(at(0));
  CHECK(net.rate(once) == 25);
  CHECK(net.rate(thrice) == 25);
  CHECK(net.load(link) == 100);
}

TEST_CASE("a cap below the fair share frees capacity for others; above it, it does nothing") {
  // Three activities on 100: fair share 33.3. A cap of 10 leaves 90 for two: 45 each; a cap of 50 is
  // above 45, so that activity is not limited by it.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ActivityId capped = net.start(add_shape(net, {over(link)}, {.cap = 10}), 1000, at(0), 0);
  const ActivityId loose = net.start(add_shape(net, {over(link)}, {.cap = 50}), 1000, at(0), 1);
  const ActivityId open = net.start(add_shape(net, {over(link)}), 1000, at(0), 2);
  net.resolve(at(0));
  CHECK(net.rate(capped) == 10);
  CHECK(net.rate(loose) == 45);
  CHECK(net.rate(open) == 45);
}

TEST_CASE("a capped activity with a fairness weight runs exactly at its cap") {
  // Level cap/phi = 10/3 is not a double, the rate is: 10. The other one gets 90.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ActivityId capped =
      net.start(add_shape(net, {over(link)}, {.fairness = 3, .cap = 10}), 1000, at(0), 0);
  net.resolve(at(0));
  CHECK(net.rate(capped) == 10);
  const ActivityId open = net.start(add_shape(net, {over(link)}), 1000, at(0), 1);
  net.resolve(at(0));
  CHECK(net.rate(capped) == 10);
  CHECK(net.rate(open) == Approx(90).epsilon(1e-15));
}

TEST_CASE("a capacity that changes during a transfer moves its finish to the exact picosecond") {
  // 1 MB at 50 GB/s would take 20 us. After 4 us 200 kB are done; the link drops to 40 GB/s: the other
  // 800 kB take 20 us. Finish at 24 us; not at 1 ps before.
  FlowNetwork net;
  const ResourceId link = net.add_resource(50e9);
  net.start(add_shape(net, {over(link)}), 1'000'000, at(0), 0);
  net.resolve(at(0));
  CHECK(net.next_completion() == at(20'000'000));
  net.set_capacity(link, 40e9, at(4'000'000));
  net.resolve(at(4'000'000));
  CHECK(net.next_completion() == at(24'000'000));
  std::vector<Completion> done;
  net.take_completed(at(23'999'999), done);
  CHECK(done.empty());
  net.take_completed(at(24'000'000), done);
  REQUIRE(done.size() == 1);
  CHECK(net.running() == 0);
  CHECK(net.bytes(link) == 1'000'000);
}

TEST_CASE("a finish is rounded up to the next picosecond") {
  // 1 byte at 3 bytes/s: 333,333,333,333.3 ps, up. 3 bytes at 3 bytes/s: exactly 1 s, not 1 ps more.
  FlowNetwork net;
  const ResourceId link = net.add_resource(3);
  const ShapeId shape = add_shape(net, {over(link)});
  net.start(shape, 1, at(0), 0);
  net.resolve(at(0));
  CHECK(net.next_completion() == at(333'333'333'334));
  FlowNetwork other;
  const ResourceId same = other.add_resource(3);
  other.start(add_shape(other, {over(same)}), 3, at(0), 0);
  other.resolve(at(0));
  CHECK(other.next_completion() == at(kSecond));
}

TEST_CASE("a rate that is no double still gives the finish that the fraction gives") {
  // 7 flows on 50 GB/s, 1 MB each: 7 MB at 50 GB/s = 140 us, all at once.
  FlowNetwork net;
  const ResourceId link = net.add_resource(50e9);
  const ShapeId shape = add_shape(net, {over(link)});
  for (std::uint64_t tag = 0; tag < 7; ++tag) {
    net.start(shape, 1'000'000, at(0), tag);
  }
  net.resolve(at(0));
  CHECK(net.next_completion() == at(140'000'000));
}

TEST_CASE("one activity with four members on a trunk behaves as four activities") {
  // A trunk of 100 and a fifth activity: 5 shares of 20 each way. 1000 bytes at 20: 50 s.
  FlowNetwork folded;
  const ResourceId trunk = folded.add_resource(100);
  const ActivityId four =
      folded.start(add_shape(folded, {over(trunk, 1, 4)}, {.multiplicity = 4}), 1000, at(0), 0);
  const ActivityId fifth = folded.start(add_shape(folded, {over(trunk)}), 2000, at(0), 1);
  folded.resolve(at(0));

  FlowNetwork unfolded;
  const ResourceId same = unfolded.add_resource(100);
  const ShapeId one = add_shape(unfolded, {over(same)});
  for (int copy = 0; copy < 4; ++copy) {
    unfolded.start(one, 1000, at(0), 0);
  }
  unfolded.start(one, 2000, at(0), 1);
  unfolded.resolve(at(0));

  CHECK(folded.rate(four) == 20);
  CHECK(folded.rate(fifth) == 20);
  const Finishes expected{{0, 50 * kSecond}, {1, 60 * kSecond}};  // the fifth: 1000 left, alone
  CHECK(run_to_end(folded) == expected);
  CHECK(run_to_end(unfolded) == expected);
  CHECK(folded.bytes(trunk) == 6000);
  CHECK(unfolded.bytes(same) == 6000);
}

TEST_CASE("a divisor spreads the bytes of an activity over several links") {
  // Half of the bytes over each of two links of 100: alone 200. With another activity on one link:
  // r/2 + q = 100 there, equal levels r = q: r = 66.67 = 200/3.
  FlowNetwork net;
  const ResourceId a = net.add_resource(100);
  const ResourceId b = net.add_resource(100);
  const ActivityId split = net.start(add_shape(net, {over(a), over(b)}, {.divisor = 2}), 3000, at(0), 0);
  net.resolve(at(0));
  CHECK(net.rate(split) == 200);
  CHECK(net.load(a) == 100);
  const ActivityId whole = net.start(add_shape(net, {over(a)}), 1000, at(0), 1);
  net.resolve(at(0));
  CHECK(net.rate(split) == Approx(200.0 / 3).epsilon(1e-15));
  CHECK(net.rate(whole) == net.rate(split));
  CHECK(net.load(a) == Approx(100).epsilon(1e-15));
  CHECK(net.load(b) == Approx(100.0 / 3).epsilon(1e-15));
  // `whole`: 1000 / (200/3) = 15 s; `split` has 2000 left, then at 200: 10 s more.
  CHECK(run_to_end(net) == Finishes{{1, 15 * kSecond}, {0, 25 * kSecond}});
  CHECK(net.bytes(a) == 2500);  // 3000/2 + 1000
  CHECK(net.bytes(b) == 1500);
}

TEST_CASE("different divisors meet on their least common multiple") {
  // 1/2 r + 1/3 q + p = 110 with r = q = p: r = 110 / (11/6) = 60.
  FlowNetwork net;
  const ResourceId link = net.add_resource(110);
  const ActivityId half = net.start(add_shape(net, {over(link)}, {.divisor = 2}), 600, at(0), 0);
  const ActivityId third = net.start(add_shape(net, {over(link)}, {.divisor = 3}), 600, at(0), 1);
  const ActivityId whole = net.start(add_shape(net, {over(link)}), 600, at(0), 2);
  net.resolve(at(0));
  CHECK(net.rate(half) == 60);
  CHECK(net.rate(third) == 60);
  CHECK(net.rate(whole) == 60);
  CHECK(run_to_end(net) == Finishes{{0, 10 * kSecond}, {1, 10 * kSecond}, {2, 10 * kSecond}});
  CHECK(net.bytes(link) == 600 / 2 + 600 / 3 + 600);
}

TEST_CASE("bytes that a divisor does not divide are rounded down once, not per activity") {
  // Three activities of 1 unit, a third of a byte each: 1 byte. Two of them: 2/3, down to 0.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ShapeId third = add_shape(net, {over(link)}, {.divisor = 3});
  net.start(third, 1, at(0), 0);
  net.start(third, 1, at(0), 1);
  net.resolve(at(0));
  std::vector<Completion> done;
  const TimePoint first = net.next_completion();
  net.take_completed(first, done);
  CHECK(done.size() == 2);
  CHECK(net.bytes(link) == 0);
  net.start(third, 1, first, 2);
  net.resolve(first);
  net.take_completed(net.next_completion(), done);
  CHECK(net.bytes(link) == 1);
}

TEST_CASE("no work is done at once, whatever the rate") {
  FlowNetwork net;
  const ResourceId down = net.add_resource(0);
  const ResourceId link = net.add_resource(100);
  net.start(add_shape(net, {over(link)}), 0, at(5), 7);
  net.start(add_shape(net, {over(down)}), 0, at(5), 8);
  net.resolve(at(5));
  CHECK(net.next_completion() == at(5));
  CHECK(net.stalled().empty());
  std::vector<Completion> done;
  net.take_completed(at(5), done);
  REQUIRE(done.size() == 2);
  CHECK(done[0].tag == 7);
  CHECK(done[1].tag == 8);
}

TEST_CASE("an activity without demands finishes at once, or runs at its cap") {
  // 1000 units at a cap of 250 per second: 4 s.
  FlowNetwork net;
  const ActivityId free = net.start(add_shape(net, {}), 1000, at(3), 0);
  net.resolve(at(3));
  CHECK(net.rate(free) == std::numeric_limits<double>::infinity());
  CHECK(net.next_completion() == at(3));
  std::vector<Completion> done;
  net.take_completed(at(3), done);
  const ActivityId capped = net.start(add_shape(net, {}, {.cap = 250}), 1000, at(3), 1);
  net.resolve(at(3));
  CHECK(net.rate(capped) == 250);
  CHECK(net.next_completion() == at(3 + 4 * kSecond));
}

TEST_CASE("a link that is down stalls what crosses it until it is restored") {
  // 1000 bytes: 4 s at 100, down for 10 s, then 600 bytes at 50: 12 s. Finish at 26 s. The other
  // activity (100 bytes/s on a link of its own, 2000 bytes) does not notice: 20 s.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ResourceId own = net.add_resource(100);
  const ActivityId stopped = net.start(add_shape(net, {over(link)}), 1000, at(0), 0);
  net.start(add_shape(net, {over(own)}), 2000, at(0), 1);
  net.resolve(at(0));
  net.set_capacity(link, 0, at(4 * kSecond));
  net.resolve(at(4 * kSecond));
  CHECK(net.rate(stopped) == 0);
  CHECK(net.stalled() == std::vector{stopped});
  CHECK(net.next_completion() == at(20 * kSecond));
  net.set_capacity(link, 50, at(14 * kSecond));
  net.resolve(at(14 * kSecond));
  CHECK(net.stalled().empty());
  CHECK(run_to_end(net) == Finishes{{1, 20 * kSecond}, {0, 26 * kSecond}});
}

TEST_CASE("when all that runs is stalled there is no next completion") {
  FlowNetwork net;
  const ResourceId link = net.add_resource(0);
  const ShapeId shape = add_shape(net, {over(link)});
  const ActivityId first = net.start(shape, 1, at(0), 0);
  const ActivityId second = net.start(shape, 1, at(0), 1);
  net.resolve(at(0));
  CHECK(net.next_completion() == TimePoint::never());
  CHECK(net.stalled() == std::vector{first, second});
  CHECK(net.peak_utilisation(link) == 0);
}

TEST_CASE("a finish beyond the range of time is reported as stalled, not as a wrapped time") {
  // 9e18 bytes at 1 byte/s are 9e18 s; the range of time is 9.2e6 s.
  FlowNetwork net;
  const ResourceId link = net.add_resource(1);
  const ActivityId slow = net.start(add_shape(net, {over(link)}), 9'000'000'000'000'000'000, at(0), 0);
  net.resolve(at(0));
  CHECK(net.next_completion() == TimePoint::never());
  CHECK(net.stalled() == std::vector{slow});
}

TEST_CASE("activities that arrive and leave change what others get, exactly") {
  // One link of 100. A: 1000 bytes from 0 s. B: 200 bytes from 2 s. C: 600 bytes from 4 s.
  //  0..2 s  A alone: 200 done, 800 left.
  //  2..4 s  A, B at 50: A 700 left, B 100 left.
  //  4..?    A, B, C at 100/3: B's 100 take 3 s -> 7 s; A 600 left, C 500 left.
  //  7..?    A, C at 50: C's 500 take 10 s -> 17 s; A 100 left.
  // 17..18 s A alone: done at 18 s.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ShapeId shape = add_shape(net, {over(link)});
  net.start(shape, 1000, at(0), 0);
  net.resolve(at(0));
  CHECK(net.next_completion() == at(10 * kSecond));
  net.start(shape, 200, at(2 * kSecond), 1);
  net.resolve(at(2 * kSecond));
  CHECK(net.next_completion() == at(6 * kSecond));
  net.start(shape, 600, at(4 * kSecond), 2);
  net.resolve(at(4 * kSecond));
  CHECK(run_to_end(net) == Finishes{{1, 7 * kSecond}, {2, 17 * kSecond}, {0, 18 * kSecond}});
  CHECK(net.bytes(link) == 1800);
  CHECK(net.running() == 0);
  CHECK(net.load(link) == 0);
}
