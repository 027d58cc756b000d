#pragma once

#include <cstdint>
#include <vector>

#include "collective/nccl/cost_table.hpp"
#include "topology/cluster.hpp"

namespace stepcast::collective::nccl {

/// A group on a cluster as NCCL's table sees it. `nodes`: by host, the indices in the host of its members.
[[nodiscard]] Communicator communicator_of(const topology::Cluster& cluster,
                                           const Settings& settings,
                                           const std::vector<std::vector<std::uint32_t>>& nodes);

}  // namespace stepcast::collective::nccl
