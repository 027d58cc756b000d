#include "collective/nccl/channel_routes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace stepcast::collective::nccl {
namespace {

// PCIe between GPUs over an Intel root complex reaches 5/6 of the slot.
constexpr double kIntelPeerWaste = 6.0 / 5.0;
// Before Ampere, a NIC that writes to a GPU keeps an eighth of the other direction busy.
constexpr double kOldGpuReverse = 1.0 / 8.0;
constexpr double kLocalGbPerS = 5000;

double cpu_link(const NodeShape& shape, std::uint32_t version) {
  if (shape.cpu_link_gb_per_s > 0) {
    return shape.cpu_link_gb_per_s;
  }
  switch (shape.cpu) {
    case CpuKind::kIntel: return version >= nccl_version(2, 26, 0) && shape.generation >= 90 ? 22 : 10;
    case CpuKind::kAmd: return 16;
    case CpuKind::kArm: return 6;
    case CpuKind::kPower: return 32;
  }
  return 10;
}

PathType type_between(const PciePlace& a, const PciePlace& b) {
  if (a.numa != b.numa) {
    return PathType::kSys;
  }
  if (a.root != b.root) {
    return PathType::kPhb;
  }
  return a.leaf == b.leaf ? PathType::kPix : PathType::kPxb;
}

class Builder {
 public:
  Builder(const NodeShape& shape,
          const std::vector<std::uint32_t>& members,
          bool inter,
          const ChannelSettings& settings)
      : shape_(shape), members_(members), settings_(settings) {
    routes_.gpus = static_cast<std::uint32_t>(members.size());
    routes_.nics = inter ? static_cast<std::uint32_t>(shape.nics.size()) : 0;
  }

  Routes build() {
    add_slots();
    add_nvlink();
    add_pcie_routes();
    find_near_nics();
    if (settings_.pxn) {
      add_relays();
    }
    measure();
    return std::move(routes_);
  }

 private:
  struct Duplex {
    std::uint32_t down = 0;  // towards the device
    std::uint32_t up = 0;    // towards the processor
  };
  using Uplinks = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Duplex>;

  std::uint32_t add_link(double capacity) {
    routes_.capacity.push_back(capacity);
    return static_cast<std::uint32_t>(routes_.capacity.size() - 1);
  }
  Duplex add_duplex(double capacity) { return {add_link(capacity), add_link(capacity)}; }

  [[nodiscard]] const GpuShape& gpu(std::uint32_t g) const { return shape_.gpus[members_[g]]; }

  void add_slots() {
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      const Duplex slot = add_duplex(gpu(g).pcie_gb_per_s);
      gpu_slot_.push_back(slot);
      routes_.pcie_down.push_back(slot.down);
      routes_.pcie_up.push_back(slot.up);
      raise_uplinks(gpu(g).place, gpu(g).pcie_gb_per_s);
    }
    for (std::uint32_t n = 0; n < routes_.nics; ++n) {
      const NicShape& nic = shape_.nics[n];
      nic_slot_.push_back(add_duplex(std::min(nic.gb_per_s, nic.pcie_gb_per_s)));
      routes_.nic_free.push_back(nic.gb_per_s);
      raise_uplinks(nic.place, nic.pcie_gb_per_s);
    }
    for (auto& [leaf, width] : leaf_width_) {
      leaf_up_[leaf] = add_duplex(width);
    }
    for (auto& [root, width] : root_width_) {
      root_up_[root] = add_duplex(width);
    }
    const double width = cpu_link(shape_, settings_.version);
    const auto cross = [&](std::uint32_t from, std::uint32_t to) {
      if (from != to && !cpu_link_.contains({from, to})) {
        cpu_link_[{from, to}] = add_link(width);
      }
    };
    std::vector<std::uint32_t> numas;
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      numas.push_back(gpu(g).place.numa);
    }
    for (std::uint32_t n = 0; n < routes_.nics; ++n) {
      numas.push_back(shape_.nics[n].place.numa);
    }
    std::sort(numas.begin(), numas.end());
    numas.erase(std::unique(numas.begin(), numas.end()), numas.end());
    for (const std::uint32_t a : numas) {
      for (const std::uint32_t b : numas) {
        cross(a, b);
      }
    }
  }

  // A switch is as wide upwards as its widest device.
  void raise_uplinks(const PciePlace& place, double width) {
    double& leaf = leaf_width_[{place.numa, place.root, place.leaf}];
    leaf = std::max(leaf, width);
    double& root = root_width_[{place.numa, place.root, 0}];
    root = std::max(root, width);
  }

  void push(Route& route, std::uint32_t link, double load = 1) const {
    route.links.push_back(link);
    route.load.push_back(load);
  }

  /// PCIe from one device to another: up its slot, over switches and processors, down to the other.
  [[nodiscard]] Route pcie(
      const PciePlace& from, Duplex from_slot, const PciePlace& to, Duplex to_slot, double load) const {
    Route route;
    route.type = type_between(from, to);
    push(route, from_slot.up, load);
    if (route.type >= PathType::kPxb) {
      push(route, leaf_up_.at({from.numa, from.root, from.leaf}).up, load);
    }
    if (route.type >= PathType::kPhb) {
      push(route, root_up_.at({from.numa, from.root, 0}).up, load);
    }
    if (route.type == PathType::kSys) {
      push(route, cpu_link_.at({from.numa, to.numa}));
    }
    if (route.type >= PathType::kPhb) {
      push(route, root_up_.at({to.numa, to.root, 0}).down, load);
    }
    if (route.type >= PathType::kPxb) {
      push(route, leaf_up_.at({to.numa, to.root, to.leaf}).down, load);
    }
    push(route, to_slot.down, load);
    finish(route);
    return route;
  }

  void finish(Route& route) const {
    route.hops = static_cast<std::uint32_t>(route.links.size());
    route.width_gb_per_s = std::numeric_limits<double>::max();
    for (const std::uint32_t link : route.links) {
      route.width_gb_per_s = std::min(route.width_gb_per_s, routes_.capacity[link]);
    }
  }

  void add_nvlink() {
    const std::uint32_t gpus = routes_.gpus;
    routes_.gpu_to_gpu.assign(gpus, std::vector<Route>(gpus));
    for (std::uint32_t g = 0; g < gpus; ++g) {
      routes_.gpu_to_gpu[g][g].type = PathType::kLoc;
      routes_.gpu_to_gpu[g][g].width_gb_per_s = kLocalGbPerS;
    }
    const double link = nvlink_gb_per_s(shape_.generation, settings_.version);
    if (shape_.nvlinks > 0) {
      routes_.nvswitch = true;
      for (std::uint32_t g = 0; g < gpus; ++g) {
        const Duplex port = add_duplex(shape_.nvlinks * link);
        routes_.nvlink_down.push_back(port.down);
        routes_.nvlink_up.push_back(port.up);
      }
      for_pairs([&](std::uint32_t a, std::uint32_t b, Route& route) {
        route.type = PathType::kNvl;
        push(route, routes_.nvlink_up[a]);
        push(route, routes_.nvlink_down[b]);
        finish(route);
      });
      return;
    }
    if (shape_.direct_links.empty()) {
      return;
    }
    for_pairs([&](std::uint32_t a, std::uint32_t b, Route& route) {
      const std::uint32_t links = shape_.direct_links[members_[a]][members_[b]];
      if (links > 0) {
        route.type = PathType::kNvl;
        push(route, add_link(links * link));
        finish(route);
      }
    });
    // GPUs without a link of their own: over the GPU with the widest way.
    for_pairs([&](std::uint32_t a, std::uint32_t b, Route& route) {
      if (route.type == PathType::kNvl) {
        return;
      }
      Route best;
      for (std::uint32_t over = 0; over < gpus; ++over) {
        const Route& first = routes_.gpu_to_gpu[a][over];
        const Route& second = routes_.gpu_to_gpu[over][b];
        if (first.type == PathType::kNvl && second.type == PathType::kNvl &&
            std::min(first.width_gb_per_s, second.width_gb_per_s) > best.width_gb_per_s) {
          best = join(first, second, PathType::kNvb);
        }
      }
      if (best.type == PathType::kNvb) {
        route = best;
      }
    });
  }

  [[nodiscard]] Route join(const Route& first, const Route& second, PathType type) const {
    Route whole = first;
    whole.links.insert(whole.links.end(), second.links.begin(), second.links.end());
    whole.load.insert(whole.load.end(), second.load.begin(), second.load.end());
    whole.type = type;
    finish(whole);
    return whole;
  }

  template <typename Visit>
  void for_pairs(Visit visit) {
    for (std::uint32_t a = 0; a < routes_.gpus; ++a) {
      for (std::uint32_t b = 0; b < routes_.gpus; ++b) {
        if (a != b) {
          visit(a, b, routes_.gpu_to_gpu[a][b]);
        }
      }
    }
  }

  void add_pcie_routes() {
    for_pairs([&](std::uint32_t a, std::uint32_t b, Route& route) {
      if (route.type != PathType::kDis) {
        return;
      }
      const PathType type = type_between(gpu(a).place, gpu(b).place);
      const double load = type == PathType::kPhb && shape_.cpu == CpuKind::kIntel ? kIntelPeerWaste : 1;
      route = pcie(gpu(a).place, gpu_slot_[a], gpu(b).place, gpu_slot_[b], load);
    });
    routes_.nic_to_gpu.assign(routes_.nics, std::vector<Route>(routes_.gpus));
    routes_.gpu_to_nic.assign(routes_.gpus, std::vector<Route>(routes_.nics));
    for (std::uint32_t n = 0; n < routes_.nics; ++n) {
      for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
        const PciePlace& nic = shape_.nics[n].place;
        routes_.gpu_to_nic[g][n] = pcie(gpu(g).place, gpu_slot_[g], nic, nic_slot_[n], 1);
        Route& in = routes_.nic_to_gpu[n][g];
        in = pcie(nic, nic_slot_[n], gpu(g).place, gpu_slot_[g], 1);
        if (shape_.generation < 80) {
          push(in, gpu_slot_[g].up, kOldGpuReverse);
        }
      }
    }
  }

  /// GPUs that share their nearest NICs take them in turn, so that each has a first one of its own.
  void find_near_nics() {
    routes_.near_nics.resize(routes_.gpus);
    std::map<std::vector<std::uint32_t>, std::uint32_t> sharers;
    for (std::uint32_t g = 0; g < routes_.gpus && routes_.nics > 0; ++g) {
      const std::vector<Route>& out = routes_.gpu_to_nic[g];
      const auto better = [](const Route& a, const Route& b) {
        return a.type != b.type ? a.type < b.type : a.width_gb_per_s > b.width_gb_per_s;
      };
      const Route& best = *std::min_element(out.begin(), out.end(), better);
      std::vector<std::uint32_t> nearest;
      for (std::uint32_t n = 0; n < routes_.nics; ++n) {
        if (!better(best, out[n])) {
          nearest.push_back(n);
        }
      }
      const std::uint32_t turn = sharers[nearest]++ % static_cast<std::uint32_t>(nearest.size());
      std::rotate(nearest.begin(), nearest.begin() + turn, nearest.end());
      routes_.near_nics[g] = std::move(nearest);
    }
    routes_.nic_gpu.assign(routes_.nics, 0);
    for (std::uint32_t n = 0; n < routes_.nics; ++n) {
      // First a GPU whose own NIC this is, then one that is near.
      const auto rank = [&](std::uint32_t g) {
        const std::vector<std::uint32_t>& near = routes_.near_nics[g];
        const bool own = near.front() == n;
        const bool is_near = std::find(near.begin(), near.end(), n) != near.end();
        const Route& out = routes_.gpu_to_nic[g][n];
        return std::tuple(!own, !is_near, out.type, -out.width_gb_per_s);
      };
      for (std::uint32_t g = 1; g < routes_.gpus; ++g) {
        if (rank(g) < rank(routes_.nic_gpu[n])) {
          routes_.nic_gpu[n] = g;
        }
      }
    }
  }

  /// A GPU sends over NVLink to the GPU beside the NIC where that is wider or spares the processor.
  void add_relays() {
    const std::vector<std::vector<Route>> straight = routes_.gpu_to_nic;
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      for (std::uint32_t n = 0; n < routes_.nics; ++n) {
        const std::uint32_t relay = routes_.nic_gpu[n];
        const Route& last = straight[relay][n];
        const Route& own = straight[g][n];
        if (relay == g || last.type > PathType::kPxb || routes_.gpu_to_gpu[g][relay].type != PathType::kNvl) {
          continue;
        }
        if (last.width_gb_per_s > own.width_gb_per_s || own.type > PathType::kPxn) {
          routes_.gpu_to_nic[g][n] = join(routes_.gpu_to_gpu[g][relay], last, PathType::kPxn);
        }
      }
    }
  }

  void measure() {
    if (routes_.nics == 0 && routes_.gpus == 1) {
      routes_.widest_gb_per_s = kLocalGbPerS;
      return;
    }
    const double link = nvlink_gb_per_s(shape_.generation, settings_.version);
    for (std::uint32_t g = 0; g < routes_.gpus; ++g) {
      for (const Route& route : routes_.nics > 0 ? routes_.gpu_to_nic[g] : routes_.gpu_to_gpu[g]) {
        if (route.hops > 0) {
          routes_.widest_gb_per_s = std::max(routes_.widest_gb_per_s, route.width_gb_per_s);
        }
      }
      double nvlink = shape_.nvlinks * link;
      if (shape_.nvlinks == 0 && !shape_.direct_links.empty()) {
        for (const std::uint32_t peer : members_) {
          nvlink += shape_.direct_links[members_[g]][peer] * link;
        }
      }
      routes_.total_gb_per_s = std::max({routes_.total_gb_per_s, nvlink, gpu(g).pcie_gb_per_s});
    }
  }

  const NodeShape& shape_;
  const std::vector<std::uint32_t>& members_;
  const ChannelSettings& settings_;
  Routes routes_;
  std::vector<Duplex> gpu_slot_;
  std::vector<Duplex> nic_slot_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> leaf_width_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> root_width_;
  Uplinks leaf_up_;
  Uplinks root_up_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> cpu_link_;
};

}  // namespace

Routes build_routes(const NodeShape& shape,
                    const std::vector<std::uint32_t>& members,
                    bool inter,
                    const ChannelSettings& settings) {
  return Builder(shape, members, inter, settings).build();
}

}  // namespace stepcast::collective::nccl
