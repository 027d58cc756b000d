#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck.h>

#include "replay/predict.hpp"
#include "report/writer.hpp"
#include "support/catch.hpp"
#include "unit/topology/read_text.hpp"
#include "workload/job.hpp"

using namespace stepcast;

namespace {

/// The three lists of a `links` fabric whose order means nothing.
struct Lists {
  std::vector<std::string> nodes;
  std::vector<std::string> links;
  std::vector<std::string> faults;
};

/// Three unequal hosts (4, 2 and 2 GPUs) on two leaves and three spines: parallel links of two rates, one of
/// them degraded, a spine with one link more, tiers that only some links name.
Lists irregular_fabric() {
  Lists lists;
  const auto node = [&lists](const std::string& name, const std::string& kind, const std::string& rest) {
    lists.nodes.push_back(fmt::format(R"({{"name": "{}", "kind": "{}"{}}})", name, kind, rest));
  };
  const auto link = [&lists](const std::string& from, const std::string& to, const std::string& rest) {
    lists.links.push_back(fmt::format(R"({{"from": "{}", "to": "{}", {}}})", from, to, rest));
  };
  const std::vector<std::uint32_t> gpus{4, 2, 2};
  for (std::uint32_t host = 0; host < gpus.size(); ++host) {
    const std::string at = fmt::format(R"(, "host": {})", host);
    node(fmt::format("h{}.nvs", host), "nvswitch", at);
    for (std::uint32_t i = 0; i < gpus[host]; ++i) {
      // Names that sort as text in another order than as numbers; host 1 counts down by `index` instead.
      const std::uint32_t number = host == 1 ? i : 8 + i;
      const std::string gpu = fmt::format("h{}.gpu{}", host, number);
      const std::string nic = fmt::format("h{}.nic{}", host, number);
      const std::string index = host == 1 ? fmt::format(R"(, "index": {})", gpus[host] - i) : "";
      node(gpu, "gpu",
           at + index + fmt::format(R"(, "nics": ["{}"], "route_key": {})", nic, 10 * host + number));
      node(nic, "nic", at + fmt::format(R"(, "route_key": {})", 10 * host + number));
      link(gpu, fmt::format("h{}.nvs", host),
           R"("bandwidth": "100 GB/s", "latency": "100 ns", "tier": "NVLink")");
      link(gpu, nic, R"("bandwidth": "50 GB/s", "latency": "200 ns", "tier": "PCIe", "cost": 10)");
      link(nic, host == 0 ? "leaf0" : "leaf1",
           R"("bandwidth": "200 Gb/s", "latency": "1 us", "tier": "NIC")");
    }
  }
  for (const char* leaf : {"leaf0", "leaf1"}) {
    node(leaf, "switch", R"(, "tier": 0)");
    link(leaf, "spine9", R"("bandwidth": "100 Gb/s", "latency": "500 ns", "tier": "up")");
    link("spine9", leaf, R"("bandwidth": "200 Gb/s", "latency": "700 ns", "tier": "up")");
    link(leaf, "spine10", R"("bandwidth": "100 Gb/s", "latency": "500 ns", "count": 2)");
    link(leaf, "spine11", R"("bandwidth": "150 Gb/s", "latency": "500 ns", "tier": "up")");
  }
  link("leaf0", "spine11", R"("bandwidth": "150 Gb/s", "latency": "500 ns", "tier": "up")");
  for (const char* spine : {"spine9", "spine10", "spine11"}) {
    node(spine, "switch", R"(, "tier": 1)");
  }
  lists.faults = {R"({"link": "leaf0-spine9", "index": 1, "factor": 0.5})",
                  R"({"link": "leaf1-spine11", "factor": 0.25, "at": "1 ms", "until": "3 ms"})",
                  R"({"gpu": "h2.gpu9", "factor": 0.9})", R"({"gpu": 5, "factor": 0.8})"};
  return lists;
}

/// The same list in an order that is drawn.
std::vector<std::string> shuffled(std::vector<std::string> list) {
  for (std::size_t left = list.size(); left > 1; --left) {
    std::swap(list[left - 1], list[*rc::gen::inRange<std::size_t>(0, left)]);
  }
  return list;
}

topology::Cluster cluster_with(const Lists& lists) {
  return test::cluster_of(fmt::format(
      R"({{"name": "irregular", "host": "dgx-a100-80g", "fabric": {{"kind": "links",
           "nodes": [{}], "links": [{}]}}, "faults": [{}]}})",
      fmt::join(lists.nodes, ","), fmt::join(lists.links, ","), fmt::join(lists.faults, ",")));
}

/// The whole JSON result of a small job with tensor, pipeline and data parallelism on all eight GPUs.
std::string result_on(const topology::Cluster& cluster, const replay::PredictOptions& options) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(
      R"({"name": "small", "model": {"layers": 4, "hidden": 512, "heads": 8, "vocab": 1000}, "sequence": 256,
          "parallel": {"tp": 2, "pp": 2, "sequence_parallel": true}, "micro_batch": 1, "global_batch": 8})",
      "small.json", diagnostics);
  workload::Job job = workload::read_job(document, diagnostics);
  workload::resolve(job, 8, document, diagnostics);
  return report::find_result_writer("json").write(replay::predict(cluster, job, 8, options).result);
}

}  // namespace

TEST_CASE("the order of nodes, links and faults in a file changes nothing in the result") {
  const Lists lists = irregular_fabric();
  const topology::Cluster given = cluster_with(lists);
  for (const char* routing : {"balanced", "ecmp", "dmodk"}) {
    for (const auto form : {collective::Form::kCoupled, collective::Form::kSteps}) {
      replay::PredictOptions options;
      options.routing = routing;
      options.form = form;
      options.seed = 3;
      const std::string expected = result_on(given, options);
      CHECK(rc::check(routing, [&]() {
        const Lists other{shuffled(lists.nodes), shuffled(lists.links), shuffled(lists.faults)};
        const std::string result = result_on(cluster_with(other), options);
        RC_ASSERT(result == expected);
      }));
    }
  }
}

TEST_CASE("GPUs of a links fabric are numbered by host, index and name, whatever the order of the file") {
  // Host 0 has no index: gpu8, gpu9, gpu10, gpu11 by number. Host 1 has index 2 for gpu0 and 1 for gpu1.
  const std::vector<std::string> expected{"h0.gpu8", "h0.gpu9", "h0.gpu10", "h0.gpu11",
                                          "h1.gpu1", "h1.gpu0", "h2.gpu8",  "h2.gpu9"};
  const Lists lists = irregular_fabric();
  CHECK(rc::check("order of GPUs", [&]() {
    const topology::Cluster cluster =
        cluster_with({shuffled(lists.nodes), shuffled(lists.links), lists.faults});
    const topology::Topology& topology = cluster.topology;
    for (std::uint32_t gpu = 0; gpu < expected.size(); ++gpu) {
      const topology::Node& node = topology.node(topology.gpu_node(GpuId(gpu)));
      RC_ASSERT(node.name == expected[gpu]);
      // "h1.gpu0" uses "h1.nic0".
      const std::string nic = topology.node(topology.nics_of(GpuId(gpu)).front()).name;
      RC_ASSERT(nic == "h" + expected[gpu].substr(1, 2) + "nic" + expected[gpu].substr(6));
    }
    // From GPUs outwards: the cables of host 0, its NICs, then the fabric.
    const std::vector<std::string> tiers(topology.tiers().begin(), topology.tiers().end());
    RC_ASSERT(tiers == std::vector<std::string>({"NVLink", "PCIe", "NIC", "up", "link"}));
    // The degraded one of the parallel links is the second from the slowest.
    for (const topology::Fault& fault : cluster.faults) {
      if (fault.link == "leaf0-spine9") {
        RC_ASSERT(topology.link(fault.links.front()).capacity ==
                  Bandwidth::from_bits_per_second(200'000'000'000));
      }
    }
  }));
}
