#include "collective/phase_price.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "collective/availability.hpp"
#include "collective/nccl/choice.hpp"

namespace stepcast::collective {
namespace {

/// Payload bytes of a weight of one in each of `channels` channels, rounded up.
std::int64_t hop_payload(Bytes bytes, const SteadyState& steady, std::uint32_t channels) {
  constexpr Int128 kMostWork = Int128{1} << 62;
  const Int128 divisor = Int128{steady.share_denominator} * channels;
  const Int128 work = (Int128{bytes.count()} * steady.share_numerator + divisor - 1) / divisor;
  if (work >= kMostWork) {
    throw UnsupportedError(
        fmt::format("{} bytes are too many for one collective; give fewer bytes", bytes.count()));
  }
  return static_cast<std::int64_t>(work);
}

/// Channels that a call has. Rings are as fast as theirs allow; of others fewer than usual carry less.
struct ChannelsInUse {
  double count = 0;
  double usual = 0;
  bool rings = false;
};

ChannelsInUse channels_in_use(const Algorithm& algorithm,
                              const Request& request,
                              const Footprint& footprint,
                              const hardware::HostKind& host) {
  const double host_channels = std::max(host.collective.channels, 1U);
  ChannelsInUse found{host_channels, host_channels, algorithm.family == "ring"};
  if (footprint.costs != nullptr) {
    const nccl::Communicator& seen = footprint.costs->communicator;
    const std::uint32_t usual = in_nvlink_switches(algorithm) ? seen.nvls_channels : seen.usual_channels;
    found.usual = usual > 0 ? usual : host_channels;
    found.count = found.usual;
  }
  found.count = request.channels > 0 ? request.channels : found.count;
  return found;
}

Passage passage_of(const Footprint& footprint,
                   const Footprint::Phase& phase,
                   const SteadyState& steady,
                   const Request& request,
                   const hardware::HostKind& host,
                   nccl::Version version,
                   const ChannelsInUse& channels_in_use) {
  const hardware::CollectiveConstants& constants = host.collective;
  const double channels = std::max(constants.channels, 1U);
  Passage passage;
  passage.steps = steady.steps;
  passage.network_steps = steady.network_steps;
  passage.local_latency = phase.local_latency;
  passage.network_latency = phase.network_latency;
  passage.ring = phase.ring;
  passage.work = hop_payload(request.bytes, steady, footprint.channels);
  passage.rate = phase.rate;
  passage.last_step_exposed = steady.last_step_exposed;
  passage.efficiency = steady.efficiency;
  // All channels together fill NVLink; what leaves one port shares them.
  const double nvlink = host.nvlink_effective.bytes_per_second();
  passage.channel_rate = (nvlink > 0 ? nvlink / steady.port_weight : passage.rate) / channels;
  if (channels_in_use.rings && constants.channel_bandwidth > Bandwidth()) {
    passage.channel_ceiling =
        constants.channel_bandwidth.bytes_per_second() * channels_in_use.count / footprint.channels;
  } else if (channels_in_use.rings) {
    passage.channel_ceiling =
        request.channels > 0 && request.channels < channels ? request.channels * passage.channel_rate : 0;
  } else if (channels_in_use.count < channels_in_use.usual) {
    passage.channel_ceiling = passage.rate * channels_in_use.count / channels_in_use.usual;
  }
  passage.channel_payload = constants.ll_channel_bytes * steady.pieces *
                            static_cast<double>(steady.share_numerator) /
                            static_cast<double>(steady.share_denominator) / footprint.channels;
  passage.nvls_passes = steady.nvls_passes;
  if (steady.exchange && !footprint.several_hosts && host.nvlink_effective > Bandwidth()) {
    passage.exchange_members = footprint.places->members();
    passage.exchange_ll_rate =
        (version < nccl::kShortExchanges ? constants.exchange_ll_rate_old : constants.exchange_ll_rate)
            .bytes_per_second();
    passage.channel_payload = 0;
  }
  return passage;
}

PricedPhases price_in(Protocol protocol,
                      const hardware::CollectiveConstants& constants,
                      const std::vector<Passage>& passages) {
  PricedPhases priced;
  priced.protocol = protocol;
  for (const Passage& passage : passages) {
    Price phase = price(protocol, constants, passage);
    if (!priced.phases.empty()) {
      phase.latency -= constants.launch;
      phase.idle_time -= constants.launch;
    }
    priced.idle_time += phase.idle_time;
    priced.phases.push_back(phase);
  }
  return priced;
}

}  // namespace

PricedPhases price_phases(const Algorithm& algorithm,
                          const Request& request,
                          const Footprint& footprint,
                          const std::vector<SteadyState>& steady,
                          const hardware::HostKind& host,
                          nccl::Version version) {
  const hardware::CollectiveConstants& constants = host.collective;
  const ChannelsInUse in_use = channels_in_use(algorithm, request, footprint, host);
  std::vector<Passage> passages;
  passages.reserve(steady.size());
  for (std::size_t i = 0; i < steady.size(); ++i) {
    passages.push_back(passage_of(footprint, footprint.phases[i], steady[i], request, host, version, in_use));
  }
  const bool simple = needs_simple(algorithm, *footprint.places);
  if (simple || request.protocol) {
    return price_in(simple ? Protocol::kSimple : *request.protocol, constants, passages);
  }
  if (passages[0].exchange_members > 1 && constants.exchange_hops > 0) {
    const bool low_latency = Bytes(passages[0].work) <= nccl::most_exchanged_in_ll(version);
    return price_in(low_latency ? Protocol::kLl : Protocol::kSimple, constants, passages);
  }
  PricedPhases best = price_in(kProtocols[0], constants, passages);
  for (std::size_t i = 1; i < kProtocols.size(); ++i) {
    PricedPhases other = price_in(kProtocols[i], constants, passages);
    best = other.idle_time < best.idle_time ? std::move(other) : best;
  }
  return best;
}

}  // namespace stepcast::collective
