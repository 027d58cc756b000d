#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "network/flow_network.hpp"
#include "support/catch.hpp"
#include "support/network_driver.hpp"

using namespace stepcast;
using namespace stepcast::support;
using network::Completion;
using network::FlowNetwork;

// What the network counts, orders and refuses. Capacities are 100 bytes/s unless said otherwise: rates then
// read as percent. 1 s = 1e12 ps.

namespace {
constexpr std::int64_t kSecond = 1'000'000'000'000;
using Finishes = std::map<std::uint64_t, std::int64_t>;
}  // namespace

TEST_CASE("completions of one picosecond come in order of start, with their tags") {
  FlowNetwork net;
  std::vector<ShapeId> shapes;
  for (int link = 0; link < 20; ++link) {
    shapes.push_back(add_shape(net, {over(net.add_resource(100))}));
  }
  for (std::uint64_t tag = 0; tag < 20; ++tag) {
    net.start(shapes[(tag * 7) % 20], 100, at(0), 100 + tag);
  }
  net.resolve(at(0));
  std::vector<Completion> done;
  net.take_completed(at(kSecond), done);
  REQUIRE(done.size() == 20);
  for (std::uint64_t tag = 0; tag < 20; ++tag) {
    CHECK(done[tag].tag == 100 + tag);
  }
}

TEST_CASE("the peak of a resource is its highest load over its capacity at that time") {
  // Cap 30 alone: 30 %. Two of them: 60 %. Capacity doubled: the peak stays 60 %. Then capacity 40
  // with one left: min(30, 40) / 40 = 75 %.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  const ResourceId wide = net.add_resource(1000);
  const ShapeId shape = add_shape(net, {over(link), over(wide)}, {.cap = 30});
  CHECK(net.peak_utilisation(link) == 0);
  net.start(shape, 300, at(0), 0);
  net.resolve(at(0));
  CHECK(net.peak_utilisation(link) == Approx(0.3).epsilon(1e-15));
  net.start(shape, 600, at(0), 1);
  net.resolve(at(0));
  CHECK(net.peak_utilisation(link) == Approx(0.6).epsilon(1e-15));
  net.set_capacity(link, 200, at(kSecond));
  net.resolve(at(kSecond));
  CHECK(net.peak_utilisation(link) == Approx(0.6).epsilon(1e-15));
  std::vector<Completion> done;
  net.take_completed(at(10 * kSecond), done);
  CHECK(done.size() == 1);
  net.set_capacity(link, 40, at(10 * kSecond));
  net.resolve(at(10 * kSecond));
  CHECK(net.peak_utilisation(link) == Approx(0.75).epsilon(1e-15));
  CHECK(net.peak_utilisation(wide) == Approx(0.06).epsilon(1e-15));
}

TEST_CASE("a peak belongs to the capacity at which it was reached") {
  // 30 on 100: 30 %. With 200 from 1 s on, 30 on 200 is less. Nothing runs when the capacity drops to
  // 40: what moved before was never 75 % of it.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  net.start(add_shape(net, {over(link)}, {.cap = 30}), 300, at(0), 0);
  net.resolve(at(0));
  net.set_capacity(link, 200, at(kSecond));
  net.resolve(at(kSecond));
  CHECK(net.peak_utilisation(link) == Approx(0.3).epsilon(1e-15));
  CHECK(run_to_end(net) == Finishes{{0, 10 * kSecond}});
  net.set_capacity(link, 40, at(11 * kSecond));
  net.resolve(at(11 * kSecond));
  CHECK(net.peak_utilisation(link) == Approx(0.3).epsilon(1e-15));
}

TEST_CASE("rounding never gives a later round a lower level") {
  // An activity of weight w stops at a cap one double below the fair level c/W. In real numbers the
  // other one, of weight W - w, then gets more than the cap; in doubles (c - w x cap) / (W - w) is less
  // than the cap for these values. The rule that a level below the last one is set to it holds it up.
  struct Case {
    double capacity;
    std::uint32_t all;
    std::uint32_t capped;
  };
  for (const Case& values : {Case{17, 25, 24}, Case{71, 18, 17}, Case{77, 23, 20}, Case{151, 19, 17}}) {
    FlowNetwork net;
    const ResourceId link = net.add_resource(values.capacity);
    const double cap = std::nextafter(values.capacity / values.all, 0.0);
    REQUIRE((values.capacity - values.capped * cap) / (values.all - values.capped) < cap);
    const ActivityId first =
        net.start(add_shape(net, {over(link, values.capped)}, {.cap = cap}), 1, at(0), 0);
    const ActivityId other = net.start(add_shape(net, {over(link, values.all - values.capped)}), 1, at(0), 1);
    net.resolve(at(0));
    CHECK(net.rate(first) == cap);
    CHECK(net.rate(other) == cap);
  }
}

TEST_CASE("a capacity that nobody uses just changes") {
  FlowNetwork net;
  const ResourceId link = net.add_resource(100, 6);
  net.set_capacity(link, 7, at(9));
  net.resolve(at(9));
  CHECK(net.capacity(link) == 7);
  CHECK(net.multiplicity(link) == 6);
  CHECK(net.resolves() == 0);
  CHECK(net.solved_activities() == 0);
}

TEST_CASE("only the component of what changed is solved again") {
  FlowNetwork net;
  const ShapeId left = add_shape(net, {over(net.add_resource(100))});
  const ShapeId right = add_shape(net, {over(net.add_resource(100))});
  net.start(left, 1000, at(0), 0);
  net.start(left, 1000, at(0), 1);
  net.resolve(at(0));
  CHECK(net.solved_activities() == 2);
  net.start(right, 1000, at(1), 2);
  net.resolve(at(1));
  CHECK(net.solved_activities() == 3);
  CHECK(net.resolves() == 2);
}

TEST_CASE("integer weights beyond 64 bits are refused, alone and in sums") {
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();
  CHECK_THROWS_AS(add_shape(net, {over(link, kLargest, kLargest)}), InputError);
  // 2^62 fits; two of them make 2^63, which does not.
  const ShapeId large = add_shape(net, {over(link, 1U << 31, 1U << 31)});
  net.start(large, 1, at(0), 0);
  net.resolve(at(0));
  net.start(large, 1, at(0), 1);
  CHECK_THROWS_AS(net.resolve(at(0)), InputError);
}

TEST_CASE("divisors without a common multiple in 64 bits are refused") {
  // Three primes near 2^32: their product needs 96 bits.
  FlowNetwork net;
  const ResourceId link = net.add_resource(100);
  for (const std::uint32_t prime : {4294967291U, 4294967279U, 4294967231U}) {
    net.start(add_shape(net, {over(link)}, {.divisor = prime}), 1, at(0), 0);
  }
  CHECK_THROWS_AS(net.resolve(at(0)), InputError);
}

TEST_CASE("misuse of the network's time is a defect") {
  FlowNetwork net;
  const ShapeId shape = add_shape(net, {over(net.add_resource(100))});
  net.start(shape, 100, at(10), 0);
  CHECK_THROWS_AS(net.next_completion(), InternalError);
  CHECK_THROWS_AS(net.resolve(at(11)), InternalError);
  net.resolve(at(10));
  CHECK_THROWS_AS(net.start(shape, 1, at(9), 1), InternalError);
  CHECK_THROWS_AS(net.resolve(at(2 * kSecond)), InternalError);  // finished at 1 s + 10 ps
  CHECK_THROWS_AS(net.rate(ActivityId{5}), InternalError);
}
