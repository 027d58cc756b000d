#include "collective/price.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::literals;

namespace {

hardware::CollectiveConstants constants() {
  hardware::CollectiveConstants made;
  made.launch = 5_us;
  made.hop_ll = 1_us;
  made.hop_ll128 = 2_us;
  made.hop_simple = 30_us;
  made.net_hop_ll = 3_us;
  made.net_hop_ll128 = 4_us;
  made.net_hop_simple = 50_us;
  made.efficiency_ll = 0.5;
  made.efficiency_ll128 = 0.8;
  made.overlap_exponent = 2;
  return made;
}

Passage passage_of(std::int64_t steps, std::int64_t network_steps, std::int64_t work, double rate) {
  Passage passage;
  passage.steps = steps;
  passage.network_steps = network_steps;
  passage.work = work;
  passage.rate = rate;
  return passage;
}

}  // namespace

TEST_CASE("LL adds its hops and sends twice the bytes", "[collective]") {
  // 6 hops of 1 us and 2 of 3 us, launch 5 us: 17 us. 1,000,000 B / 0.5 = 2,000,000 B at 80 GB/s: 25 us.
  const Passage passage = passage_of(8, 2, 1'000'000, 80e9);
  const Price ll = price(Protocol::kLl, constants(), passage);
  CHECK(ll.latency == 17_us);
  CHECK(ll.work == 2'000'000);
  CHECK(ll.cap == 0);
  CHECK(ll.idle_time == 42_us);
}

TEST_CASE("LL128 sends a quarter more bytes when 0.8 of the wire is useful", "[collective]") {
  // 5 + 8 * 2 = 21 us; 1,000,000 / 0.8 = 1,250,000 B at 50 GB/s: 25 us.
  const Passage passage = passage_of(8, 0, 1'000'000, 50e9);
  const Price ll128 = price(Protocol::kLl128, constants(), passage);
  CHECK(ll128.latency == 21_us);
  CHECK(ll128.work == 1'250'000);
  CHECK(ll128.idle_time == 46_us);
}

TEST_CASE("Simple hides hops behind transfer", "[collective]") {
  // Two hops of 30 us = 60 us, 6.4 MB at 80 GB/s = 80 us, p = 2: sqrt(60^2 + 80^2) = 100 us, and
  // 5 us of launch. 105 - 80 = 25 us come before the transfer.
  const Passage passage = passage_of(2, 0, 6'400'000, 80e9);
  const Price simple = price(Protocol::kSimple, constants(), passage);
  CHECK(simple.work == 6'400'000);
  CHECK(simple.idle_time.ps() == Approx((105_us).ps()).margin(2));
  CHECK(simple.latency.ps() == Approx((25_us).ps()).margin(2));
}

TEST_CASE("the exposed last step makes LL128 and Simple longer by kappa / k", "[collective]") {
  hardware::CollectiveConstants exposed = constants();
  exposed.last_step_share = 0.5;
  Passage passage = passage_of(2, 0, 1'000'000, 80e9);
  passage.last_step_exposed = true;
  CHECK(price(Protocol::kSimple, exposed, passage).work == 1'250'000);  // 1 + 0.5 / 2
  CHECK(price(Protocol::kLl128, exposed, passage).work == 1'562'500);   // 1.25 / 0.8
  CHECK(price(Protocol::kLl, exposed, passage).work == 2'000'000);
  passage.last_step_exposed = false;
  CHECK(price(Protocol::kSimple, exposed, passage).work == 1'000'000);
}

TEST_CASE("no hop is faster than light takes for its path", "[collective]") {
  CHECK(hop_latency(Protocol::kLl, constants(), false, 400_ns) == 1_us);
  CHECK(hop_latency(Protocol::kLl, constants(), true, 100_us) == 100_us);
}

TEST_CASE("small LL collectives add channels in proportion to their bytes", "[collective]") {
  // A channel moves 4 GB/s of payload, 8 of them 32 GB/s of payload: the hop's 32 GB/s on the wire are 16 of
  // payload, so four channels fill it. A channel is full at 4,000 B a hop: 1 us.
  Passage passage = passage_of(1, 0, 2'000, 32e9);
  passage.channel_rate = 4e9;
  passage.channel_payload = 4'000;
  // Half a channel: 2,000 B at 4 GB/s = 0.5 us after 6 us.
  CHECK(price(Protocol::kLl, constants(), passage).idle_time.ps() == Approx(6'500'000).margin(1));
  for (const std::int64_t flat : {4'000, 7'000, 12'001, 16'000}) {
    passage.work = flat;  // one to four channels: always 1 us
    CAPTURE(flat);
    CHECK(price(Protocol::kLl, constants(), passage).idle_time.ps() == Approx(7'000'000).margin(1));
  }
  passage.work = 32'000;  // beyond four channels: 64,000 B at 32 GB/s = 2 us
  const Price full = price(Protocol::kLl, constants(), passage);
  CHECK(full.cap == 0);
  CHECK(full.idle_time.ps() == Approx(8'000'000).margin(1));
  // The ramp is one of LL; a ceiling limits every protocol: 32,000 B at 16 GB/s = 2 us.
  passage.channel_ceiling = 16e9;
  const Price limited = price(Protocol::kSimple, constants(), passage);
  CHECK(limited.cap == 16e9);
  // sqrt(30^2 + 2^2) = 30.066593 us, and 5 us of launch.
  CHECK(limited.idle_time.seconds() == Approx(35.066593e-6));
}

TEST_CASE("no bytes take the latency only", "[collective]") {
  const Passage passage = passage_of(2, 0, 0, 80e9);
  CHECK(price(Protocol::kLl, constants(), passage).idle_time == 7_us);
  CHECK(price(Protocol::kSimple, constants(), passage).idle_time == 65_us);
}

TEST_CASE("a transfer longer than a simulation is the user's mistake", "[collective]") {
  CHECK_THROWS_AS(wire_time(std::int64_t{1} << 62, 1.0), UnsupportedError);
  CHECK(wire_time(1'000, 3e9) == Duration::from_ps(333'334));  // 1000 / 3e9 s, rounded up
}
