#include "collective/nccl/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "base/check.hpp"

namespace stepcast::collective::nccl {
namespace {

constexpr std::size_t kProtocolCount = 3;

bool reduced_by_switch(Family family, Kind kind) {
  return (family == Family::kNvls || family == Family::kNvlsTree) && kind != Kind::kAllGather;
}

}  // namespace

bool switch_reduces(DataType dtype, Reduction reduction) {
  switch (dtype) {
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kInt32:
    case DataType::kInt64: return reduction != Reduction::kOther;
    case DataType::kFp32:
    case DataType::kFp64: return reduction == Reduction::kSum;
    default: return false;
  }
}

Chooser::Chooser(const topology::Cluster& cluster)
    : cluster_(cluster), settings_(settings_of(cluster.nccl)), symmetry_(cluster) {}

std::shared_ptr<const GroupCosts> Chooser::costs(const Places& places,
                                                 std::span<const std::uint32_t> local) const {
  // What hosts look like to NCCL: which of their GPUs take part.
  std::vector<std::vector<std::uint32_t>> nodes;
  nodes.reserve(places.host_count());
  for (const std::vector<std::uint32_t>& members : places.hosts()) {
    std::vector<std::uint32_t> node;
    node.reserve(members.size());
    for (const std::uint32_t member : members) {
      node.push_back(local[member]);
    }
    nodes.push_back(symmetry_.canonical(std::move(node)));
  }
  std::vector<std::uint32_t> key;
  for (std::size_t first = 0; first < nodes.size();) {
    std::size_t last = first;
    while (last < nodes.size() && nodes[last] == nodes[first]) {
      ++last;
    }
    key.insert(key.end(),
               {static_cast<std::uint32_t>(last - first), static_cast<std::uint32_t>(nodes[first].size())});
    key.insert(key.end(), nodes[first].begin(), nodes[first].end());
    first = last;
  }
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const GroupCosts>& known = known_[key];
  if (known == nullptr) {
    auto fresh = std::make_shared<GroupCosts>();
    fresh->communicator = communicator_of(cluster_, settings_, nodes);
    for (std::size_t kind = 0; kind < kTables; ++kind) {
      fresh->tables[kind] = cost_table(static_cast<Kind>(kind), fresh->communicator, settings_);
    }
    known = std::move(fresh);
  }
  return known;
}

std::optional<Choice> Chooser::choose(const GroupCosts& costs,
                                      Kind kind,
                                      Bytes bytes,
                                      DataType dtype,
                                      Reduction reduction,
                                      const Offer& offer) const {
  STEPCAST_CHECK(has_table(kind), "{} has no table", stepcast::collective::name_of(kind));
  const CostTable& table = costs.tables[static_cast<std::size_t>(kind)];
  Choice best;
  best.table_time_us = std::numeric_limits<double>::infinity();
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<Family>(f);
    if (!offer.families[f] || (reduced_by_switch(family, kind) && !switch_reduces(dtype, reduction))) {
      continue;
    }
    for (std::size_t p = 0; p < kProtocolCount; ++p) {
      const auto protocol = static_cast<Protocol>(p);
      if (offer.protocol && *offer.protocol != protocol) {
        continue;
      }
      const double time = table_time_us(table, family, protocol, kind, bytes, costs.communicator, settings_);
      if (time < best.table_time_us) {
        best = {family, protocol, 1, time};
      }
    }
  }
  if (std::isinf(best.table_time_us)) {
    return std::nullopt;
  }
  best.channels = active_channels(best.family, best.protocol, bytes, costs.communicator);
  if (costs.communicator.channel_limit > 0) {
    best.channels = std::min(best.channels, costs.communicator.channel_limit);
  }
  return best;
}

std::vector<Candidate> Chooser::candidates(
    const GroupCosts& costs, Kind kind, Bytes bytes, DataType dtype, Reduction reduction) const {
  const CostTable& table = costs.tables[static_cast<std::size_t>(kind)];
  std::vector<Candidate> all;
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<Family>(f);
    for (std::size_t p = 0; p < kProtocolCount; ++p) {
      const Cost& cost = table[f][p];
      Candidate& one = all.emplace_back();
      one = {family, static_cast<Protocol>(p), cost.latency_us, cost.bandwidth, 0, cost.reason};
      if (one.reason.empty() && reduced_by_switch(family, kind) && !switch_reduces(dtype, reduction)) {
        one.reason = fmt::format("the switches do not reduce {} this way", stepcast::name_of(dtype));
      }
      one.table_time_us = one.reason.empty() ? table_time_us(table, family, one.protocol, kind, bytes,
                                                             costs.communicator, settings_)
                                             : std::numeric_limits<double>::infinity();
    }
  }
  return all;
}

}  // namespace stepcast::collective::nccl
