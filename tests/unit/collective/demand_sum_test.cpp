#include "collective/demand_sum.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;

namespace {

routing::Hop share(int resource, std::uint32_t numerator, std::uint32_t denominator) {
  return {.resource = ResourceId(resource), .numerator = numerator, .denominator = denominator};
}

routing::Resource of_rate(double bytes_per_second) {
  routing::Resource resource;
  resource.bytes_per_second = bytes_per_second;
  return resource;
}

}  // namespace

TEST_CASE("paths that share a resource add up on it", "[collective]") {
  DemandSum sum;
  sum.add({.hops = {share(0, 1, 1), share(2, 1, 1)}, .latency = {}});
  sum.add({.hops = {share(2, 1, 1), share(1, 1, 1)}, .latency = {}});
  const DemandVector total = sum.total();
  REQUIRE(total.demands.size() == 3);
  CHECK(total.divisor == 1);
  CHECK(total.demands[0].weight == 1);
  CHECK(total.demands[1].weight == 1);
  CHECK(total.demands[2].weight == 2);  // resource 2 carries both
}

TEST_CASE("shares of a byte are summed over their least common denominator", "[collective]") {
  // Resource 0: 1/2 + 1/3 = 5/6; resource 1: 1/2 = 3/6; resource 2: 2/3 = 4/6.
  DemandSum sum;
  sum.add({.hops = {share(0, 1, 2), share(1, 1, 2)}, .latency = {}});
  sum.add({.hops = {share(0, 1, 3), share(2, 2, 3)}, .latency = {}});
  const DemandVector total = sum.total();
  REQUIRE(total.demands.size() == 3);
  CHECK(total.divisor == 6);
  CHECK(total.demands[0].weight == 5);
  CHECK(total.demands[1].weight == 3);
  CHECK(total.demands[2].weight == 4);

  // Alone at 10, 9 and 8 bytes/s: 10 * 6/5 = 12, 9 * 6/3 = 18, 8 * 6/4 = 12 units of progress a second.
  const std::vector<routing::Resource> resources = {of_rate(10), of_rate(9), of_rate(8)};
  CHECK(idle_rate(total, resources) == 12);
}

TEST_CASE("a common factor of all shares is dropped", "[collective]") {
  // 1/2 + 1/2 on resource 0 and again on resource 1: one whole byte each.
  DemandSum sum;
  sum.add({.hops = {share(0, 1, 2), share(1, 1, 2)}, .latency = {}});
  sum.add({.hops = {share(0, 1, 2), share(1, 1, 2)}, .latency = {}});
  const DemandVector total = sum.total();
  CHECK(total.divisor == 1);
  CHECK(total.demands[0].weight == 1);
}

TEST_CASE("shares without a small common denominator are refused", "[collective]") {
  // Three primes near 2^16: their product is near 2^48, more than 32 bits.
  DemandSum sum;
  sum.add({.hops = {share(0, 1, 65521), share(0, 1, 65519), share(0, 1, 65497)}, .latency = {}});
  CHECK_THROWS_AS(sum.total(), InputError);
}

TEST_CASE("no demands have no rate", "[collective]") {
  const DemandVector total = DemandSum().total();
  CHECK(total.demands.empty());
  CHECK(idle_rate(total, {}) == 0);
}
