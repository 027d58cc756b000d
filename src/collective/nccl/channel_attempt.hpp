#pragma once

#include <cstdint>

#include "collective/nccl/channel_routes.hpp"
#include "collective/nccl/channel_search.hpp"

namespace stepcast::collective::nccl {

// Versions from which the search behaves as said (README.md, "Sources").
constexpr std::uint32_t kNeighboursFirst =
    nccl_version(2, 20, 0);  ///< over NVSwitch only neighbours are tried
constexpr std::uint32_t kPairsExchangeNics = nccl_version(2, 20, 0);

/// What one attempt may use.
struct Terms {
  Pattern pattern = Pattern::kRing;
  std::uint32_t min_channels = 1;
  std::uint32_t max_channels = 32;
  bool same_channels = true;
  std::uint32_t cross_nic = 0;
  PathType intra = PathType::kNvl;
  PathType inter = PathType::kPix;
  double intra_gb_per_s = 0;
  double inter_gb_per_s = 0;
};

struct AttemptResult {
  bool full = false;     ///< as many channels as the terms allow
  bool ran_out = false;  ///< the search was cut short
};

/// As many channels as fit under `terms`, depth first; `best` is replaced by what is better than it.
AttemptResult attempt_channels(const NodeShape& shape,
                               const Routes& routes,
                               const ChannelSettings& settings,
                               bool collnet,
                               const Terms& terms,
                               ChannelGraph& best);

}  // namespace stepcast::collective::nccl
