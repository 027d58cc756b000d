#include "collective/demand_sum.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace stepcast::collective {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostWeight = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void refuse() {
  throw InputError(
      "the paths of one collective split into shares without a small common denominator; "
      "use the routing policy \"ecmp\" or make the fabric more regular");
}

}  // namespace

void DemandSum::add(const routing::Path& path, std::uint32_t weight) {
  if (shares_.empty()) {
    shares_.reserve(path.hops.size());
  }
  for (const routing::Hop& hop : path.hops) {
    STEPCAST_CHECK(hop.numerator > 0 && hop.denominator > 0, "share {}/{}", hop.numerator, hop.denominator);
    // Of many paths nearly all find a share of their resource.
    if (hop.resource.index() < first_share_.size() && first_share_[hop.resource.index()] != kNone) {
      Share& known = shares_[first_share_[hop.resource.index()]];
      if (known.denominator == hop.denominator) {
        known.numerator += std::uint64_t{hop.numerator} * weight;
        continue;
      }
    }
    shares_.push_back({hop.resource, hop.denominator, std::uint64_t{hop.numerator} * weight});
  }
  if (shares_.size() > merge_at_) {
    merge();  // all-to-all among many: the paths are many more than the resources
    merge_at_ = std::max(merge_at_, 2 * shares_.size());
    first_share_.assign(shares_.empty() ? 0 : shares_.back().resource.index() + 1, kNone);
    for (std::size_t i = shares_.size(); i-- > 0;) {
      first_share_[shares_[i].resource.index()] = static_cast<std::uint32_t>(i);
    }
  }
}

void DemandSum::add_largest(const routing::Path& path, std::uint32_t weight, std::uint32_t stream) {
  for (const routing::Hop& hop : path.hops) {
    const Share share{hop.resource, hop.denominator, std::uint64_t{hop.numerator} * weight};
    Share& known = largest_.try_emplace({stream, hop.resource}, share).first->second;
    if (Int128{share.numerator} * known.denominator > Int128{known.numerator} * share.denominator) {
      known = share;
    }
  }
}

void DemandSum::add(const DemandSum& other) {
  shares_.insert(shares_.end(), other.shares_.begin(), other.shares_.end());
  for (const auto& [key, share] : other.largest_) {
    shares_.push_back(share);
  }
}

void DemandSum::merge() const {
  std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
    return a.resource != b.resource ? a.resource < b.resource : a.denominator < b.denominator;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (kept > 0 && shares_[kept - 1].resource == shares_[i].resource &&
        shares_[kept - 1].denominator == shares_[i].denominator) {
      shares_[kept - 1].numerator += shares_[i].numerator;
    } else {
      shares_[kept++] = shares_[i];
    }
  }
  shares_.resize(kept);
  first_share_.clear();  // places have changed
}

DemandVector DemandSum::total() const {
  merge();
  std::uint64_t divisor = 1;
  std::uint32_t last = 1;
  for (const Share& share : shares_) {
    if (share.denominator != last) {
      last = share.denominator;
      divisor = std::lcm(divisor, std::uint64_t{last});
    }
    if (divisor > kMostWeight) {
      refuse();
    }
  }
  std::vector<std::pair<ResourceId, std::uint64_t>> weights;
  weights.reserve(shares_.size());
  std::uint64_t common = divisor;
  for (const Share& share : shares_) {
    const std::uint64_t scale = divisor / share.denominator;
    if (share.numerator > kMostWeight / scale) {
      refuse();
    }
    if (weights.empty() || weights.back().first != share.resource) {
      weights.emplace_back(share.resource, 0);
    }
    weights.back().second += share.numerator * scale;
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
