#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/nccl/communicator.hpp"
#include "collective/nccl/cost_table.hpp"
#include "collective/nccl/settings.hpp"
#include "collective/places.hpp"
#include "topology/cluster.hpp"

// What NCCL would take for a call, and why.
namespace stepcast::collective::nccl {

/// Kinds that have tables: the first five of Kind.
inline constexpr std::size_t kTables = 5;
[[nodiscard]] constexpr bool has_table(Kind kind) {
  return static_cast<std::size_t>(kind) < kTables;
}

/// A group and its tables: all that its choices depend on.
struct GroupCosts {
  Communicator communicator;
  std::array<CostTable, kTables> tables;
};

/// What NVLink switches can do. Source: NCCL src/include/device.h (ncclNvlsSupported).
[[nodiscard]] bool switch_reduces(DataType dtype, Reduction reduction);

struct Choice {
  Family family = Family::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;
  double table_time_us = 0;  ///< by which it was chosen, not a prediction
};

/// Which families and protocols a call may take: those that exist here, and what its hints leave.
struct Offer {
  std::array<bool, kFamilies> families{};
  std::optional<Protocol> protocol;
};

/// A line of the table for one call, for `--explain`.
struct Candidate {
  Family family = Family::kRing;
  Protocol protocol = Protocol::kSimple;
  double latency_us = 0;
  double bandwidth = 0;      ///< GB/s
  double table_time_us = 0;  ///< of the call; infinite when it cannot be used
  std::string reason;        ///< why not, or empty
};

/// The rules on one cluster. Safe to use from several threads.
class Chooser {
 public:
  /// Throws InputError for what the cluster says of NCCL (settings_of). The cluster outlives the chooser.
  explicit Chooser(const topology::Cluster& cluster);

  [[nodiscard]] const Settings& settings() const { return settings_; }

  /// The tables of a group of at least two members; made once for each shape. `local`: index of each member's
  /// GPU in its host.
  [[nodiscard]] std::shared_ptr<const GroupCosts> costs(const Places& places,
                                                        std::span<const std::uint32_t> local) const;

  /// The candidate of the least table time (ties: the first in NCCL's order), or none when the offer and the
  /// table leave nothing. REQUIRES: has_table(kind).
  [[nodiscard]] std::optional<Choice> choose(const GroupCosts& costs,
                                             Kind kind,
                                             Bytes bytes,
                                             DataType dtype,
                                             Reduction reduction,
                                             const Offer& offer) const;

  /// All candidates of a call, in NCCL's order.
  [[nodiscard]] std::vector<Candidate> candidates(
      const GroupCosts& costs, Kind kind, Bytes bytes, DataType dtype, Reduction reduction) const;

 private:
  const topology::Cluster& cluster_;
  Settings settings_;
  HostSymmetry symmetry_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::uint32_t>, std::shared_ptr<const GroupCosts>> known_;
};

}  // namespace stepcast::collective::nccl
