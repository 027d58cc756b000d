#pragma once

#include <string>

#include "topology/cluster.hpp"

namespace stepcast::report {

/// The fabric of a cluster: nodes and cables, one a line, with what is degraded for the whole run. Rates are
/// nameplate. `timed_faults` counts faults that begin or end during a run, which no cable shows.
[[nodiscard]] std::string fabric_json(const topology::Cluster& cluster);

}  // namespace stepcast::report
