#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
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
  /// `weight` bytes on the path for each unit of progress.
  void add(const routing::Path& path, std::uint32_t weight = 1);
  /// As add(), where a resource carries one copy of what several paths of one `stream` bring to it: the
  /// largest share among them, not their sum.
  void add_largest(const routing::Path& path, std::uint32_t weight, std::uint32_t stream);
  /// All that another sum holds.
  void add(const DemandSum& other);

  /// Throws InputError when the weights do not fit 32 bits (splits without a common measure).
  [[nodiscard]] DemandVector total() const;

 private:
  struct Share {
    ResourceId resource;
    std::uint32_t denominator = 1;
    std::uint64_t numerator = 0;
  };
  void merge() const;

  mutable std::vector<Share> shares_;  // in any order, repeated; merged when many, and by total()
  mutable std::size_t merge_at_ = std::size_t{1} << 14U;
  mutable std::vector<std::uint32_t> first_share_;  // by resource, of the merged ones; else kNone
  std::map<std::pair<std::uint32_t, ResourceId>, Share> largest_;  // by stream and resource
};

/// Progress per second when nothing else uses the resources; 0 without demands.
[[nodiscard]] double idle_rate(const DemandVector& vector, std::span<const routing::Resource> resources);

}  // namespace stepcast::collective
