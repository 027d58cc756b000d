#include "collective/nccl/channel_finder.hpp"

#include <algorithm>
#include <span>

#include "base/check.hpp"
#include "collective/nccl/channel_attempt.hpp"

namespace stepcast::collective::nccl {
namespace {

// Only ways that exist between GPUs and NICs are tried. The second GPU of a balanced tree hears from the NIC
// over the processor, though it sends over PXN, so Ampere found no tree until all ways were tried for it
// again (github.com/NVIDIA/nccl/issues/1876).
constexpr std::uint32_t kOnlyWaysThatExist = nccl_version(2, 25, 0);
constexpr std::uint32_t kOldGpusAnyWay = nccl_version(2, 29, 0);
constexpr std::uint32_t kSplitBeforeRaise = nccl_version(2, 20, 0);

// A channel faster than this is split in two, each of half the speed.
constexpr double kSplitAboveGbPerS = 25;
constexpr double kHopperKeepsGbPerS = 50;  // after Ampere only above this, unless there are few channels
constexpr std::uint32_t kFewChannels = 4;

// Slower speeds are tried down to about half of the best found.
constexpr double kSlowestShare = 0.49;
std::span<const double> speeds(std::uint32_t generation, bool inter, std::uint32_t version) {
  static constexpr double kIntraOld[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static constexpr double kInterOld[] = {48, 30, 28, 24, 20, 18,  15,  12,   10,  9,
                                         7,  6,  5,  4,  3,  2.4, 1.2, 0.24, 0.12};
  static constexpr double kIntra90First[] = {60, 40, 30, 24, 20, 15, 12, 6, 3};
  static constexpr double kIntra90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static constexpr double kInter90[] = {48, 45, 42, 40, 30,  24,  22,   20,  17.5,
                                        15, 12, 6,  3,  2.4, 1.2, 0.24, 0.12};
  static constexpr double kIntra100First[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
  static constexpr double kIntra100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  static constexpr double kInter100At27[] = {47.9, 45.1, 42, 40, 30,  24,  22,   20,  17.5,
                                             15,   12,   6,  3,  2.4, 1.2, 0.24, 0.12};
  static constexpr double kInter100At28[] = {96,   48, 45.1, 42, 40, 30,  24,  22,   20,
                                             17.5, 15, 12,   6,  3,  2.4, 1.2, 0.24, 0.12};
  static constexpr double kInter100[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                         20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};
  if (generation >= 100 && version >= nccl_version(2, 25, 0)) {
    if (!inter) {
      return version < nccl_version(2, 26, 0) ? std::span<const double>(kIntra100First) : kIntra100;
    }
    if (version < nccl_version(2, 27, 0)) {
      return kInter90;
    }
    if (version < nccl_version(2, 28, 0)) {
      return kInter100At27;
    }
    return version < nccl_version(2, 30, 0) ? std::span<const double>(kInter100At28) : kInter100;
  }
  if (generation >= 90) {
    if (inter) {
      return kInter90;
    }
    return version < nccl_version(2, 19, 0) ? std::span<const double>(kIntra90First) : kIntra90;
  }
  return inter ? std::span<const double>(kInterOld) : kIntraOld;
}

/// Rings, trees and chains: relaxes the terms until channels are found, then splits and raises them.
class PathSearch {
 public:
  PathSearch(const NodeShape& shape,
             const Routes& routes,
             const ChannelSettings& settings,
             const GraphRequest& request)
      : shape_(shape),
        routes_(routes),
        settings_(settings),
        request_(request),
        speeds_(speeds(shape.generation, routes.nics > 0, settings.version)) {
    if (routes.gpus == 1 && request_.pattern != Pattern::kRing) {
      request_.pattern = Pattern::kTree;
    }
    find_type_range();
  }

  ChannelGraph run() {
    relax();
    best_.channels_searched = best_.channels;
    const bool split_first = settings_.version >= kSplitBeforeRaise;
    if (split_first) {
      split();
    }
    if (best_.channels > 0) {
      raise();
    }
    if (!split_first) {
      best_.channels_searched = best_.channels;
      split();
    }
    if (best_.channels == 0 && !request_.collnet) {
      fall_back();
    }
    return std::move(best_);
  }

 private:
  void find_type_range() {
    least_intra_ = routes_.gpus == 1 ? PathType::kLoc : PathType::kNvl;
    most_intra_ = PathType::kSys;
    least_inter_ = PathType::kPix;
    most_inter_ = PathType::kSys;
    if (settings_.version < kOnlyWaysThatExist) {
      return;
    }
    if (routes_.gpus > 1) {
      least_intra_ = PathType::kDis;
      most_intra_ = PathType::kLoc;
      for (std::uint32_t a = 0; a < routes_.gpus; ++a) {
        for (std::uint32_t b = 0; b < routes_.gpus; ++b) {
          if (a != b) {
            least_intra_ = std::min(least_intra_, routes_.gpu_to_gpu[a][b].type);
            most_intra_ = std::max(most_intra_, routes_.gpu_to_gpu[a][b].type);
          }
        }
      }
    }
    if (routes_.nics > 0) {
      least_inter_ = PathType::kDis;
      most_inter_ = PathType::kLoc;
      for (const std::vector<Route>& row : routes_.gpu_to_nic) {
        for (const Route& route : row) {
          least_inter_ = std::min(least_inter_, route.type);
          most_inter_ = std::max(most_inter_, route.type);
        }
      }
      if (shape_.generation < 90 && settings_.version >= kOldGpusAnyWay) {
        most_inter_ = PathType::kSys;
      }
    }
  }

  [[nodiscard]] bool may_cross() const {
    return routes_.nics > 1 && settings_.cross_nic > 0 &&
           (request_.pattern == Pattern::kRing || request_.pattern == Pattern::kBalancedTree);
  }

  /// True when the search is over: as many channels as allowed, or all that a GPU can send.
  bool attempt(const Terms& terms) {
    const AttemptResult result = attempt_channels(shape_, routes_, settings_, request_.collnet, terms, best_);
    ran_out_ = result.ran_out;
    return result.full ||
           (best_.channels > 0 && best_.channels * best_.inter_gb_per_s + 1e-6 >= routes_.total_gb_per_s);
  }

  [[nodiscard]] Terms terms_at(double speed) const {
    return {.pattern = request_.pattern,
            .min_channels = request_.min_channels,
            .max_channels = request_.max_channels,
            .intra_gb_per_s = speed,
            .inter_gb_per_s = speed};
  }

  void relax() {
    double total = routes_.total_gb_per_s;
    if (routes_.gpus > 1 && request_.pattern != Pattern::kRing) {
      total *= routes_.gpus / (routes_.gpus - 1.0);
    }
    std::size_t index = 0;
    while (index + 1 < speeds_.size() &&
           (speeds_[index] > routes_.widest_gb_per_s + 1e-6 ||
            (total > 0 && speeds_[index] * request_.min_channels > total + 1e-6))) {
      ++index;
    }
    for (; index < speeds_.size(); ++index) {
      if (best_.channels > 0 && speeds_[index] / best_.inter_gb_per_s <= kSlowestShare) {
        return;
      }
      const std::uint32_t crossing = settings_.version < kPairsExchangeNics ? 1 : 2;
      Terms terms = terms_at(speeds_[index]);
      terms.cross_nic = settings_.cross_nic == 1 && may_cross() ? 1 : 0;
      if (relax_types(terms)) {
        return;
      }
      if (settings_.cross_nic == 2 && may_cross()) {
        terms.cross_nic = crossing;
        if (relax_types(terms)) {
          return;
        }
      }
    }
  }

  bool relax_types(Terms terms) {
    for (int inter = static_cast<int>(least_inter_);; ++inter) {
      terms.inter = static_cast<PathType>(inter);
      const PathType most = routes_.nics > 0 ? terms.inter : most_intra_;
      for (int intra = static_cast<int>(least_intra_);; ++intra) {
        terms.intra = static_cast<PathType>(intra);
        if (relax_order(terms)) {
          return true;
        }
        const bool further = best_.channels == 0 || terms.intra < best_.type_intra;
        if (terms.intra >= most || !further) {
          break;
        }
      }
      const bool further =
          best_.channels == 0 || terms.inter < best_.type_inter || terms.inter < PathType::kPxn;
      if (routes_.nics == 0 || terms.inter >= most_inter_ || !further) {
        return false;
      }
    }
  }

  /// The same order on all channels, then any; for trees after Ampere then the plain pattern.
  bool relax_order(Terms terms) {
    const bool any_order =
        settings_.version < kNeighboursFirst || shape_.cpu != CpuKind::kAmd || terms.intra != PathType::kSys;
    const bool plain_too = shape_.generation >= 90 && request_.pattern == Pattern::kBalancedTree;
    for (int plain = 0; plain <= (plain_too ? 1 : 0); ++plain) {
      terms.pattern = plain == 1 ? Pattern::kTree : request_.pattern;
      for (int same = 1; same >= (any_order ? 0 : 1); --same) {
        terms.same_channels = same == 1;
        if (attempt(terms)) {
          return true;
        }
      }
    }
    return false;
  }

  void split() {
    if (best_.channels == 0 || best_.intra_gb_per_s < kSplitAboveGbPerS) {
      return;
    }
    if (shape_.generation > 80 && best_.intra_gb_per_s < kHopperKeepsGbPerS &&
        best_.channels > kFewChannels) {
      return;
    }
    const std::uint32_t before = best_.channels;
    const std::uint32_t after = std::min(2 * before, request_.max_channels);
    if (after <= before) {
      return;
    }
    for (std::uint32_t c = before; c < after; ++c) {
      best_.orders.push_back(best_.orders[c - before]);
      if (!best_.nics_in.empty()) {
        best_.nics_in.push_back(best_.nics_in[c - before]);
        best_.nics_out.push_back(best_.nics_out[c - before]);
      }
    }
    best_.intra_gb_per_s /= 2;
    best_.inter_gb_per_s /= 2;
    best_.channels = after;
  }

  /// The same number of channels at higher speeds: for rings as a whole, for trees only inside the node, up
  /// to twice the speed between nodes.
  void raise() {
    Terms terms{.pattern = best_.pattern,
                .min_channels = best_.channels,
                .max_channels = request_.max_channels,
                .same_channels = best_.same_channels,
                .cross_nic = best_.cross_nic,
                .intra = best_.type_intra,
                .inter = best_.type_inter};
    const bool ring = request_.pattern == Pattern::kRing;
    if (ring && settings_.version < kSplitBeforeRaise) {
      return;
    }
    std::size_t index = 0;
    while (index + 1 < speeds_.size() && speeds_[index] > best_.inter_gb_per_s + 1e-6) {
      ++index;
    }
    terms.intra_gb_per_s = terms.inter_gb_per_s = speeds_[index];
    while (index > 0) {
      if (ring) {
        terms.intra_gb_per_s = terms.inter_gb_per_s = speeds_[--index];
      } else if (terms.intra_gb_per_s == best_.intra_gb_per_s &&
                 terms.intra_gb_per_s < 2 * terms.inter_gb_per_s) {
        terms.intra_gb_per_s = speeds_[--index];
      } else {
        return;
      }
      attempt(terms);
      if (ran_out_) {
        return;
      }
    }
  }

  void fall_back() {
    best_.channels = best_.channels_searched = 1;
    best_.intra_gb_per_s = best_.inter_gb_per_s = 0.1;
    best_.type_intra = best_.type_inter = PathType::kSys;
    best_.pattern = request_.pattern;
    best_.orders.assign(1, {});
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      best_.orders[0].push_back(g);
    }
    if (routes_.nics > 0) {
      best_.nics_in = best_.nics_out = {0};
    }
  }

  const NodeShape& shape_;
  const Routes& routes_;
  const ChannelSettings& settings_;
  GraphRequest request_;
  std::span<const double> speeds_;
  PathType least_intra_ = PathType::kNvl;
  PathType most_intra_ = PathType::kSys;
  PathType least_inter_ = PathType::kPix;
  PathType most_inter_ = PathType::kSys;
  ChannelGraph best_;
  bool ran_out_ = false;
};

/// NVLS and CollNet direct: every channel has a head that gathers from all GPUs of the node, so the search is
/// only for how many heads fit at which speed.
class HeadSearch {
 public:
  HeadSearch(const NodeShape& shape,
             const Routes& routes,
             const ChannelSettings& settings,
             const GraphRequest& request)
      : shape_(shape),
        routes_(routes),
        request_(request),
        speeds_(speeds(shape.generation, routes.nics > 0, settings.version)) {}

  ChannelGraph run() {
    if (!routes_.nvswitch || routes_.gpus < 2 || (nvls() && shape_.generation < 90)) {
      return {};
    }
    const std::vector<std::uint32_t> nics = head_nics();
    const auto heads = static_cast<std::uint32_t>(routes_.nics > 0 ? nics.size() : routes_.gpus);
    const std::uint32_t most = std::min(request_.max_channels, std::min(heads, routes_.gpus));
    // On one node every GPU pulls its part; between nodes more heads are better.
    const std::uint32_t least = routes_.nics == 0 ? most : 1;
    ChannelGraph best;
    best.type_intra = PathType::kNvl;
    best.pattern = request_.pattern;
    std::size_t at = 0;
    for (std::size_t i = 0; i < speeds_.size(); ++i) {
      const double speed = speeds_[i];
      if (speed > routes_.widest_gb_per_s + 1e-6) {
        continue;
      }
      if (best.channels > 0 && speed / best.inter_gb_per_s <= kSlowestShare) {
        break;
      }
      const std::uint32_t fit = fitting(most, speed, speed, nics);
      if (fit >= least && (fit > best.channels || fit * speed > best.channels * best.inter_gb_per_s + 1e-6)) {
        best.channels = fit;
        best.intra_gb_per_s = best.inter_gb_per_s = speed;
        at = i;
      }
    }
    if (best.channels == 0) {
      return {};
    }
    // Then faster towards the network, where that fits.
    while (routes_.nics > 0 && at > 0 && best.inter_gb_per_s < 2 * best.intra_gb_per_s &&
           fitting(best.channels, best.intra_gb_per_s, speeds_[at - 1], nics) == best.channels) {
      best.inter_gb_per_s = speeds_[--at];
    }
    best.channels_searched = best.channels;
    for (std::uint32_t c = 0; c < best.channels; ++c) {
      best.orders.push_back({routes_.nics > 0 ? routes_.nic_gpu[nics[c]] : c});
      if (routes_.nics > 0) {
        best.nics_in.push_back(nics[c]);
        best.nics_out.push_back(nics[c]);
        best.type_inter = std::max(best.type_inter, routes_.gpu_to_nic[best.orders[c][0]][nics[c]].type);
        best.latency_inter_us = shape_.nics[nics[c]].latency_us;
      }
    }
    return best;
  }

 private:
  [[nodiscard]] bool nvls() const { return request_.pattern == Pattern::kNvls; }

  /// One NIC for each GPU that is the first of some NIC.
  [[nodiscard]] std::vector<std::uint32_t> head_nics() const {
    std::vector<std::uint32_t> nics;
    std::vector<bool> has(routes_.gpus, false);
    for (std::uint32_t n = 0; n < routes_.nics; ++n) {
      if ((!request_.collnet || shape_.nics[n].reduces) && !has[routes_.nic_gpu[n]]) {
        has[routes_.nic_gpu[n]] = true;
        nics.push_back(n);
      }
    }
    return nics;
  }

  /// Heads, of at most `most`, that fit at these speeds.
  [[nodiscard]] std::uint32_t fitting(std::uint32_t most,
                                      double intra,
                                      double inter,
                                      const std::vector<std::uint32_t>& nics) const {
    std::vector<double> left = routes_.capacity;
    const double member = nvls() ? intra : intra / (routes_.gpus - 1.0);
    const double head = nvls() ? 2 * intra : intra;
    for (std::uint32_t c = 0; c < most; ++c) {
      const std::uint32_t gpu = routes_.nics > 0 ? routes_.nic_gpu[nics[c]] : c;
      for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
        for (const std::uint32_t link : {routes_.nvlink_up[g], routes_.nvlink_down[g]}) {
          left[link] -= g == gpu ? head : member;
        }
      }
      if (routes_.nics > 0) {
        for (const Route* route : {&routes_.gpu_to_nic[gpu][nics[c]], &routes_.nic_to_gpu[nics[c]][gpu]}) {
          for (std::size_t i = 0; i < route->links.size(); ++i) {
            left[route->links[i]] -= inter * route->load[i];
          }
        }
      }
      if (*std::min_element(left.begin(), left.end()) < -1e-6) {
        return c;
      }
    }
    return most;
  }

  const NodeShape& shape_;
  const Routes& routes_;
  GraphRequest request_;
  std::span<const double> speeds_;
};

}  // namespace

ChannelGraph find_graph(const NodeShape& shape,
                        const Routes& routes,
                        const ChannelSettings& settings,
                        const GraphRequest& request) {
  STEPCAST_CHECK(routes.gpus > 0, "a node without members");
  if (request.pattern == Pattern::kNvls || request.pattern == Pattern::kCollnetDirect) {
    return HeadSearch(shape, routes, settings, request).run();
  }
  return PathSearch(shape, routes, settings, request).run();
}

}  // namespace stepcast::collective::nccl
