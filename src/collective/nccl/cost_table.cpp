#include "collective/nccl/cost_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"

namespace stepcast::collective::nccl {
namespace {

using Row = std::array<double, 3>;  // LL, LL128, Simple

enum Generation : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };

Generation generation_of(std::uint32_t compute_capability) {
  if (compute_capability >= 100) {
    return kBlackwell;
  }
  return compute_capability >= 90 ? kHopper : compute_capability >= 80 ? kAmpere : kVolta;
}

constexpr std::size_t index_of(Family family) {
  return static_cast<std::size_t>(family);
}

constexpr bool is_nvls(Family family) {
  return family == Family::kNvls || family == Family::kNvlsTree;
}

constexpr bool is_collnet(Family family) {
  return family == Family::kCollnetDirect || family == Family::kCollnetChain;
}

/// Once per call.
Row base_latency(Family family, Version version) {
  switch (family) {
    case Family::kRing: return {6.6, 14.0, 8.4};
    case Family::kTree: return {6.8, 14.0, version.minor >= 23 ? 8.4 : 0};
    case Family::kCollnetDirect:
    case Family::kCollnetChain: return {0, 0, 0};
    case Family::kNvls:
    case Family::kNvlsTree: return {0, 0, version.minor == 18 ? 23.0 : 0};
    case Family::kPat: return {8.0, 8.0, 8.0};
  }
  return {};
}

enum Medium : std::uint8_t { kNvlink, kPci, kNet };

/// Per step, over a medium.
Row hop_latency_us(Family family, Medium medium, const Communicator& communicator, Version version) {
  const std::uint32_t minor = version.minor;
  const auto simple = [&](double nvlink, double pci, double net) {
    const std::array<double, 3> all = {nvlink, pci, net};
    return Row{0, 0, all[medium]};
  };
  switch (family) {
    case Family::kTree: {
      constexpr std::array<Row, 3> kLow = {{{0.6, 1.25, 0}, {1.0, 1.9, 0}, {5.0, 8.5, 0}}};
      Row row = kLow[medium];
      if (minor == 18) {
        row[2] = std::array<double, 3>{4, 6, 14}[medium];
      } else if (minor < 23) {
        row[2] = 28;
      } else {
        row[2] = std::array<double, 3>{4, 4, 14}[medium];
      }
      if (communicator.cpu == hardware::Cpu::kPower && medium == kPci) {
        row[2] = 5.7;
      }
      return row;
    }
    case Family::kRing: {
      constexpr std::array<Row, 3> kAll = {{{0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}}};
      return kAll[medium];
    }
    case Family::kCollnetDirect: return minor == 18 ? simple(8.0, 8.0, 10.7) : simple(3.7, 3.7, 31);
    case Family::kCollnetChain: return minor == 18 ? simple(4.75, 8.0, 14) : simple(2.8, 2.8, 30);
    case Family::kNvls: return simple(minor == 18 ? 0 : minor <= 20 ? 23 : 25, 0, 18);
    case Family::kNvlsTree:
      return simple(minor == 18   ? 0
                    : minor <= 20 ? 23
                                  : 25,
                    0,
                    minor == 18                ? 19
                    : version < Version{28, 9} ? 14
                                               : 20.9);
    case Family::kPat: return simple(4.0, 4.0, 14);
  }
  return {};
}

double net_overhead_us(const Communicator& communicator, const Settings& settings) {
  return settings.net_overhead_us.value_or(communicator.cpu == hardware::Cpu::kAmd ? 2.0 : 1.0);
}

std::size_t node_class(const Communicator& communicator) {
  return std::min(communicator.nodes, 3U) - 1;
}

/// GB/s that LL can carry in all: one node by its GPUs, several by their CPUs.
double ll_ceiling(const Communicator& communicator, Version version) {
  constexpr std::array<std::array<double, 3>, 4> kCeilings = {
      {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282, 90, 70}}};
  if (communicator.nodes > 1) {
    return kCeilings[communicator.cpu == hardware::Cpu::kAmd ? kAmpere : kVolta][node_class(communicator)];
  }
  Generation generation = generation_of(communicator.compute_capability);
  if (generation == kBlackwell && version.minor < 25) {
    generation = kHopper;
  }
  return generation == kHopper && version.minor <= 20 ? 87.7 : kCeilings[generation][0];
}

double ring_ll128_ceiling(const Communicator& communicator, Version version) {
  const std::size_t nodes = node_class(communicator);
  switch (generation_of(communicator.compute_capability)) {
    case kVolta:
    case kAmpere: return 20;
    case kHopper: return 36.7;
    case kBlackwell: break;
  }
  if (version.minor < 25) {
    return 36.7;
  }
  if (version < Version{28, 7}) {
    return 73.4;
  }
  if (version.minor == 28) {
    return std::array<double, 3>{73.4, 34.6, 73.4}[nodes];
  }
  return version < Version{30, 0} ? std::array<double, 3>{34.5, 34.6, 34.5}[nodes] : 40;
}

double tree_ll128_ceiling(const Communicator& communicator, Version version) {
  const std::size_t nodes = node_class(communicator);
  const Generation generation = generation_of(communicator.compute_capability);
  if (generation <= kAmpere) {
    return 20;
  }
  if (generation == kHopper || version.minor < 25) {
    return std::array<double, 3>{36.7, 36.7, 29.0}[nodes];
  }
  return version.minor <= 27 ? std::array<double, 3>{73.4, 73.4, 58}[nodes]
                             : std::array<double, 3>{55.6, 31.67, 20.0}[nodes];
}

double tree_ceiling(const Communicator& communicator, Version version) {
  const std::size_t nodes = node_class(communicator);
  switch (generation_of(communicator.compute_capability)) {
    case kVolta: return std::array<double, 3>{26.5, 18.5, 10.0}[nodes];
    case kAmpere: return std::array<double, 3>{24.0, 23.6, 17.8}[nodes];
    case kHopper: break;
    case kBlackwell:
      if (version.minor >= 25) {
        return version.minor <= 27 ? std::array<double, 3>{77.4, 82.8, 72}[nodes]
                                   : std::array<double, 3>{70.0, 42.8, 24.0}[nodes];
      }
      break;
  }
  return std::array<double, 3>{38.7, 41.4, 36.0}[nodes];
}

/// Per channel, from 2.28 on.
double nvls_tree_ceiling(const Communicator& communicator, Version version) {
  const std::size_t nodes = node_class(communicator);
  switch (generation_of(communicator.compute_capability)) {
    case kVolta: return std::array<double, 3>{26.5, 18.5, 10.0}[nodes];
    case kAmpere: return std::array<double, 3>{24.0, 23.6, 17.8}[nodes];
    case kHopper: return std::array<double, 3>{0, 57.7, 45.5}[nodes];
    case kBlackwell: break;
  }
  const double many = version < Version{28, 9} ? 43.1 : version < Version{30, 0} ? 43.8 : 80.0;
  return std::array<double, 3>{0, 96.0, many}[nodes];
}

const Speeds& speeds_of(Family family, const Communicator& communicator) {
  switch (family) {
    case Family::kTree: return communicator.tree;
    case Family::kRing:
    case Family::kPat: return communicator.ring;
    case Family::kCollnetDirect: return communicator.collnet_direct;
    case Family::kCollnetChain: return communicator.collnet_chain;
    case Family::kNvls:
    case Family::kNvlsTree: return communicator.nvls;
  }
  return communicator.ring;
}

bool gathers(Kind kind) {
  return kind == Kind::kAllGather || kind == Kind::kReduceScatter;
}

/// GB/s of NVLS and NVLSTree, all channels, before it becomes algbw.
double nvls_bus_bandwidth(Family family, Kind kind, const Communicator& communicator, Version version) {
  const Speeds& speeds = communicator.nvls;
  const bool tree = family == Family::kNvlsTree;
  const bool one_node = communicator.nodes == 1;
  const double inter = one_node ? std::numeric_limits<double>::infinity() : speeds.inter;
  const double per_node = static_cast<double>(communicator.ranks) / communicator.nodes;
  const double channels = speeds.channels;
  if (version.minor < 28) {
    double bandwidth = std::min(speeds.intra, inter);
    if (tree && version.minor > 18) {
      bandwidth = std::min(speeds.intra, communicator.nodes <= 2 ? inter : inter / 2);
    } else if (version.minor == 27 && gathers(kind)) {
      bandwidth = std::min(speeds.intra * (per_node - 1) / per_node, 0.9 * inter);
    }
    return channels * bandwidth;
  }
  const Generation generation = generation_of(communicator.compute_capability);
  const double efficiency = generation == kHopper ? 0.85 : generation == kBlackwell ? 0.74 : 0;
  double intra = speeds.intra * efficiency * (channels - 1) / channels;
  // Two halves follow each other through the switch: one goes up while the other comes down.
  intra *= kind == Kind::kAllReduce ? 2 : (per_node - 1) / per_node;
  double bandwidth = std::min(intra, tree && communicator.nodes <= 2 ? 2 * inter : inter);
  if (tree) {
    bandwidth = std::min(bandwidth, nvls_tree_ceiling(communicator, version));
  }
  return channels * bandwidth;
}

double steps_of(Kind kind, double ranks) {
  return kind == Kind::kAllReduce ? 2 * (ranks - 1) : gathers(kind) ? ranks - 1 : ranks;
}

double bus_bandwidth(Family family,
                     std::size_t protocol,
                     Kind kind,
                     const Communicator& communicator,
                     const Settings& settings) {
  const Version version = settings.version;
  if (is_nvls(family)) {
    return nvls_bus_bandwidth(family, kind, communicator, version);
  }
  const Speeds& speeds = speeds_of(family, communicator);
  const double channels = speeds.channels;
  const double per_node = static_cast<double>(communicator.ranks) / communicator.nodes;
  const bool inside = communicator.nodes <= 2 || is_collnet(family);
  const double per_channel = inside && speeds.intra > 0 ? speeds.intra : speeds.inter;
  double bus = channels * per_channel;
  switch (family) {
    case Family::kRing:
      if (protocol == 0) {
        const bool quarter = communicator.nodes > 1 || kind == Kind::kAllReduce || kind == Kind::kReduce;
        const double share = version.minor > 20 ? 0.5 : quarter ? 1.0 / 4 : 1.0 / 3;
        bus = std::min(ll_ceiling(communicator, version), bus * share);
      } else if (protocol == 1) {
        const double share = version.minor <= 22 && per_node < 2 ? 0.7 : 0.92;
        bus = std::min(bus * share, channels * ring_ll128_ceiling(communicator, version));
      }
      return bus;
    case Family::kTree:
      bus = std::min(0.92 * bus, channels * tree_ceiling(communicator, version));
      if (protocol == 0) {
        bus = std::min(bus / 3.8, ll_ceiling(communicator, version));
      } else if (protocol == 1) {
        bus = std::min(bus * (communicator.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                       channels * tree_ll128_ceiling(communicator, version));
      }
      return communicator.tree.degraded ? 0.85 * bus : bus;
    case Family::kPat: return bus * (version.minor == 23 ? 0.85 : 0.75);
    case Family::kCollnetDirect:
      if (kind == Kind::kAllReduce) {
        const double factor = per_node / channels;
        bus /= factor - (factor - 1) / 2;
        return communicator.compute_capability >= 90 ? 0.85 * bus : bus;
      }
      return per_node *
             (version.minor <= 26 ? per_channel * 0.9 : std::min(speeds.intra, 0.9 * speeds.inter));
    default: return bus;
  }
}

double algorithm_bandwidth(
    Family family, Kind kind, const Communicator& communicator, Version version, double bus) {
  const double ranks = communicator.ranks;
  const bool ring = family == Family::kRing;
  if (!ring && gathers(kind) && !(is_nvls(family) && version.minor >= 28)) {
    return bus;
  }
  if (ring || (is_nvls(family) && version.minor >= 28)) {
    return bus * ranks / steps_of(kind, ranks);
  }
  if (family == Family::kNvls) {
    return bus * 5 / 6;
  }
  if (family == Family::kNvlsTree) {
    return version.minor > 18 ? bus * 5 / 6
                              : bus * 0.70 * communicator.nodes / (2.0 * (communicator.nodes - 1));
  }
  return bus * 0.5;
}

double ring_latency_us(std::size_t protocol,
                       Kind kind,
                       const Communicator& communicator,
                       const Settings& settings,
                       double intra,
                       double inter) {
  const double ranks = communicator.ranks;
  const double steps = steps_of(kind, ranks);
  if (kind == Kind::kBroadcast || kind == Kind::kReduce) {
    const double hop = communicator.nodes > 1 ? inter : intra;
    if (communicator.identical_channels) {
      return hop;
    }
    const Medium medium = communicator.nodes > 1 ? kNet : communicator.ring.nvlink ? kNvlink : kPci;
    return steps *
           (protocol == 2 ? hop_latency_us(Family::kTree, medium, communicator, settings.version)[2] : hop);
  }
  double between = 0;
  if (communicator.nodes > 1) {
    const double passes = settings.version.minor <= 22 ? communicator.nodes : communicator.nodes - 1;
    between = kind == Kind::kAllReduce ? 2 * passes : communicator.nodes - 1;
    intra = std::max(intra, net_overhead_us(communicator, settings) * (protocol == 2 ? 3 : 1));
  }
  return (steps - between) * intra + between * inter;
}

double latency_us(Family family,
                  std::size_t protocol,
                  Kind kind,
                  const Communicator& communicator,
                  const Settings& settings) {
  const Version version = settings.version;
  const double per_node = static_cast<double>(communicator.ranks) / communicator.nodes;
  const Speeds& speeds = speeds_of(family, communicator);
  const Medium inside = speeds.nvlink ? kNvlink : kPci;
  const double base = base_latency(family, version)[protocol];
  const double intra = hop_latency_us(family, inside, communicator, version)[protocol];
  // Simple flushes what the NIC has written: its latency counts twice.
  const double inter =
      hop_latency_us(per_node <= 1 ? Family::kTree : family, kNet, communicator, version)[protocol] +
      speeds.latency_us * (protocol == 2 ? 2 : 1);
  const double log_nodes = std::bit_width(communicator.nodes) - 1;
  switch (family) {
    case Family::kRing: return base + ring_latency_us(protocol, kind, communicator, settings, intra, inter);
    case Family::kTree: return base + 2 * ((per_node - 1) * intra + log_nodes * inter);
    case Family::kCollnetDirect:
      return base +
             2 * (std::min(1.0, per_node - 1) * intra + (per_node - 1) * (version.minor == 18 ? 0.5 : 0.4)) +
             inter;
    case Family::kCollnetChain: return base + 2 * (per_node - 1) * intra + inter;
    case Family::kNvls: return base + intra + (communicator.nodes > 1 ? inter : 0);
    case Family::kNvlsTree:
      return base + intra + 2 * (version.minor == 18 ? communicator.nodes - 1 : log_nodes) * inter;
    case Family::kPat: return base + log_nodes * inter / 3.5 + 2.8 * communicator.ranks;
  }
  return base;
}

bool kind_has(Family family, Kind kind, Version version) {
  switch (family) {
    case Family::kRing: return true;
    case Family::kTree:
    case Family::kCollnetChain:
    case Family::kNvlsTree: return kind == Kind::kAllReduce;
    case Family::kCollnetDirect: return kind == Kind::kAllReduce || (gathers(kind) && version.minor >= 20);
    case Family::kNvls: return kind == Kind::kAllReduce || (gathers(kind) && version.minor >= 19);
    case Family::kPat: return gathers(kind) && version.minor >= 23;
  }
  return false;
}

std::string refuse_nvls(Family family, const Communicator& communicator, const Settings& settings) {
  if (settings.nvls == false) {
    return "NCCL_NVLS_ENABLE=0";
  }
  if (!communicator.nvswitch) {
    return "there are no NVLink switches";
  }
  if (!communicator.multicast) {
    return "the NVLink switches do not multicast (Hopper and later do)";
  }
  const bool tree = family == Family::kNvlsTree;
  if (tree && communicator.nodes < 2) {
    return "one NVLink domain: NVLS does the same without a tree";
  }
  if (!tree && communicator.nodes > 1) {
    return "several NVLink domains: NCCL needs SHARP for it, and with it too that is not modelled here";
  }
  if (communicator.nvls.channels == 0 || (settings.version.minor >= 28 && communicator.nvls.channels < 2)) {
    return "too few members in an NVLink domain";
  }
  return {};
}

/// Why a family cannot be used, or empty.
std::string refuse_family(Family family,
                          Kind kind,
                          const Communicator& communicator,
                          const Settings& settings) {
  const Settings::Allowed& allowed = settings.of(kind);
  if (!allowed.families[index_of(family)]) {
    return "NCCL_ALGO";
  }
  if (!kind_has(family, kind, settings.version)) {
    return fmt::format("NCCL {} has none for {}", text_of(settings.version),
                       stepcast::collective::name_of(kind));
  }
  const double per_node = static_cast<double>(communicator.ranks) / communicator.nodes;
  switch (family) {
    case Family::kNvls:
    case Family::kNvlsTree: return refuse_nvls(family, communicator, settings);
    case Family::kCollnetDirect:
    case Family::kCollnetChain: {
      if (communicator.nodes < 2) {
        return "one NVLink domain";
      }
      if (!communicator.sharp) {
        return "the fabric's switches do not reduce (SHARP)";
      }
      const bool direct = family == Family::kCollnetDirect;
      if (direct && !communicator.nvswitch) {
        return "needs NVLink switches";
      }
      return direct && gathers(kind) && per_node > communicator.collnet_direct.channels
                 ? "more members in a host than heads"
                 : "";
    }
    case Family::kPat:
      if (settings.pat == false) {
        return "NCCL_PAT_ENABLE=0";
      }
      if (settings.pat != true && !allowed.families_named && communicator.ranks != communicator.nodes) {
        return "used by default with one GPU a host only";
      }
      return communicator.ranks != communicator.nodes ? "needs one GPU a host" : "";
    default: return {};
  }
}

std::string refuse_protocol(Family family,
                            std::size_t protocol,
                            Kind kind,
                            const Communicator& communicator,
                            const Settings& settings) {
  if (protocol != 2 && family != Family::kRing && family != Family::kTree) {
    return "Simple only";
  }
  if (!settings.of(kind).protocols[protocol]) {
    return "NCCL_PROTO";
  }
  if (protocol == 1 && !settings.of(kind).protocols_named) {
    if (communicator.compute_capability < 70) {
      return "LL128 needs compute capability 7.0";
    }
    if (!communicator.ring.nvlink && communicator.ranks > communicator.nodes) {
      return "LL128 needs NVLink between the members of a host";
    }
  }
  return {};
}

/// Trees reach less of their bandwidth at middling sizes. By log2(bytes / 64).
double tree_share(Protocol protocol, Bytes bytes, Version version) {
  constexpr std::size_t kSizes = 24;
  constexpr std::array<std::array<double, kSizes>, 3> kShares = {
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
  const std::uint64_t lines = static_cast<std::uint64_t>(bytes.count()) >> 6U;
  const std::size_t index = lines == 0 ? 0 : static_cast<std::size_t>(std::bit_width(lines)) - 1;
  const std::size_t known = version.minor >= 29 ? kSizes : kSizes - 1;
  return index < known ? kShares[static_cast<std::size_t>(protocol)][index] : 1;
}

}  // namespace

CostTable cost_table(Kind kind, const Communicator& communicator, const Settings& settings) {
  STEPCAST_CHECK(communicator.ranks > 1 && communicator.nodes > 0 && communicator.ring.channels > 0,
                 "{} ranks on {} nodes, {} rings", communicator.ranks, communicator.nodes,
                 communicator.ring.channels);
  CostTable table;
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<Family>(f);
    const std::string refusal = refuse_family(family, kind, communicator, settings);
    for (std::size_t protocol = 0; protocol < 3; ++protocol) {
      Cost& cost = table[f][protocol];
      cost.reason =
          !refusal.empty() ? refusal : refuse_protocol(family, protocol, kind, communicator, settings);
      if (!cost.reason.empty()) {
        continue;
      }
      cost.latency_us = latency_us(family, protocol, kind, communicator, settings);
      cost.bandwidth = algorithm_bandwidth(family, kind, communicator, settings.version,
                                           bus_bandwidth(family, protocol, kind, communicator, settings));
      if (cost.bandwidth <= 0) {
        cost.reason = "no channels";
      }
    }
  }
  return table;
}

double table_time_us(const CostTable& table,
                     Family family,
                     Protocol protocol,
                     Kind kind,
                     Bytes bytes,
                     const Communicator& communicator,
                     const Settings& settings) {
  const Cost& cost = table[index_of(family)][static_cast<std::size_t>(protocol)];
  if (cost.bandwidth <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  double bandwidth = cost.bandwidth;
  double latency = cost.latency_us;
  const double size = static_cast<double>(bytes.count());
  if (family == Family::kTree) {
    bandwidth *= tree_share(protocol, bytes, settings.version);
  }
  const bool between_hosts = communicator.nodes > 1;
  if (family == Family::kRing && protocol == Protocol::kSimple && between_hosts && kind == Kind::kAllReduce &&
      size / (communicator.connected_channels * static_cast<double>(communicator.ranks)) >= 64) {
    latency *= communicator.compute_capability < 80 ? 1.9 : 1.4;
  }
  return latency + size / (1000 * bandwidth);
}

std::uint32_t active_channels(Family family,
                              Protocol protocol,
                              Bytes bytes,
                              const Communicator& communicator) {
  if (is_nvls(family)) {
    return communicator.nvls_channels;
  }
  const bool ring_like = family == Family::kRing || family == Family::kTree || family == Family::kPat;
  const double ring_bandwidth = communicator.ring.channels * communicator.ring.intra;
  std::int64_t threads = 512;
  std::int64_t threshold = 64;
  switch (protocol) {
    case Protocol::kLl: threshold = family == Family::kRing ? std::int64_t{8} * communicator.ranks : 8; break;
    case Protocol::kLl128:
      threads = 640;
      threshold = 8;
      break;
    case Protocol::kSimple:
      threads = family == Family::kRing && ring_bandwidth <= 12 ? 256 : 512;
      threshold = ring_like ? 64 : 512;
      break;
  }
  std::uint32_t channels = communicator.connected_channels;
  while (ring_like && channels > 1 && bytes.count() < std::int64_t{channels} * threads * threshold) {
    --channels;
  }
  return channels;
}

}  // namespace stepcast::collective::nccl
