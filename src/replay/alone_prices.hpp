#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "collective/collective.hpp"
#include "program/program.hpp"
#include "routing/router.hpp"
#include "workload/job.hpp"
#include "workload/rank_grid.hpp"

// Internal to replay/: what exchanges cost when each has its links for itself.
namespace stepcast::replay {

/// Sets of groups, or of messages, of one stage: all that meet the same program. Where they are not
/// alike, the slowest is what counts. 0 = groups of one member, which do not communicate.
using PriceSet = std::uint32_t;
inline constexpr PriceSet kNoSet = 0;

/// When both ends of a message are done, after both have arrived.
struct MessageTime {
  std::int64_t sender_ps = 0;
  std::int64_t receiver_ps = 0;
};

/// Prices of exchanges alone on the fabric. What a group or a path looks like is walked once and kept;
/// groups that look the same are one. Faults count where they hold for the whole step.
class AlonePrices {
 public:
  /// Throws UnsupportedError for faults that begin or end within the step. The router must outlive it.
  AlonePrices(const routing::Router& router, Placement placement);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(placement_.size()); }

  [[nodiscard]] PriceSet tensor_groups(const workload::Plan& plan, std::uint32_t stage);
  [[nodiscard]] PriceSet data_groups(const workload::Plan& plan, std::uint32_t stage);
  [[nodiscard]] PriceSet embedding_groups(const workload::Plan& plan);
  /// Messages of a stage to the next one (or the previous).
  [[nodiscard]] PriceSet messages(const workload::Plan& plan, std::uint32_t stage, bool forward);

  /// One activity, from the last arrival to the end of its transfer.
  [[nodiscard]] std::int64_t alone_ps(const collective::CoupledActivity& activity) const;
  /// A collective with all its phases, to the end of its last member.
  [[nodiscard]] std::int64_t alone_ps(const collective::Lowered& lowered) const;
  /// Slowest group of a set: from the last arrival to the end.
  [[nodiscard]] std::int64_t collective_ps(const collective::Request& request, PriceSet set) const;
  [[nodiscard]] MessageTime message_time(Bytes bytes, PriceSet set) const;
  /// All ranks of a stage write `bytes` each to storage 0 at the same time: one demand.
  [[nodiscard]] std::int64_t write_ps(Bytes bytes, const workload::Plan& plan, std::uint32_t stage);
  /// Speed of the slowest GPU of a stage; 1 = no fault.
  [[nodiscard]] double speed(const workload::Plan& plan, std::uint32_t stage) const;

  /// True when all members of the set cost the same, whatever the request.
  [[nodiscard]] bool alike(PriceSet set) const { return sets_[set].size() < 2; }

  // Traffic, for reports. Each adds payload x weight of every group of the stage, `count` times, to
  // `bytes` (by resource) and raises `peak` (highest share of a capacity in use).
  struct Traffic {
    std::vector<double> bytes;
    std::vector<double> peak;
  };
  using Counted = std::pair<collective::Request, double>;
  void add_collectives(const std::vector<Counted>& requests,
                       const std::vector<program::Group>& groups,
                       Traffic& traffic) const;
  void add_messages(Bytes bytes,
                    std::uint32_t first,
                    std::uint32_t ranks,
                    std::int64_t distance,
                    double count,
                    Traffic& traffic) const;
  void add_writes(
      Bytes bytes, std::uint32_t first, std::uint32_t ranks, double count, Traffic& traffic) const;

 private:
  using GroupKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // first, stride, members

  [[nodiscard]] std::vector<GpuId> gpus_of(const program::Group& group) const;
  [[nodiscard]] double rate_now(std::span<const network::Demand> demands, std::uint32_t divisor) const;
  std::uint32_t footprint_of(const program::Group& group);
  std::uint32_t path_of(GpuId from, GpuId to);
  PriceSet set_of(std::vector<std::uint32_t> members);
  void add(const collective::CoupledActivity& activity, double count, Traffic& traffic) const;
  void require_storage(std::uint32_t rank) const;

  const routing::Router& router_;
  Placement placement_;
  collective::Lowering lowering_;
  std::vector<double> capacity_;   // by resource, faults included
  std::map<GpuId, double> speed_;  // of slow GPUs

  struct KnownFootprint {
    collective::Footprint footprint;  // of rings, without demands
    double rate = 0;                  // with faults
  };
  struct KnownPath {
    collective::MessagePath path;
    double rate = 0;
  };
  using FootprintKey = std::array<std::uint64_t, 9>;
  std::vector<KnownFootprint> footprints_;
  std::map<FootprintKey, std::uint32_t> footprints_index_;
  std::map<GroupKey, std::uint32_t> group_footprint_;
  std::vector<KnownPath> paths_;
  std::map<std::array<std::uint64_t, 4>, std::uint32_t> paths_index_;
  std::vector<std::vector<std::uint32_t>> sets_;  // ascending indices into footprints_ or paths_
  std::map<std::vector<std::uint32_t>, PriceSet> sets_index_;
  std::map<std::array<std::uint32_t, 4>, PriceSet> known_sets_;
  struct Write {
    Duration latency;
    double rate = 0;  // bytes/s of each rank
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Write> writes_;
};

}  // namespace stepcast::replay
