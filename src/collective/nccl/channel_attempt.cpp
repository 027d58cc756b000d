#include "collective/nccl/channel_attempt.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace stepcast::collective::nccl {
namespace {

// More and slower channels must bring at least this much: NCCL's own search runs out of time before it finds
// less.
constexpr double kWorthwhile = 1.005;
// Until 2.19 a solution that crosses rails had to be this much faster.
constexpr double kCrossBonus = 1.15;

constexpr double kRounding = 1e-6;  // sums of speeds against nominal capacities
constexpr int kVisits = 1 << 12;    // of GPUs in one attempt
constexpr int kVisitsReference = 1 << 10;

/// One attempt: as many channels as fit under given terms, depth first; keeps in `best` what is better.
class Attempt {
 public:
  Attempt(const NodeShape& shape,
          const Routes& routes,
          const ChannelSettings& settings,
          bool collnet,
          const Terms& terms,
          ChannelGraph& best)
      : shape_(shape),
        routes_(routes),
        collnet_(collnet),
        terms_(terms),
        best_(best),
        neighbours_only_(routes.nvswitch && settings.version >= kNeighboursFirst),
        rotates_nics_(settings.version >= kNeighboursFirst),
        rewards_rails_(settings.version < kPairsExchangeNics),
        left_(routes.capacity),
        nic_free_(routes.nic_free),
        on_channel_(routes.gpus, false),
        reach_(routes.gpus + 1) {
    enough_ = std::min(terms.max_channels, most_channels());
    visits_ = terms.same_channels ? 256 + static_cast<int>(64 * routes.gpus) : kVisits;
  }

  /// True when as many channels were found as were allowed.
  bool run() {
    if (worthwhile()) {
      grow();
    }
    return complete_ && best_.channels == terms_.max_channels;
  }
  [[nodiscard]] bool ran_out() const { return visits_ <= 0 && !complete_; }

 private:
  enum class Order : std::uint8_t { kSearch, kBus, kRepeat };

  /// No more channels than this can fit.
  [[nodiscard]] std::uint32_t most_channels() const {
    double most = terms_.max_channels;
    if (routes_.nics > 0) {
      double on_nics = 0;
      for (std::uint32_t n = 0; n < routes_.nics; ++n) {
        on_nics +=
            usable(n) ? std::floor(nic_free_[n] / std::floor(std::max(1.0, terms_.inter_gb_per_s))) : 0;
      }
      if (terms_.inter_gb_per_s >= 1) {
        most = std::min(most, on_nics);
      }
    } else if (routes_.gpus > 1 && terms_.pattern == Pattern::kRing) {
      most = std::min(most, std::floor((routes_.total_gb_per_s + kRounding) / terms_.intra_gb_per_s));
    }
    return static_cast<std::uint32_t>(most);
  }

  [[nodiscard]] bool worthwhile() const {
    if (enough_ < terms_.min_channels || enough_ == 0) {
      return false;
    }
    if (best_.channels == 0) {
      return true;
    }
    const double most = enough_ * terms_.intra_gb_per_s;
    const double before = best_.channels * best_.intra_gb_per_s;
    return terms_.intra_gb_per_s < best_.intra_gb_per_s ? most > before * kWorthwhile
                                                        : most + kRounding >= before;
  }

  [[nodiscard]] bool usable(std::uint32_t nic) const { return !collnet_ || shape_.nics[nic].reduces; }

  [[nodiscard]] bool fits(const Route& route, double speed) const {
    for (std::size_t i = 0; i < route.links.size(); ++i) {
      if (left_[route.links[i]] + kRounding < speed * route.load[i]) {
        return false;
      }
    }
    return true;
  }
  void use(const Route& route, double speed) {
    for (std::size_t i = 0; i < route.links.size(); ++i) {
      left_[route.links[i]] -= speed * route.load[i];
    }
    hops_ += speed > 0 ? static_cast<int>(route.hops) : -static_cast<int>(route.hops);
  }

  /// Calls `then` with `route` in use, when it is near and wide enough.
  template <typename Then>
  void follow(const Route& route, const Route& back, bool intra, double share, Then then) {
    if (route.hops == 0) {
      then();
      return;
    }
    const PathType worst = intra ? terms_.intra : terms_.inter;
    const bool both_ways = terms_.pattern == Pattern::kTree || terms_.pattern == Pattern::kBalancedTree;
    if (route.type > worst || (both_ways && back.type > worst)) {
      return;
    }
    const double speed = share * (intra ? terms_.intra_gb_per_s : terms_.inter_gb_per_s);
    if (fits(route, speed)) {
      use(route, speed);
      then();
      use(route, -speed);
    }
  }

  [[nodiscard]] std::uint32_t channel() const { return static_cast<std::uint32_t>(orders_.size()); }

  /// Begins one more channel.
  void grow() {
    if (routes_.nics > 0) {
      grow_from_nics();
      return;
    }
    if (orders_.empty()) {
      start(0, Order::kBus);
    } else {
      start(orders_.back().front(), Order::kRepeat);
    }
    if (orders_.empty() || !terms_.same_channels) {
      for (std::uint32_t g = 0; g < routes_.gpus && !complete_; ++g) {
        start(g, Order::kSearch);
      }
    }
  }

  void start(std::uint32_t gpu, Order order) {
    order_.clear();
    visit(gpu, order);
  }

  void grow_from_nics() {
    const std::vector<std::uint32_t>& nics = nics_in_reach(routes_.gpus);
    const std::uint32_t shift = rotates_nics_ ? channel() : 0;
    for (std::uint32_t i = 0; i < nics.size() && !complete_; ++i) {
      const std::uint32_t nic = nics[(shift + i) % nics.size()];
      // NCCL compares whole GB/s here.
      const double speed = std::trunc(terms_.inter_gb_per_s);
      if (!usable(nic) || nic_free_[nic] < speed) {
        continue;
      }
      if (pairs() && channel() % 2 == 1 && nic != nics_out_.back()) {
        continue;
      }
      nic_free_[nic] -= speed;
      const std::uint32_t nic_before = nic_in_;
      nic_in_ = nic;
      enter(nic);
      nic_in_ = nic_before;
      nic_free_[nic] += speed;
    }
  }

  void enter(std::uint32_t nic) {
    const bool repeats = !orders_.empty();
    if (repeats && (terms_.same_channels || !rotates_nics_)) {
      enter_at(nic, orders_.back().front(), Order::kRepeat);
    }
    if (repeats && terms_.same_channels) {
      return;
    }
    if (!repeats && !neighbours_only_) {
      // A short try in bus order, as a reference for the others.
      const int visits = visits_;
      visits_ = kVisitsReference;
      enter_at(nic, 0, Order::kBus);
      visits_ = visits;
    }
    for (const std::uint32_t gpu : first_gpus(nic)) {
      if (complete_) {
        return;
      }
      enter_at(nic, gpu, Order::kSearch);
    }
  }

  void enter_at(std::uint32_t nic, std::uint32_t gpu, Order order) {
    follow(routes_.nic_to_gpu[nic][gpu], routes_.gpu_to_nic[gpu][nic], false, 1, [&] { start(gpu, order); });
  }

  /// GPUs where a channel from `nic` may begin: those nearest to it.
  [[nodiscard]] std::vector<std::uint32_t> first_gpus(std::uint32_t nic) const {
    const std::vector<Route>& in = routes_.nic_to_gpu[nic];
    double widest = 0;
    std::uint32_t hops = 0;
    for (const Route& route : in) {
      if (route.width_gb_per_s > widest || (route.width_gb_per_s == widest && route.hops < hops)) {
        widest = route.width_gb_per_s;
        hops = route.hops;
      }
    }
    std::vector<std::uint32_t> near;
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      if (in[g].width_gb_per_s == widest && in[g].hops == hops) {
        near.push_back(g);
      }
    }
    if (rotates_nics_) {
      // The GPU that this NIC serves comes first.
      std::stable_partition(near.begin(), near.end(),
                            [&](std::uint32_t g) { return g == routes_.nic_gpu[nic]; });
    } else {
      // GPUs whose slot no other channel uses come first.
      std::stable_partition(near.begin(), near.end(), [&](std::uint32_t g) { return slot_left(g) >= 1; });
    }
    return near;
  }

  [[nodiscard]] double slot_left(std::uint32_t gpu) const {
    return std::floor(std::min(left_[routes_.pcie_down[gpu]], left_[routes_.pcie_up[gpu]]) + kRounding);
  }

  /// NICs in the order in which they are tried: the nearest of each GPU, then others near enough. `gpu`: from
  /// this GPU; the number of GPUs: from any. Listed once.
  const std::vector<std::uint32_t>& nics_in_reach(std::uint32_t gpu) {
    std::vector<std::uint32_t>& nics = reach_[gpu];
    if (!nics.empty()) {
      return nics;
    }
    std::vector<bool> listed(routes_.nics, false);
    const auto add = [&](std::uint32_t nic) {
      if (!listed[nic]) {
        listed[nic] = true;
        nics.push_back(nic);
      }
    };
    const std::uint32_t first = gpu == routes_.gpus ? 0 : gpu;
    const std::uint32_t last = gpu == routes_.gpus ? routes_.gpus : gpu + 1;
    for (std::uint32_t g = first; g < last; ++g) {
      for (const std::uint32_t nic : routes_.near_nics[g]) {
        add(nic);
      }
    }
    for (int type = 0; type <= static_cast<int>(terms_.inter); ++type) {
      for (std::uint32_t g = first; g < last; ++g) {
        for (std::uint32_t nic = 0; nic < routes_.nics; ++nic) {
          if (static_cast<int>(routes_.gpu_to_nic[g][nic].type) == type) {
            add(nic);
          }
        }
      }
    }
    return nics;
  }

  [[nodiscard]] bool pairs() const { return terms_.pattern == Pattern::kRing && terms_.cross_nic == 2; }

  /// Puts `gpu` next on the channel, sends to the NIC where the pattern asks for it, and goes on.
  void visit(std::uint32_t gpu, Order order) {
    if (visits_ <= 0 || complete_) {
      return;
    }
    --visits_;
    on_channel_[gpu] = true;
    order_.push_back(gpu);
    const auto step = static_cast<std::uint32_t>(order_.size() - 1);
    if (routes_.nics > 0 && leaves_at(step)) {
      leave(gpu, step, order);
    } else {
      go_on(gpu, step, order);
    }
    order_.pop_back();
    on_channel_[gpu] = false;
  }

  [[nodiscard]] bool leaves_at(std::uint32_t step) const {
    switch (terms_.pattern) {
      case Pattern::kRing: return step + 1 == routes_.gpus;
      case Pattern::kTree: return step == 0;
      case Pattern::kBalancedTree: return step <= 1;
      default: return false;
    }
  }

  void leave(std::uint32_t gpu, std::uint32_t step, Order order) {
    const bool balanced = terms_.pattern == Pattern::kBalancedTree;
    for (const std::uint32_t nic : nics_in_reach(gpu)) {
      if (complete_) {
        return;
      }
      if (!may_leave(nic, step)) {
        continue;
      }
      // Both first GPUs of a balanced tree carry half.
      follow(routes_.gpu_to_nic[gpu][nic], routes_.nic_to_gpu[nic][gpu], false, balanced ? 0.5 : 1, [&] {
        const std::uint32_t before = nic_out_;
        nic_out_ = nic;
        go_on(gpu, step, order);
        nic_out_ = before;
      });
    }
  }

  [[nodiscard]] bool may_leave(std::uint32_t nic, std::uint32_t step) const {
    if (terms_.pattern == Pattern::kTree) {
      return nic == nic_in_;
    }
    if (pairs()) {
      return channel() % 2 == 0 || nic == nics_in_.back();
    }
    if (terms_.cross_nic == 0 && nic != nic_in_) {
      return false;
    }
    return terms_.pattern != Pattern::kBalancedTree || step == 0 || nic == nic_out_;
  }

  void go_on(std::uint32_t gpu, std::uint32_t step, Order order) {
    if (step + 1 < routes_.gpus) {
      for (const std::uint32_t next : next_gpus(gpu, step, order)) {
        if (complete_) {
          return;
        }
        if (!on_channel_[next]) {
          follow(routes_.gpu_to_gpu[gpu][next], routes_.gpu_to_gpu[next][gpu], true, 1,
                 [&] { visit(next, order); });
        }
      }
    } else if (routes_.nics == 0 && terms_.pattern == Pattern::kRing) {
      const std::uint32_t first = order_.front();
      follow(routes_.gpu_to_gpu[gpu][first], routes_.gpu_to_gpu[first][gpu], true, 1, [&] { close(); });
    } else {
      close();
    }
  }

  struct Candidate {
    std::uint32_t gpu = 0;
    double nic_width = 0;
    double slot = 0;
    std::uint32_t nic_hops = 0;
    double width = 0;
    std::uint32_t hops = 0;
    std::uint32_t distance = 0;
  };

  [[nodiscard]] std::vector<std::uint32_t> next_gpus(std::uint32_t gpu,
                                                     std::uint32_t step,
                                                     Order order) const {
    if (order == Order::kBus) {
      return {step + 1};
    }
    if (order == Order::kRepeat) {
      return {orders_.back()[step + 1]};
    }
    if (neighbours_only_) {
      return neighbours(gpu);
    }
    const bool ring_to_nic = routes_.nics > 0 && terms_.pattern == Pattern::kRing;
    const bool next_leaves = routes_.nics > 0 && leaves_at(step + 1);
    const bool looks_at_nic = ring_to_nic || next_leaves;
    std::vector<Candidate> candidates;
    for (std::uint32_t i = 1; i < routes_.gpus; ++i) {
      const std::uint32_t g = (gpu + i) % routes_.gpus;
      const Route& route = routes_.gpu_to_gpu[gpu][g];
      if (route.hops == 0 || on_channel_[g]) {
        continue;
      }
      Candidate& candidate = candidates.emplace_back();
      candidate = {.gpu = g, .width = std::trunc(route.width_gb_per_s), .hops = route.hops, .distance = i};
      if (looks_at_nic) {
        const Route& in = routes_.nic_to_gpu[nic_in_][g];
        candidate.nic_width = std::trunc(in.width_gb_per_s);
        candidate.nic_hops = in.hops;
        candidate.slot = slot_left(g);
      }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(-a.nic_width, -a.slot, a.nic_hops, -a.width, a.hops, a.distance) <
             std::tuple(-b.nic_width, -b.slot, b.nic_hops, -b.width, b.hops, b.distance);
    });
    // Far from the NIC first, so that the last GPU is near to it, unless NVLink itself differs.
    const bool alike = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return c.width == candidates.front().width && c.hops == candidates.front().hops;
    });
    if (looks_at_nic && !next_leaves && alike) {
      std::reverse(candidates.begin(), candidates.end());
    }
    std::vector<std::uint32_t> next;
    next.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
      next.push_back(candidate.gpu);
    }
    return next;
  }

  /// Over NVSwitch: the GPU before and the one after, the preferred one first.
  [[nodiscard]] std::vector<std::uint32_t> neighbours(std::uint32_t gpu) const {
    const std::uint32_t before = (gpu + routes_.gpus - 1) % routes_.gpus;
    const std::uint32_t after = (gpu + 1) % routes_.gpus;
    std::vector<std::uint32_t> wanted;
    switch (terms_.pattern) {
      case Pattern::kRing: wanted = {before, after}; break;
      case Pattern::kBalancedTree: wanted = {after, before}; break;
      default: wanted = {after}; break;
    }
    std::erase_if(wanted, [&](std::uint32_t g) { return g == gpu || on_channel_[g]; });
    if (before == after && wanted.size() > 1) {
      wanted.pop_back();
    }
    return wanted;
  }

  /// A channel is complete: keeps the graph if it is better, and begins the next channel.
  void close() {
    if (visits_ <= 0) {
      return;
    }
    --visits_;
    orders_.push_back(order_);
    nics_in_.push_back(nic_in_);
    nics_out_.push_back(nic_out_);
    if (better()) {
      keep();
    }
    if (channel() >= enough_ && best_.channels >= enough_) {
      complete_ = true;
    }
    if (channel() < terms_.max_channels && !complete_) {
      // The next channel uses the same working state.
      std::vector<std::uint32_t> order = std::move(order_);
      std::vector<bool> on_channel(routes_.gpus, false);
      std::swap(on_channel, on_channel_);
      grow();
      std::swap(on_channel, on_channel_);
      order_ = std::move(order);
    }
    orders_.pop_back();
    nics_in_.pop_back();
    nics_out_.pop_back();
  }

  [[nodiscard]] bool better() const {
    if (channel() < terms_.min_channels) {
      return false;
    }
    if (best_.channels == 0) {
      return true;
    }
    const double now = channel() * terms_.intra_gb_per_s;
    double before = best_.channels * best_.intra_gb_per_s;
    if (rewards_rails_ && terms_.cross_nic != best_.cross_nic) {
      before *= best_.cross_nic == 0 ? kCrossBonus : 2 - kCrossBonus;
    }
    if (terms_.intra_gb_per_s < best_.intra_gb_per_s) {
      return now > before * kWorthwhile;
    }
    if (std::abs(now - before) > kRounding) {
      return now > before;
    }
    return terms_.pattern == best_.pattern && terms_.cross_nic == best_.cross_nic &&
           hops_ < static_cast<int>(best_.hops);
  }

  void keep() {
    best_.channels = channel();
    best_.intra_gb_per_s = terms_.intra_gb_per_s;
    best_.inter_gb_per_s = terms_.inter_gb_per_s;
    best_.type_intra = terms_.intra;
    best_.type_inter = terms_.inter;
    best_.cross_nic = terms_.cross_nic;
    best_.same_channels = terms_.same_channels;
    best_.pattern = terms_.pattern;
    best_.hops = static_cast<std::uint32_t>(hops_);
    best_.orders = orders_;
    best_.nics_in.clear();
    best_.nics_out.clear();
    if (routes_.nics > 0) {
      best_.nics_in = nics_in_;
      best_.nics_out = nics_out_;
      best_.latency_inter_us = shape_.nics[nic_in_].latency_us;
    }
  }

  const NodeShape& shape_;
  const Routes& routes_;
  bool collnet_;
  const Terms& terms_;
  ChannelGraph& best_;
  bool neighbours_only_;
  bool rotates_nics_;
  bool rewards_rails_;
  std::uint32_t enough_ = 0;
  int visits_ = 0;
  int hops_ = 0;
  bool complete_ = false;  // enough channels: the rest need not be looked at

  std::vector<double> left_;  // by link: capacity that is left
  std::vector<double> nic_free_;
  std::vector<std::vector<std::uint32_t>> orders_;  // finished channels
  std::vector<std::uint32_t> nics_in_;
  std::vector<std::uint32_t> nics_out_;
  std::vector<std::uint32_t> order_;  // the channel being built
  std::vector<bool> on_channel_;
  std::vector<std::vector<std::uint32_t>> reach_;  // by GPU, the last for any: NICs in the order of trying
  std::uint32_t nic_in_ = 0;
  std::uint32_t nic_out_ = 0;
};

}  // namespace

AttemptResult attempt_channels(const NodeShape& shape,
                               const Routes& routes,
                               const ChannelSettings& settings,
                               bool collnet,
                               const Terms& terms,
                               ChannelGraph& best) {
  Attempt attempt(shape, routes, settings, collnet, terms, best);
  const bool full = attempt.run();
  return {.full = full, .ran_out = attempt.ran_out()};
}

}  // namespace stepcast::collective::nccl
