#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "replay/simulation.hpp"

// What a run leaves behind: times, traffic and recorded operations, of all ranks.
namespace stepcast::replay {

Timeline Simulation::collect() {
  Timeline timeline;
  timeline.finish = finish_;
  for (std::uint32_t cls = 0; cls < finish_.size(); ++cls) {
    if (!timeline.last_class.valid() || finish_[ClassId{cls}] > timeline.end) {
      timeline.end = finish_[ClassId{cls}];
      timeline.last_class = ClassId{cls};
    }
  }
  timeline.busy.resize(finish_.size());
  for (std::uint32_t cls = 0; cls < finish_.size(); ++cls) {
    timeline.busy[ClassId{cls}] = Duration::from_ps(accounting_.busy(cls));
  }
  if (timeline.last_class.valid()) {
    const auto& spent = accounting_.close(timeline.last_class.index(), timeline.end.ps());
    const auto& path = path_of(timeline.last_class.index());
    for (std::size_t i = 0; i < kActivities; ++i) {
      timeline.breakdown[i] = Duration::from_ps(spent[i]);
    }
    for (std::size_t i = 0; i < kPathParts; ++i) {
      timeline.critical_path[i] = Duration::from_ps(path[i]);
    }
  }
  timeline.tiers = tier_use(timeline.end);
  timeline.communication = communication();
  if (options_.record_resources) {
    for (const std::uint32_t cls : wiring_.resource_class) {
      timeline.resource_bytes.push_back(cls == Classes::kNone ? 0 : network_.bytes(ResourceId{cls}));
    }
  }
  timeline.intervals = by_rank();
  timeline.fingerprint = fingerprint_.value();
  timeline.operations = operations_;
  timeline.executed = executed_;
  timeline.events = queue_.scheduled();
  timeline.resolves = network_.resolves();
  timeline.solved_activities = network_.solved_activities();
  timeline.ranks = programs_.ranks;
  timeline.classes = static_cast<std::uint32_t>(partition_.ranks.count());
  timeline.audit = partition_.audit;
  timeline.skipped_iterations = skipped_iterations_;
  timeline.loop_iterations = longest_loop_;
  timeline.skipped_period = skipped_period_;
  timeline.skipped = Duration::from_ps(skipped_time_);
  timeline.last_rank = timeline.last_class.valid()
                           ? RankId{partition_.ranks.representative[timeline.last_class.index()]}
                           : RankId{};
  return timeline;
}

std::vector<TierUse> Simulation::tier_use(TimePoint end) const {
  const double seconds = end.since_start().seconds();
  std::vector<TierUse> tiers;
  for (const std::string& tier : router_.topology().tiers()) {
    tiers.push_back({tier, 0, 0, 0});
  }
  std::vector<Int128> total(tiers.size(), 0);
  const auto resources = router_.resources();
  for (std::uint32_t cls = 0; cls < wiring_.resource_representative.size(); ++cls) {
    const routing::Resource& resource = resources[wiring_.resource_representative[cls]];
    const Int128 moved = network_.bytes(ResourceId{cls});
    if (!resource.links.empty()) {  // a storage system's own rate is no link
      total[resource.tier] += moved * wiring_.resource_count[cls];
    }
    TierUse& tier = tiers.at(resource.tier);
    if (seconds > 0 && resource.bytes_per_second > 0) {
      const auto bytes = static_cast<double>(moved);
      tier.utilisation = std::max(tier.utilisation, bytes / (resource.bytes_per_second * seconds));
    }
    tier.peak = std::max(tier.peak, network_.peak_utilisation(ResourceId{cls}));
  }
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    tiers[tier].bytes = static_cast<double>(total[tier]);
  }
  return tiers;
}

/// What communication cost, by kind, dimension and size; sums are integers, so that order does not count.
std::vector<CommunicationUse> Simulation::communication() const {
  std::map<std::tuple<std::string, std::string, std::int64_t>, OperationUse> sums;
  for (std::size_t index = 0; index < programs_.programs.size(); ++index) {
    const program::Program& program = programs_.programs[index];
    for (std::size_t op = 0; op < program.operations.size(); ++op) {
      const std::uint32_t dense = wiring_.endpoint_index[index][op];
      if (dense == kNone || use_[index][dense].calls == 0) {
        continue;
      }
      const program::Operation& operation = program.operations[op];
      const auto dimension = operation.label == program::Operation::kNone
                                 ? program::Dimension::kNone
                                 : program.labels[operation.label].dimension;
      std::string kind(program::name_of(operation.kind));
      if (operation.kind == program::OpKind::kCollective) {
        kind = collective::name_of(program.collectives[operation.detail].kind);
      } else if (operation.kind == program::OpKind::kStorage) {
        kind += (operation.flags & program::Operation::kWrite) != 0 ? " write" : " read";
      }
      OperationUse& sum = sums[{
          kind,
          dimension == program::Dimension::kNone ? std::string() : std::string(program::name_of(dimension)),
          operation.bytes}];
      sum.calls += use_[index][dense].calls;
      sum.transfer_ps += use_[index][dense].transfer_ps;
      sum.wait_ps += use_[index][dense].wait_ps;
    }
  }
  std::vector<std::pair<Int128, CommunicationUse>> rows;
  for (const auto& [key, sum] : sums) {
    const double per_call = 1e-12 / static_cast<double>(sum.calls);
    rows.push_back(
        {sum.transfer_ps,
         {std::get<0>(key), std::get<1>(key), std::get<2>(key), sum.calls,
          static_cast<double>(sum.transfer_ps) * per_call, static_cast<double>(sum.wait_ps) * per_call}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<CommunicationUse> out;
  out.reserve(rows.size());
  for (auto& row : rows) {
    out.push_back(std::move(row.second));
  }
  return out;
}

/// The recorded operations of each class, for every recorded rank of it; by rank, then time.
std::vector<Interval> Simulation::by_rank() {
  std::stable_sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.start < b.start;
  });
  std::vector<std::size_t> first(partition_.ranks.count() + 1, 0);
  for (const Interval& interval : intervals_) {
    ++first[interval.rank.index() + 1];
  }
  for (std::size_t cls = 1; cls < first.size(); ++cls) {
    first[cls] += first[cls - 1];
  }
  std::vector<std::uint32_t> ranks = options_.record_ranks;
  if (ranks.empty() && options_.record_timeline) {
    ranks.resize(programs_.ranks);
    std::iota(ranks.begin(), ranks.end(), 0U);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<Interval> out;
  for (const std::uint32_t rank : ranks) {
    const std::uint32_t cls = partition_.ranks.of[rank];
    if (out.size() + first[cls + 1] - first[cls] > options_.max_intervals) {
      refuse_intervals();
    }
    for (std::size_t i = first[cls]; i < first[cls + 1]; ++i) {
      out.push_back(intervals_[i]);
      out.back().rank = RankId{rank};
    }
  }
  return out;
}

void Simulation::refuse_intervals() const {
  throw UnsupportedError(
      fmt::format("the timeline has more than {} operations, too many to record; use fewer ranks or "
                  "micro-batches, name some with --trace-ranks, or leave out --trace",
                  options_.max_intervals));
}

const PathParts& Simulation::path_of(std::uint32_t cls) const {
  static const PathParts nothing{};
  const ClassState& state = classes_[cls];
  if (compiled_[state.program].streams.empty()) {
    return nothing;
  }
  const StreamState* last = &streams_[state.first_stream];
  for (std::uint32_t id = state.first_stream;
       id < state.first_stream + compiled_[state.program].streams.size(); ++id) {
    if (streams_[id].path_total > last->path_total) {
      last = &streams_[id];
    }
  }
  return last->path;
}

}  // namespace stepcast::replay
