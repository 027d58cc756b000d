#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.hpp"
#include "replay/sites.hpp"

namespace stepcast::replay {

/// Things numbered from 0, put into classes. Classes are numbered by their first member, which is
/// their representative.
struct Classes {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::vector<std::uint32_t> of;              ///< class by member; kNone = takes no part
  std::vector<std::uint32_t> representative;  ///< first member by class
  std::vector<std::uint32_t> size;            ///< members by class
  [[nodiscard]] std::size_t count() const { return representative.size(); }
};

/// Numbers the classes of things with equal colours; things with `skip` set take no part.
[[nodiscard]] Classes classes_of(const std::vector<std::uint64_t>& colours,
                                 const std::vector<bool>& skip = {});

/// Classes of ranks that behave the same, of sites (groups, message channels, storage accesses) and of
/// resources (design 2.2). The executor runs one representative of each, with multiplicities. Exact
/// only when equitable: `audit` proves it.
struct Partition {
  Classes ranks;
  Classes sites;
  Classes resources;  ///< resources that no site uses take no part
  /// What folding did, for the report: "passed", "passed after 1 split", "off", ...
  std::string audit;
};

/// One class per rank, site and resource: nothing is folded.
[[nodiscard]] Partition identity_partition(const Sites& sites);

}  // namespace stepcast::replay
