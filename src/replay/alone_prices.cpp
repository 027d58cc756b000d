#include "replay/alone_prices.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "collective/price.hpp"

namespace stepcast::replay {
namespace {

/// Latency and transfer when the links allow `rate`.
std::int64_t time_at(const collective::CoupledActivity& activity, double rate) {
  const double limit = activity.cap > 0 ? std::min(activity.cap, rate) : rate;
  return (activity.latency + collective::wire_time(activity.work, limit)).ps();
}

/// All phases one after the other, to the end of the last member.
std::int64_t phases_ps(const collective::Lowered& lowered, std::span<const double> rates) {
  std::int64_t total = time_at(lowered.coupled, rates[0]);
  const collective::CoupledActivity* last = &lowered.coupled;
  for (std::size_t i = 0; i < lowered.then.size(); ++i) {
    last = &lowered.then[i];
    total += time_at(*last, rates[i + 1]);
  }
  Duration latest;
  for (const Duration offset : last->completion_offset) {
    latest = std::max(latest, offset);
  }
  return total + latest.ps();
}

/// Kinds of collectives that jobs have.
constexpr std::array<collective::Kind, 3> kJobKinds = {
    collective::Kind::kAllReduce, collective::Kind::kAllGather, collective::Kind::kReduceScatter};

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

std::uint64_t bits(Duration value) {
  return static_cast<std::uint64_t>(value.ps());
}

/// Which question a set of groups answers; first word of its key.
enum SetKind : std::uint32_t { kTensor, kData, kEmbedding, kMessage };

void require_constant(const topology::Fault& fault, std::size_t index) {
  if (fault.at != TimePoint() || fault.until != TimePoint::never()) {
    throw UnsupportedError(
        fmt::format("fidelity \"analytic\" has no time at which fault {} could begin or end; leave out its "
                    "\"at\" and \"until\", or use --fidelity flow",
                    index));
  }
}

}  // namespace

AlonePrices::AlonePrices(const routing::Router& router, Placement placement)
    : router_(router), placement_(std::move(placement)), lowering_(router), sets_(1) {
  for (const routing::Resource& resource : router.resources()) {
    capacity_.push_back(resource.bytes_per_second);
  }
  const auto& faults = router.cluster().faults;
  for (std::size_t index = 0; index < faults.size(); ++index) {
    const topology::Fault& fault = faults[index];
    require_constant(fault, index);
    if (fault.target == topology::Fault::Target::kGpu) {
      speed_.try_emplace(fault.gpu, 1.0).first->second *= fault.factor;
    }
    for (const ResourceId resource : router.resources_of(fault)) {
      capacity_[resource.index()] *= fault.factor;
    }
  }
}

std::vector<GpuId> AlonePrices::gpus_of(const program::Group& group) const {
  std::vector<GpuId> gpus;
  gpus.reserve(group.size());
  for (const RankId rank : group.ranks()) {
    gpus.push_back(placement_[rank]);
  }
  return gpus;
}

double AlonePrices::rate_now(std::span<const network::Demand> demands, std::uint32_t divisor) const {
  double rate = 0;
  for (const network::Demand& demand : demands) {
    const double level = capacity_[demand.resource.index()] * divisor / demand.weight;
    rate = rate == 0 || level < rate ? level : rate;
  }
  return rate;
}

std::uint32_t AlonePrices::shape_of(const program::Group& group) {
  const std::uint32_t stride = group.strides().empty() ? 0 : group.strides()[0].step;
  const auto [known, fresh] = group_shape_.try_emplace({group.first(), stride, group.size()}, 0);
  if (fresh) {
    KnownShape found{lowering_.footprints(kJobKinds, gpus_of(group)), {}};
    std::vector<std::uint64_t> key;
    for (collective::Footprint& footprint : found.footprints) {
      key.insert(key.end(), {footprint.places->members(), footprint.channels, footprint.crossing_hops,
                             std::bit_cast<std::uintptr_t>(footprint.costs.get())});
      std::vector<double>& rates = found.rates.emplace_back();
      for (collective::Footprint::Phase& phase : footprint.phases) {
        rates.push_back(rate_now(phase.demands, phase.divisor));
        phase.demands.clear();
        key.insert(key.end(), {bits(phase.local_latency), bits(phase.network_latency), phase.ring.size(),
                               bits(phase.rate), bits(rates.back())});
        for (const collective::RingHop& hop : phase.ring) {
          key.insert(key.end(), {bits(hop.latency), hop.network ? 1U : 0U});
        }
      }
    }
    const auto [at, added] = shapes_index_.try_emplace(key, static_cast<std::uint32_t>(shapes_.size()));
    if (added) {
      shapes_.push_back(std::move(found));
    }
    known->second = at->second;
  }
  return known->second;
}

std::uint32_t AlonePrices::path_of(GpuId from, GpuId to) {
  KnownPath found{lowering_.message_path(from, to), 0};
  found.rate = rate_now(found.path.demands, found.path.divisor);
  found.path.demands.clear();
  const auto [at, added] = paths_index_.try_emplace(
      {found.path.network ? 1U : 0U, bits(found.path.latency), bits(found.path.rate), bits(found.rate)},
      static_cast<std::uint32_t>(paths_.size()));
  if (added) {
    paths_.push_back(std::move(found));
  }
  return at->second;
}

PriceSet AlonePrices::set_of(std::vector<std::uint32_t> members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const auto [known, fresh] = sets_index_.try_emplace(members, static_cast<PriceSet>(sets_.size()));
  if (fresh) {
    sets_.push_back(std::move(members));
  }
  return known->second;
}

PriceSet AlonePrices::tensor_groups(const workload::Plan& plan, std::uint32_t stage) {
  if (plan.tp == 1) {
    return kNoSet;
  }
  const auto [known, fresh] = known_sets_.try_emplace({kTensor, stage, plan.tp, plan.dp}, kNoSet);
  if (fresh) {
    const workload::RankGrid grid(plan);
    std::vector<std::uint32_t> members;
    for (std::uint32_t dp = 0; dp < plan.dp; ++dp) {
      members.push_back(shape_of(grid.tensor_group(dp, stage)));
    }
    known->second = set_of(std::move(members));
  }
  return known->second;
}

PriceSet AlonePrices::data_groups(const workload::Plan& plan, std::uint32_t stage) {
  if (plan.dp == 1) {
    return kNoSet;
  }
  const auto [known, fresh] = known_sets_.try_emplace({kData, stage, plan.tp, plan.dp}, kNoSet);
  if (fresh) {
    const workload::RankGrid grid(plan);
    std::vector<std::uint32_t> members;
    for (std::uint32_t tp = 0; tp < plan.tp; ++tp) {
      members.push_back(shape_of(grid.data_group(tp, stage)));
    }
    known->second = set_of(std::move(members));
  }
  return known->second;
}

PriceSet AlonePrices::embedding_groups(const workload::Plan& plan) {
  const auto [known, fresh] = known_sets_.try_emplace({kEmbedding, plan.pp, plan.tp, plan.dp}, kNoSet);
  if (fresh) {
    const workload::RankGrid grid(plan);
    std::vector<std::uint32_t> members;
    for (std::uint32_t dp = 0; dp < plan.dp; ++dp) {
      for (std::uint32_t tp = 0; tp < plan.tp; ++tp) {
        members.push_back(shape_of(grid.embedding_group(tp, dp)));
      }
    }
    known->second = set_of(std::move(members));
  }
  return known->second;
}

PriceSet AlonePrices::messages(const workload::Plan& plan, std::uint32_t stage, bool forward) {
  const std::uint32_t peer = (stage + (forward ? 1 : plan.pp - 1)) % plan.pp;
  const std::uint32_t ranks = workload::RankGrid(plan).stage_ranks();
  const auto [known, fresh] = known_sets_.try_emplace({kMessage, stage, peer, ranks}, kNoSet);
  if (fresh) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members.push_back(
          path_of(placement_[RankId{stage * ranks + rank}], placement_[RankId{peer * ranks + rank}]));
    }
    known->second = set_of(std::move(members));
  }
  return known->second;
}

std::int64_t AlonePrices::alone_ps(const collective::CoupledActivity& activity) const {
  return time_at(activity, rate_now(activity.demands, activity.divisor));
}

std::int64_t AlonePrices::alone_ps(const collective::Lowered& lowered) const {
  if (lowered.form == collective::Form::kSteps) {
    throw UnsupportedError(
        "step lists and uneven all-to-alls are many flows, which fidelity \"analytic\" does not price; use "
        "--fidelity flow");
  }
  std::vector<double> rates{rate_now(lowered.coupled.demands, lowered.coupled.divisor)};
  for (const collective::CoupledActivity& phase : lowered.then) {
    rates.push_back(rate_now(phase.demands, phase.divisor));
  }
  return phases_ps(lowered, rates);
}

std::int64_t AlonePrices::collective_ps(const collective::Request& request, PriceSet set) const {
  STEPCAST_CHECK(set != kNoSet, "a collective of one member");
  std::int64_t slowest = 0;
  for (const std::uint32_t index : sets_[set]) {
    const KnownShape& shape = shapes_[index];
    const collective::Lowered lowered = lowering_.lower(request, shape.footprints);
    slowest = std::max(slowest, phases_ps(lowered, shape.rates[lowered.footprint]));
  }
  return slowest;
}

MessageTime AlonePrices::message_time(Bytes bytes, PriceSet set) const {
  MessageTime slowest;
  for (const std::uint32_t index : sets_[set]) {
    const KnownPath& known = paths_[index];
    const collective::CoupledActivity activity = lowering_.lower_message(bytes, known.path).coupled;
    const std::int64_t sender = time_at(activity, known.rate);
    slowest.sender_ps = std::max(slowest.sender_ps, sender);
    slowest.receiver_ps = std::max(slowest.receiver_ps, sender + activity.completion_offset[1].ps());
  }
  return slowest;
}

void AlonePrices::require_storage(std::uint32_t rank) const {
  if (router_.cluster().storage.empty()) {
    throw InputError(
        fmt::format("rank {} uses storage system 0 (counted from 0) but the cluster \"{}\" has 0 of them; "
                    "add \"storage\" "
                    "to the cluster file",
                    rank, router_.cluster().name));
  }
}

std::int64_t AlonePrices::write_ps(Bytes bytes, const workload::Plan& plan, std::uint32_t stage) {
  const std::uint32_t ranks = workload::RankGrid(plan).stage_ranks();
  const std::uint32_t first = stage * ranks;
  require_storage(first);
  const auto [known, fresh] = writes_.try_emplace({first, ranks}, Write{});
  if (fresh) {
    std::map<ResourceId, double> load;
    for (std::uint32_t rank = first; rank < first + ranks; ++rank) {
      const auto activity = lowering_.lower_storage(bytes, placement_[RankId{rank}], 0, true).coupled;
      known->second.latency = std::max(known->second.latency, activity.latency);
      for (const network::Demand& demand : activity.demands) {
        load[demand.resource] += static_cast<double>(demand.weight) / activity.divisor;
      }
    }
    for (const auto& [resource, weight] : load) {
      const double rate = capacity_[resource.index()] / weight;
      known->second.rate = known->second.rate == 0 ? rate : std::min(known->second.rate, rate);
    }
  }
  return (known->second.latency + collective::wire_time(bytes.count(), known->second.rate)).ps();
}

double AlonePrices::speed(const workload::Plan& plan, std::uint32_t stage) const {
  double slowest = 1;
  if (!speed_.empty()) {
    const std::uint32_t ranks = workload::RankGrid(plan).stage_ranks();
    for (std::uint32_t rank = stage * ranks; rank < (stage + 1) * ranks; ++rank) {
      const auto slow = speed_.find(placement_[RankId{rank}]);
      slowest = slow == speed_.end() ? slowest : std::min(slowest, slow->second);
    }
  }
  return slowest;
}

void AlonePrices::add(const collective::CoupledActivity& activity, double count, Traffic& traffic) const {
  double rate = rate_now(activity.demands, activity.divisor);
  rate = activity.cap > 0 ? std::min(rate, activity.cap) : rate;
  for (const network::Demand& demand : activity.demands) {
    const std::uint32_t index = demand.resource.index();
    const double share = static_cast<double>(demand.weight) / activity.divisor;
    traffic.bytes[index] += count * static_cast<double>(activity.payload) * share;
    if (capacity_[index] > 0) {
      traffic.peak[index] = std::max(traffic.peak[index], rate * share / capacity_[index]);
    }
  }
}

void AlonePrices::add_collectives(const std::vector<Counted>& requests,
                                  const std::vector<program::Group>& groups,
                                  Traffic& traffic) const {
  for (const program::Group& group : groups) {
    const std::vector<collective::Footprint> footprints = lowering_.footprints(kJobKinds, gpus_of(group));
    for (const auto& [request, count] : requests) {
      const collective::Lowered lowered = lowering_.lower(request, footprints);
      add(lowered.coupled, count, traffic);
      for (const collective::CoupledActivity& phase : lowered.then) {
        add(phase, count, traffic);
      }
    }
  }
}

void AlonePrices::add_messages(Bytes bytes,
                               std::uint32_t first,
                               std::uint32_t ranks,
                               std::int64_t distance,
                               double count,
                               Traffic& traffic) const {
  for (std::uint32_t rank = first; rank < first + ranks; ++rank) {
    const RankId peer{static_cast<std::uint32_t>(rank + distance)};
    add(lowering_.lower_message(bytes, placement_[RankId{rank}], placement_[peer]).coupled, count, traffic);
  }
}

void AlonePrices::add_writes(
    Bytes bytes, std::uint32_t first, std::uint32_t ranks, double count, Traffic& traffic) const {
  for (std::uint32_t rank = first; rank < first + ranks; ++rank) {
    add(lowering_.lower_storage(bytes, placement_[RankId{rank}], 0, true).coupled, count, traffic);
  }
}

}  // namespace stepcast::replay
