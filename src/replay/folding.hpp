#pragma once

#include <cstdint>
#include <vector>

#include "replay/partition.hpp"
#include "replay/sites.hpp"

namespace stepcast::replay {

/// Members of classes that differ from the representative of their class.
struct AuditFindings {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> sites;
  std::vector<std::uint32_t> resources;
  [[nodiscard]] bool passed() const { return ranks.empty() && sites.empty() && resources.empty(); }
};

/// Proves that a partition is equitable, in exact counts, in time linear in the sizes of the sites (up
/// to sorting short lists): every rank has, by role, the same sites as its class; every site the same
/// prices, the same members by class and role, and the same weights on the same classes of resources;
/// every resource the same capacity, faults and weights of the same classes of sites. Then equal bytes
/// cross every link of a class, and what happens to one member happens to all (design 2.2).
[[nodiscard]] AuditFindings audit(const Sites& sites, const Partition& partition);

/// The coarsest equitable partition: colours of ranks, sites and resources are refined together (1-WL,
/// by sums of hashes) until no class splits, then audited. Members that fail the audit (colliding
/// hashes) are split off and the rest is refined again; the result says so.
[[nodiscard]] Partition fold(const Sites& sites);

/// Splits what an audit found off its classes and refines again, until the audit passes.
[[nodiscard]] Partition repair(const Sites& sites, Partition partition);

}  // namespace stepcast::replay
