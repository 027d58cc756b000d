#pragma once

#include <vector>

#include "collective/algorithm.hpp"
#include "collective/collective.hpp"
#include "collective/nccl/settings.hpp"
#include "collective/price.hpp"

// Internal to collective/: an algorithm on a footprint, phase by phase, in a protocol.
namespace stepcast::collective {

/// All phases in one protocol: the launch is part of the first.
struct PricedPhases {
  Protocol protocol = Protocol::kLl;
  std::vector<Price> phases;
  Duration idle_time;
};

/// Prices the phases in the protocol that the algorithm needs or the request asks for, else in the one with
/// the least time on an idle fabric (ties: the first), and an all-to-all inside a host as NCCL sends it.
/// `steady`: one entry for each phase of the footprint.
[[nodiscard]] PricedPhases price_phases(const Algorithm& algorithm,
                                        const Request& request,
                                        const Footprint& footprint,
                                        const std::vector<SteadyState>& steady,
                                        const hardware::HostKind& host,
                                        nccl::Version version);

}  // namespace stepcast::collective
