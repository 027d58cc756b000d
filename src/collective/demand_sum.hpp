#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow_network.hpp"
#include "routing/router.hpp"

namespace stepcast::collective {

/// Integer demands of an activity, in units of 1 / divisor bytes per unit of progress.
struct DemandVector {
  std::vector<network::Demand> demands;  ///< by resource, one entry each
  std::uint32_t divisor = 1;
};

/// Adds up paths that are used at the same time at the same rate: one byte on every path is one unit
/// of progress. Shares of a byte are summed exactly, over the least common denominator.
class DemandSum {
 public:
  void add(const routing::Path& path);

  /// Throws InputError when the weights do not fit 32 bits (splits without a common measure).
  [[nodiscard]] DemandVector total() const;

 private:
  struct Share {
    ResourceId resource;
    std::uint32_t denominator = 1;
    std::uint64_t numerator = 0;
  };
  mutable std::vector<Share> shares_;  // in any order, repeated; total() sorts and merges
};

/// Progress per second when nothing else uses the resources; 0 without demands.
[[nodiscard]] double idle_rate(const DemandVector& vector, std::span<const routing::Resource> resources);

}  // namespace stepcast::collective
