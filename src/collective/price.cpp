#include "collective/price.hpp"

#include <algorithm>
#include <cmath>

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
  double cap = passage.channel_limit > 0 ? passage.channel_limit * passage.channel_rate : passage.rate;
  if (protocol == Protocol::kLl && passage.channel_payload > 0) {
    // Channels are added in proportion to the bytes, so the time stays that of one full channel.
    const double full_channel = passage.channel_payload * overhead / passage.channel_rate;
    cap = std::min(cap, std::max(passage.channel_rate, static_cast<double>(wire) / full_channel));
  }
  return cap < passage.rate ? cap : 0;
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
  result.cap = channel_cap(protocol, passage, result.work, 1 / useful);
  const Duration transfer = wire_time(result.work, result.cap > 0 ? result.cap : passage.rate);
  const Int128 hops_ps =
      Int128{passage.steps - passage.network_steps} *
          hop_latency(protocol, constants, false, passage.local_latency).ps() +
      Int128{passage.network_steps} * hop_latency(protocol, constants, true, passage.network_latency).ps();
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
