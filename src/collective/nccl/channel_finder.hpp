#pragma once

#include "collective/nccl/channel_routes.hpp"
#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {

/// What is asked of the search for one algorithm.
struct GraphRequest {
  Pattern pattern = Pattern::kRing;
  std::uint32_t min_channels = 1;
  std::uint32_t max_channels = 32;
  bool collnet = false;  ///< only NICs that reduce
};

/// The graph of one node for one algorithm; `channels` 0 when there is none (NVLS, CollNet). Other patterns
/// fall back to one channel in the order of the GPUs at 0.1 GB/s.
[[nodiscard]] ChannelGraph find_graph(const NodeShape& shape,
                                      const Routes& routes,
                                      const ChannelSettings& settings,
                                      const GraphRequest& request);

}  // namespace stepcast::collective::nccl
