#include "collective/demand_sum.hpp"

#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "base/error.hpp"

namespace stepcast::collective {
namespace {

constexpr std::uint64_t kMostWeight = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void refuse() {
  throw InputError(
      "the paths of one collective split into shares without a small common denominator; "
      "use the routing policy \"ecmp\" or make the fabric more regular");
}

}  // namespace

void DemandSum::add(const routing::Path& path) {
  for (const routing::Hop& hop : path.hops) {
    STEPCAST_CHECK(hop.numerator > 0 && hop.denominator > 0, "share {}/{}", hop.numerator, hop.denominator);
    numerators_[{hop.resource, hop.denominator}] += hop.numerator;
  }
}

DemandVector DemandSum::total() const {
  std::uint64_t divisor = 1;
  for (const auto& [key, numerator] : numerators_) {
    divisor = std::lcm(divisor, std::uint64_t{key.second});
    if (divisor > kMostWeight) {
      refuse();
    }
  }
  std::map<ResourceId, std::uint64_t> weights;
  std::uint64_t common = divisor;
  for (const auto& [key, numerator] : numerators_) {
    const std::uint64_t scale = divisor / key.second;
    if (numerator > kMostWeight / scale) {
      refuse();
    }
    weights[key.first] += numerator * scale;
  }
  for (const auto& [resource, weight] : weights) {
    common = std::gcd(common, weight);
  }
  DemandVector vector;
  vector.divisor = static_cast<std::uint32_t>(divisor / common);
  vector.demands.reserve(weights.size());
  for (const auto& [resource, weight] : weights) {
    if (weight / common > kMostWeight) {
      refuse();
    }
    vector.demands.push_back({.resource = resource, .weight = static_cast<std::uint32_t>(weight / common)});
  }
  return vector;
}

double idle_rate(const DemandVector& vector, std::span<const routing::Resource> resources) {
  double rate = 0;
  for (const network::Demand& demand : vector.demands) {
    const double capacity = resources[demand.resource.index()].bytes_per_second;
    STEPCAST_CHECK(capacity > 0, "resource {} without capacity", demand.resource.index());
    const double level = capacity * vector.divisor / demand.weight;
    rate = rate == 0 || level < rate ? level : rate;
  }
  return rate;
}

}  // namespace stepcast::collective
