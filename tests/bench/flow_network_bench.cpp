// How much one activity of the flow network costs: start + its part of resolve + completion.
// The time per item is what matters; sizes are the number of rings or flows that run at once.

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/random.hpp"
#include "network/flow_network.hpp"

namespace {

using namespace stepcast;
using network::Completion;
using network::Demand;
using network::FlowNetwork;

constexpr std::int64_t kMessage = 1 << 20;
constexpr double kNvlink = 50e9;

/// What runs in a benchmark: shapes, each restarted as soon as it has finished.
struct Load {
  FlowNetwork net;
  std::vector<ShapeId> shapes;
  RandomStream random{1, "flow network benchmark"};

  void start(std::size_t which, TimePoint now, bool same_size) {
    const std::int64_t work =
        same_size ? kMessage : kMessage + static_cast<std::int64_t>(random.below(kMessage));
    net.start(shapes[which], work, now, which);
  }

  void run(benchmark::State& state, bool same_size) {
    for (std::size_t which = 0; which < shapes.size(); ++which) {
      start(which, TimePoint{}, same_size);
    }
    net.resolve(TimePoint{});
    std::vector<Completion> done;
    std::int64_t completions = 0;
    const std::uint64_t solved = net.solved_activities();
    for (auto iteration : state) {
      static_cast<void>(iteration);
      const TimePoint now = net.next_completion();
      done.clear();
      net.take_completed(now, done);
      for (const Completion& completion : done) {
        start(completion.tag, now, same_size);
      }
      net.resolve(now);
      completions += static_cast<std::int64_t>(done.size());
    }
    state.SetItemsProcessed(completions);
    state.counters["solved_per_item"] =
        static_cast<double>(net.solved_activities() - solved) / static_cast<double>(completions);
    state.counters["time_per_item"] = benchmark::Counter(
        static_cast<double>(completions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }
};

/// Rings of 8 members over 16 links that nothing else uses (NVLink out and in of every GPU).
void disjoint_rings(benchmark::State& state, bool same_size) {
  Load load;
  for (std::int64_t ring = 0; ring < state.range(0); ++ring) {
    std::vector<Demand> demands;
    for (int link = 0; link < 16; ++link) {
      demands.push_back({.resource = load.net.add_resource(kNvlink)});
    }
    load.shapes.push_back(load.net.add_shape({.demands = demands}));
  }
  load.run(state, same_size);
}

void rings_of_own_size(benchmark::State& state) {
  disjoint_rings(state, false);
}
void rings_in_step(benchmark::State& state) {
  disjoint_rings(state, true);
}

/// Flows of six hops (NIC, leaf, spine, spine, leaf, NIC) over a fabric of one connected component.
void flows_of_one_component(benchmark::State& state) {
  Load load;
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  std::vector<ResourceId> nics;
  std::vector<ResourceId> uplinks;
  for (std::uint32_t nic = 0; nic < flows; ++nic) {
    nics.push_back(load.net.add_resource(kNvlink));
  }
  const std::uint32_t leaves = flows / 8 + 1;
  for (std::uint32_t link = 0; link < leaves * 4; ++link) {
    uplinks.push_back(load.net.add_resource(kNvlink));
  }
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    const auto peer = static_cast<std::uint32_t>(load.random.below(flows));
    const auto spine = static_cast<std::uint32_t>(load.random.below(4));
    const std::vector<Demand> demands = {
        {.resource = nics[flow]},
        {.resource = uplinks[flow / 8 * 4 + spine]},
        {.resource = uplinks[peer / 8 * 4 + spine]},
        {.resource = nics[peer]},
    };
    load.shapes.push_back(load.net.add_shape({.demands = demands}));
  }
  load.run(state, false);
}

/// Rings of 8 members over 14 links of their own and one trunk that 8 of them share.
void rings_that_share_trunks(benchmark::State& state) {
  Load load;
  ResourceId trunk;
  for (std::int64_t ring = 0; ring < state.range(0); ++ring) {
    if (ring % 8 == 0) {
      trunk = load.net.add_resource(4 * kNvlink);
    }
    std::vector<Demand> demands = {{.resource = trunk}};
    for (int link = 0; link < 14; ++link) {
      demands.push_back({.resource = load.net.add_resource(kNvlink)});
    }
    load.shapes.push_back(load.net.add_shape({.demands = demands}));
  }
  load.run(state, false);
}

/// Hosts in islands of `island` flows that share their links, and enough islands for `flows` flows in all: a
/// completion changes one island. Every flow crosses the link of its source and that of its destination.
void islands(benchmark::State& state, std::int64_t flows, std::int64_t island) {
  Load load;
  for (std::int64_t first = 0; first < flows; first += island) {
    std::vector<ResourceId> links;
    const auto hosts = static_cast<std::uint32_t>(std::max<std::int64_t>(island / 4, 1));
    for (std::uint32_t host = 0; host < 2 * hosts; ++host) {
      links.push_back(load.net.add_resource(kNvlink));
    }
    for (std::int64_t flow = 0; flow < island; ++flow) {
      // Flow f goes from host f mod H to host f + f / H: each host has four, and all are one component.
      const auto f = static_cast<std::uint32_t>(flow);
      const std::vector<Demand> demands = {{.resource = links[f % hosts]},
                                           {.resource = links[hosts + (f + f / hosts) % hosts]}};
      load.shapes.push_back(load.net.add_shape({.demands = demands}));
    }
  }
  load.run(state, false);
}

/// Islands of 16 flows: does an event cost more when the fabric around it is larger?
void fabric_grows(benchmark::State& state) {
  islands(state, state.range(0), 16);
}
/// 65,536 flows in islands of more and more flows: an event costs what its island costs.
void component_grows(benchmark::State& state) {
  islands(state, 65536, state.range(0));
}

BENCHMARK(fabric_grows)->Arg(1024)->Arg(16384)->Arg(131072)->Arg(1048576)->Iterations(20000);
BENCHMARK(component_grows)->RangeMultiplier(4)->Range(4, 4096)->Iterations(500);
BENCHMARK(rings_of_own_size)->RangeMultiplier(4)->Range(64, 4096);
BENCHMARK(rings_in_step)->RangeMultiplier(4)->Range(64, 4096);
BENCHMARK(rings_that_share_trunks)->RangeMultiplier(8)->Range(8, 512);
BENCHMARK(flows_of_one_component)->RangeMultiplier(4)->Range(16, 1024);

}  // namespace
