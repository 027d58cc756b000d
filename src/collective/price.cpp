#include "collective/price.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/error.hpp"

namespace stepcast::collective {
namespace {

std::int64_t scaled_up(std::int64_t bytes, double factor) {
  constexpr double kMostWork = 9.0e18;
  const double scaled = std::ceil(static_cast<double>(bytes) * factor);
  if (!(scaled < kMostWork)) {
    throw UnsupportedError(fmt::format("{} bytes are too many for one collective; give fewer bytes", bytes));
  }
  return factor == 1 ? bytes : static_cast<std::int64_t>(scaled);
}

/// (x^p + y^p)^(1/p), without overflow: latency and transfer that overlap more the larger p is.
double overlapped(double x, double y, double exponent) {
  const double longer = std::max(x, y);
  if (longer == 0) {
    return 0;
  }
  const double ratio = std::min(x, y) / longer;
  return longer * std::pow(1 + std::pow(ratio, exponent), 1 / exponent);
}

double efficiency(Protocol protocol, const hardware::CollectiveConstants& constants) {
  switch (protocol) {
    case Protocol::kLl: return constants.efficiency_ll;
    case Protocol::kLl128: return constants.efficiency_ll128;
    case Protocol::kSimple: return 1;
  }
  return 1;
}

/// Rate of a hop that its channels allow, 0 = not limited. `wire` is the work with its overhead.
double channel_cap(Protocol protocol, const Passage& passage, std::int64_t wire, double overhead) {
  if (passage.channel_rate == 0 || wire == 0) {
    return 0;
  }
  double cap = passage.channel_ceiling > 0 ? passage.channel_ceiling * overhead : passage.rate;
  if (protocol == Protocol::kLl && passage.channel_payload > 0) {
    // Channels are added in proportion to the bytes, so the time stays that of one full channel, which moves
    // payload at `channel_rate`.
    const double full_channel = passage.channel_payload / passage.channel_rate;
    cap = std::min(cap, std::max(passage.channel_rate * overhead, static_cast<double>(wire) / full_channel));
  }
  return cap < passage.rate ? cap : 0;
}

/// The longest of all ways of `steps` hops around a ring.
Int128 longest_way(Protocol protocol,
                   const hardware::CollectiveConstants& constants,
                   std::span<const RingHop> ring,
                   std::int64_t steps) {
  std::vector<std::int64_t> hops;
  hops.reserve(ring.size());
  Int128 around = 0;
  for (const RingHop& hop : ring) {
    hops.push_back(hop_latency(protocol, constants, hop.network, hop.latency).ps());
    around += hops.back();
  }
  const auto size = static_cast<std::int64_t>(hops.size());
  const auto rest = static_cast<std::size_t>(steps % size);
  Int128 part = 0;
  for (std::size_t i = 0; i < rest; ++i) {
    part += hops[i];
  }
  Int128 longest = part;
  for (std::size_t first = 0; rest > 0 && first + 1 < hops.size(); ++first) {
    part += hops[(first + rest) % hops.size()] - hops[first];
    longest = std::max(longest, part);
  }
  return around * (steps / size) + longest;
}

/// w t / (w + h): what a transfer of w takes longer until its pipeline is full.
Duration stretched(Duration transfer, Duration stretch, Duration half, double times) {
  const double w = transfer.seconds();
  const double most = w + half.seconds() * times;
  return most > 0 ? duration_from_seconds(w * stretch.seconds() * times / most) : Duration{};
}

/// What comes before the transfer, launch excluded, where a fitted curve tells and not the hops.
std::optional<Duration> measured_curve(Protocol protocol,
                                       const hardware::CollectiveConstants& constants,
                                       const Passage& passage,
                                       Duration transfer) {
  if (passage.exchange_members > 1 && constants.exchange_hops > 0) {
    double hops = constants.exchange_hops + constants.exchange_log_hops * std::log2(passage.exchange_members);
    Duration more;
    if (protocol == Protocol::kSimple) {
      hops += constants.exchange_simple_hops;
      more = stretched(transfer, constants.exchange_stretch, constants.exchange_half, 1);
    } else if (passage.exchange_ll_rate > 0) {
      more = wire_time(passage.work, passage.exchange_ll_rate);
    }
    return std::max(passage.local_latency, duration_from_seconds(hops * constants.hop_ll.seconds())) + more;
  }
  if (passage.nvls_passes > 0 && constants.nvls_latency > Duration{}) {
    const Duration hop = hop_latency(protocol, constants, true, passage.network_latency);
    const Duration local = 2 * passage.local_latency;
    return std::max(local, constants.nvls_latency) + passage.network_steps * hop +
           stretched(transfer, constants.nvls_stretch, constants.nvls_half, passage.nvls_passes);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl: return "LL";
    case Protocol::kLl128: return "LL128";
    case Protocol::kSimple: return "Simple";
  }
  return "";
}

Reduction reduction_of(std::string_view name) {
  if (name == "sum") {
    return Reduction::kSum;
  }
  return name == "max" || name == "min" ? Reduction::kMinMax : Reduction::kOther;
}

const std::vector<std::string>& protocol_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kProtocols.size());
    for (const Protocol protocol : kProtocols) {
      all.emplace_back(name_of(protocol));
    }
    return all;
  }();
  return names;
}

std::optional<Protocol> find_protocol(std::string_view name) {
  const auto* const found = std::find_if(kProtocols.begin(), kProtocols.end(),
                                         [&](Protocol protocol) { return name == name_of(protocol); });
  return found == kProtocols.end() ? std::nullopt : std::optional(*found);
}

Duration hop_latency(Protocol protocol,
                     const hardware::CollectiveConstants& constants,
                     bool network,
                     Duration physical) {
  Duration calibrated;
  switch (protocol) {
    case Protocol::kLl: calibrated = network ? constants.net_hop_ll : constants.hop_ll; break;
    case Protocol::kLl128: calibrated = network ? constants.net_hop_ll128 : constants.hop_ll128; break;
    case Protocol::kSimple: calibrated = network ? constants.net_hop_simple : constants.hop_simple; break;
  }
  return std::max(calibrated, physical);
}

Duration local_work(const hardware::CollectiveConstants& constants, std::int64_t payload) {
  return constants.local_rate == Bandwidth() ? Duration()
                                             : wire_time(payload, constants.local_rate.bytes_per_second());
}

std::int64_t wire_bytes(Protocol protocol,
                        const hardware::CollectiveConstants& constants,
                        std::int64_t payload,
                        double efficiency_of_path) {
  const double useful = efficiency(protocol, constants) * efficiency_of_path;
  STEPCAST_CHECK(useful > 0 && useful <= 1, "efficiency {} of protocol {}", useful, name_of(protocol));
  return scaled_up(payload, 1 / useful);
}

Duration wire_time(std::int64_t work, double rate) {
  constexpr double kLimitSeconds = 4.0e6;  // leaves room for latencies in the range of a Duration
  if (work == 0) {
    return {};
  }
  STEPCAST_CHECK(rate > 0, "{} bytes at rate {}", work, rate);
  const double seconds = static_cast<double>(work) / rate;
  if (!(seconds < kLimitSeconds)) {
    throw UnsupportedError(
        fmt::format("a transfer of {} bytes takes {:.0f} days; give fewer bytes", work, seconds / 86400));
  }
  return duration_from_seconds(seconds);
}

Price price(Protocol protocol, const hardware::CollectiveConstants& constants, const Passage& passage) {
  STEPCAST_CHECK(passage.steps >= 0 && passage.network_steps <= passage.steps, "{} network steps of {}",
                 passage.network_steps, passage.steps);
  Price result;
  result.protocol = protocol;
  result.payload = passage.work;
  const double useful = efficiency(protocol, constants) * passage.efficiency;
  result.work = wire_bytes(protocol, constants, passage.work, passage.efficiency);
  if (protocol != Protocol::kLl && passage.last_step_exposed && passage.steps > 0) {
    const double exposed = 1 + constants.last_step_share / static_cast<double>(passage.steps);
    result.work = scaled_up(passage.work, exposed / useful);
  }
  const bool exchange = passage.exchange_members > 1 && constants.exchange_hops > 0;
  if (exchange) {
    const double own = 1 + constants.exchange_copy / (passage.exchange_members - 1);
    result.work = scaled_up(passage.work, own / (useful * constants.exchange_efficiency));
  }
  result.cap = channel_cap(protocol, passage, result.work, 1 / useful);
  const Duration transfer = wire_time(result.work, result.cap > 0 ? result.cap : passage.rate);
  if (const auto measured = measured_curve(protocol, constants, passage, transfer)) {
    result.latency = constants.launch + *measured;
    result.idle_time = result.latency + transfer;
    return result;
  }
  const Int128 hops_ps = passage.ring.empty()
                             ? Int128{passage.steps - passage.network_steps} *
                                       hop_latency(protocol, constants, false, passage.local_latency).ps() +
                                   Int128{passage.network_steps} *
                                       hop_latency(protocol, constants, true, passage.network_latency).ps()
                             : longest_way(protocol, constants, passage.ring, passage.steps);
  constexpr std::int64_t kMostPs = 4'000'000'000'000'000'000;  // as wire_time: their sum is a Duration
  if (hops_ps > kMostPs) {
    throw UnsupportedError(fmt::format(
        "{} hops one after the other take more than 46 days of latency; lower the latency of links, or use "
        "fewer ranks",
        passage.steps));
  }
  const Duration hops =
      Duration::from_ps(static_cast<std::int64_t>(hops_ps)) + local_work(constants, passage.work);
  Duration together = hops + transfer;
  if (protocol == Protocol::kSimple) {
    const double exponent = constants.overlap_exponent;
    STEPCAST_CHECK(exponent >= 1, "overlap exponent {}", exponent);
    together =
        std::min(together, duration_from_seconds(overlapped(hops.seconds(), transfer.seconds(), exponent)));
    together = std::max(together, std::max(hops, transfer));
  }
  result.latency = constants.launch + together - transfer;
  result.idle_time = constants.launch + together;
  return result;
}

}  // namespace stepcast::collective
