#pragma once

#include <cstdint>
#include <vector>

#include "collective/nccl/cost_table.hpp"
#include "topology/cluster.hpp"

namespace stepcast::collective::nccl {

/// GPUs of a host that stand alike: with equal numbers of GPUs and NICs on every PCIe leaf, and of leaves on
/// every processor, leaves and processors can change places, and the search finds as much.
class HostSymmetry {
 public:
  explicit HostSymmetry(const topology::Cluster& cluster);
  /// Members of a host as the first GPUs that stand to each other as they do, ascending.
  [[nodiscard]] std::vector<std::uint32_t> canonical(std::vector<std::uint32_t> members) const;

 private:
  std::uint32_t leaf_ = 0;       // GPUs of a leaf; 0 = no symmetry
  std::uint32_t processor_ = 0;  // GPUs of a processor
};

/// A group on a cluster as NCCL's table sees it. `nodes`: by host, the indices in the host of its members,
/// ascending (HostSymmetry).
[[nodiscard]] Communicator communicator_of(const topology::Cluster& cluster,
                                           const Settings& settings,
                                           const std::vector<std::vector<std::uint32_t>>& nodes);

}  // namespace stepcast::collective::nccl
