#include <cmath>
#include <map>

#include "base/error.hpp"
#include "collective/layout.hpp"
#include "small_fabric.hpp"
#include "support/catch.hpp"

// What has to hold whatever the constants: limits of the fabric and bytes that algorithms must move.

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::collective::test;
using namespace stepcast::literals;

using Catch::Matchers::Contains;

namespace {

Request named(Kind kind, std::string_view algorithm, Bytes bytes, Protocol protocol = Protocol::kSimple) {
  Request request;
  request.kind = kind;
  request.algorithm = std::string(algorithm);
  request.bytes = bytes;
  request.protocol = protocol;
  return request;
}

/// `hosts` hosts of 8 GPUs with NVLink SHARP, a NIC of 10 GB/s each, on one switch that reduces.
topology::Cluster reducing_cluster(hardware::HostKind host, std::uint32_t hosts) {
  host.collective.efficiency_nvls = 1;
  topology::Cluster cluster = one_leaf(host, hosts);
  cluster.sharp = topology::Sharp{};
  return cluster;
}

double seconds(const Lowered& lowered) {
  return lowered.idle_time.seconds();
}

const Algorithm& algorithm_named(std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) {
      return algorithm;
    }
  }
  FAIL("no algorithm " << name);
  return algorithms()[0];
}

/// Bytes that all members send in a schedule, as a multiple of the buffer.
double buffers_sent(std::string_view name, const Places& places, std::uint32_t channels) {
  const Schedule schedule = algorithm_named(name).schedule(places, channels, 0);
  double chunks = 0;
  for (const Lane& lane : schedule.lanes) {
    for (const Step& step : lane.steps) {
      if (sends(step.action)) {
        chunks += step.source.count;
      }
    }
  }
  return chunks / schedule.chunks;
}

}  // namespace

TEST_CASE("between two hosts the tree reaches twice the bus bandwidth of the ring", "[collective][truths]") {
  // 16 GPUs, 8 NICs of 10 GB/s a host. Ring: 15/8 of the buffer over each host's NICs, so busbw is at most
  // the NICs' 80 GB/s. Tree between two hosts: the buffer goes once each way, algbw 80 GB/s, busbw 80 x 2 x
  // 15/16 = 150. NVLink at 1,000 GB/s is no limit.
  hardware::HostKind host = without_latency(round_host(8));
  host.nvlink_bandwidth = 1000_GBps;
  host.nvlink_effective = 1000_GBps;
  const topology::Cluster cluster = one_leaf(host, 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const auto busbw = [&](std::string_view algorithm) {
    const Lowered lowered = lowering.lower(named(Kind::kAllReduce, algorithm, Bytes(1'600'000'000)),
                                           first_gpus(16), Form::kCoupled);
    return 1.6e9 / seconds(lowered) * 2 * 15 / 16;
  };
  CHECK(busbw("ring") == Approx(80e9));
  CHECK(busbw("tree") == Approx(150e9));
}

TEST_CASE("the double tree moves half of the buffer on each tree and 2(n-1)S in all",
          "[collective][truths]") {
  // Every member but the root sends its half up once and gets it once, in each of two trees.
  for (const std::uint32_t hosts : {1U, 2U, 3U, 4U, 6U, 12U}) {
    const Places places = Places::even(12, hosts);
    CHECK(buffers_sent("tree_all_reduce", places, 2) == Approx(2 * 11));
    // No host is inside both trees: together at most 2 children of one and none of the other, so no more
    // than 2 S comes into a host.
    const Pattern pattern = algorithm_named("tree_all_reduce").pattern(places, 2, 0);
    std::map<std::uint32_t, int> into;
    for (const Edge& edge : pattern.phases[0]) {
      into[edge.to] += places.together(edge.from, edge.to) ? 0 : 1;
    }
    for (const auto& [member, halves] : into) {
      CHECK(halves <= 4);
    }
  }
}

TEST_CASE("all-to-all over hosts tends to N/(N-1) of the NIC", "[collective][truths]") {
  // A member sends (N-1)/N of its S bytes over its NIC of 10 GB/s: algbw = b N/(N-1).
  for (const std::uint32_t hosts : {2U, 4U}) {
    const topology::Cluster cluster = one_leaf(without_latency(round_host(8)), hosts);
    const routing::Router router(cluster, "balanced");
    const Lowering lowering(router);
    const double n = hosts;
    for (const char* algorithm : {"direct", "pairwise", "pxn"}) {
      const Lowered lowered = lowering.lower(named(Kind::kAllToAll, algorithm, Bytes(640'000'000)),
                                             first_gpus(8 * hosts), Form::kCoupled);
      CAPTURE(algorithm, hosts);
      CHECK(6.4e8 / seconds(lowered) == Approx(10e9 * n / (n - 1)));
    }
  }
}

TEST_CASE("no all-reduce beats the ports: 3.5 ms without reduction in switches, 2 ms with it",
          "[collective][truths]") {
  // 100 MB among 8 hosts with one port of 50 GB/s: without help every member must send and receive
  // 2 x 7/8 x S, 3.5 ms; with switches that add, S each way, 2 ms.
  hardware::HostKind host = without_latency(round_host(1));
  host.nic_effective = 50_GBps;
  host.nic_bandwidth = 50_GBps;
  host.pcie_bandwidth = 1000_GBps;
  const topology::Cluster cluster = reducing_cluster(host, 8);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != Kind::kAllReduce || algorithm.family == "nvls" || algorithm.family == "nvls_tree") {
      continue;  // they need NVLink
    }
    const Lowered lowered = lowering.lower(named(Kind::kAllReduce, algorithm.name, Bytes(100'000'000)),
                                           first_gpus(8), Form::kCoupled);
    CAPTURE(algorithm.name);
    CHECK(seconds(lowered) >= (algorithm.reduces_in_fabric ? 2.0e-3 : 3.5e-3) * (1 - 1e-9));
    if (algorithm.family == "ring" || algorithm.family == "halving_doubling") {
      CHECK(seconds(lowered) == Approx(3.5e-3));
    }
    if (algorithm.reduces_in_fabric) {
      CHECK(seconds(lowered) == Approx(2.0e-3));
    }
  }
}

TEST_CASE("a ring all-reduce moves twice the bytes of a ring all-gather", "[collective][truths]") {
  for (std::uint32_t members = 2; members <= 9; ++members) {
    const Places places = Places::even(members);
    CHECK(buffers_sent("ring_all_reduce", places, 2) ==
          Approx(2 * buffers_sent("ring_all_gather", places, 2)));
  }
}

TEST_CASE("switches that add get the buffer of each host once and give it back once",
          "[collective][truths]") {
  // SHARP: S up and S down per host, over the NICs of its heads.
  const topology::Cluster cluster = reducing_cluster(without_latency(round_host(4)), 3);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const char* algorithm : {"collnet_chain", "collnet_direct"}) {
    const CoupledActivity coupled =
        lowering.lower(named(Kind::kAllReduce, algorithm, Bytes(12'000'000)), first_gpus(12), Form::kCoupled)
            .coupled;
    for (int host = 0; host < 3; ++host) {
      double up = 0;
      double down = 0;
      for (int nic = 0; nic < 4; ++nic) {
        const std::string name = fmt::format("h{}.nic{}", host, nic);
        up += load_between(router, coupled.demands, coupled.divisor, name, "leaf");
        down += load_between(router, coupled.demands, coupled.divisor, "leaf", name);
      }
      CAPTURE(algorithm, host);
      CHECK(up * static_cast<double>(coupled.work) == Approx(12e6));
      CHECK(down * static_cast<double>(coupled.work) == Approx(12e6));
    }
  }
}

TEST_CASE("NVLS moves S(n+1)/n each way on every GPU's links", "[collective][truths]") {
  const topology::Cluster cluster = reducing_cluster(without_latency(round_host(8)), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const std::map<Kind, std::pair<double, double>> expected = {
      // All-reduce: S is read to be added, the sum of the own part written; S + S/n up and down.
      {Kind::kAllReduce, {9.0 / 8, 9.0 / 8}},
      {Kind::kAllGather, {1.0 / 8, 1}},
      {Kind::kReduceScatter, {1, 1.0 / 8}}};
  for (const auto& [kind, shares] : expected) {
    const CoupledActivity coupled =
        lowering.lower(named(kind, "nvls", Bytes(8'000'000)), first_gpus(8), Form::kCoupled).coupled;
    for (int gpu = 0; gpu < 8; ++gpu) {
      const std::string name = fmt::format("h0.gpu{}", gpu);
      const double work = static_cast<double>(coupled.work);
      CHECK(load_between(router, coupled.demands, coupled.divisor, name, "h0.nvs0") * work ==
            Approx(shares.first * 8e6));
      CHECK(load_between(router, coupled.demands, coupled.divisor, "h0.nvs0", name) * work ==
            Approx(shares.second * 8e6));
    }
  }
  // Played step by step it takes the same: links up and down are busy one after the other in the reduction
  // and the copies, so at most twice as long.
  const Request request = named(Kind::kAllReduce, "nvls", Bytes(8'000'000));
  const double coupled = seconds(lowering.lower(request, first_gpus(8), Form::kCoupled));
  CHECK(coupled == Approx(9e6 / 80e9));
  const Lowered stepped = lowering.lower(request, first_gpus(8), Form::kSteps);
  CHECK(stepped.stepped.steps.size() == 8 * 8 + 8 + 8 + 8 * 8);
}

TEST_CASE("a hierarchy with k chunks takes max + (sum - max) / k of its levels", "[collective][truths]") {
  // 4 hosts x 4 GPUs. S = 32 MiB is 8 chunks of 4 MiB. Inside: 3/4 S at 80 GB/s, twice; between:
  // 2 x 3/4 x S/4 at 10 GB/s.
  const topology::Cluster cluster = one_leaf(without_latency(round_host(4)), 4);
  const routing::Router router(cluster, "balanced");
  const double bytes = 32 * 1024 * 1024;
  const double inside = 0.75 * bytes / 80e9;
  const double between = 2 * 0.75 * bytes / 4 / 10e9;
  const double expected = between + 2 * inside / 8;
  const Lowered lowered =
      Lowering(router).lower(named(Kind::kAllReduce, "hierarchical", 32_MiB), first_gpus(16), Form::kCoupled);
  CHECK(seconds(lowered) == Approx(expected).epsilon(1e-6));
  // One chunk: the sum of the levels.
  const Lowered one =
      Lowering(router).lower(named(Kind::kAllReduce, "hierarchical", 4_MiB), first_gpus(16), Form::kCoupled);
  CHECK(seconds(one) == Approx((between + 2 * inside) / 8).epsilon(1e-6));
}

TEST_CASE("calls of 0 and 4 bytes end in every algorithm that can run", "[collective][truths]") {
  const topology::Cluster cluster = reducing_cluster(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::vector<GpuId>& group :
         {first_gpus(8), first_gpus(4), std::vector<GpuId>{GpuId(0), GpuId(4)}}) {
      for (const std::int64_t bytes : {0, 4}) {
        CAPTURE(algorithm.name, group.size(), bytes);
        Request request = named(algorithm.kind, algorithm.name, Bytes(bytes));
        request.protocol.reset();
        try {
          const Lowered lowered = lowering.lower(request, group, Form::kCoupled);
          CHECK(lowered.idle_time >= 5_us);
          CHECK(lowered.idle_time < 1_ms);
        } catch (const InputError& error) {
          CHECK(std::string(error.what()).find("cannot run here") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("ring latency grows with the ranks, tree latency with their logarithm", "[collective][truths]") {
  // One GPU a host, LL, 3 us a hop over the network: ring 2(n-1) hops; trees twice their depth, which is
  // between log2(n) and log2(n) + 1.
  const topology::Cluster cluster = one_leaf(round_host(1), 32);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const std::uint32_t ranks : {2U, 4U, 8U, 16U, 32U}) {
    const auto hops = [&](std::string_view algorithm) {
      const Lowered lowered = lowering.lower(named(Kind::kAllReduce, algorithm, Bytes(4), Protocol::kLl),
                                             first_gpus(ranks), Form::kCoupled);
      return (seconds(lowered) - 5e-6) / 3e-6;
    };
    CHECK(hops("ring") == Approx(2.0 * (ranks - 1)).epsilon(1e-3));
    CHECK(hops("tree") >= 2 * std::log2(ranks) - 1e-3);
    CHECK(hops("tree") <= 2 * std::log2(ranks) + 2 + 1e-3);
  }
}

TEST_CASE("a group inside one server does not change when the cluster grows", "[collective][truths]") {
  const topology::Cluster small = reducing_cluster(round_host(8), 1);
  const topology::Cluster large = reducing_cluster(round_host(8), 8);
  const routing::Router near(small, "balanced");
  const routing::Router far(large, "balanced");
  for (const Algorithm& algorithm : algorithms()) {
    Request request = named(algorithm.kind, algorithm.name, 3_MiB);
    if ((algorithm.fits != nullptr && !algorithm.fits(Places::even(8)).empty())) {
      continue;
    }
    request.protocol.reset();
    CAPTURE(algorithm.name);
    CHECK(Lowering(near).lower(request, first_gpus(8), Form::kCoupled).idle_time ==
          Lowering(far).lower(request, first_gpus(8), Form::kCoupled).idle_time);
  }
}

TEST_CASE("the root of a broadcast is done before the end of the chain", "[collective][truths]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  Request request = named(Kind::kBroadcast, "ring", Bytes(800'000));
  request.root = 1;
  const Lowered lowered = Lowering(router).lower(request, first_gpus(4), Form::kCoupled);
  // Launch 5 us, 3 hops of 10 us, 10 us of bytes. The chain is 1, 2, 3, 0.
  CHECK(lowered.coupled.latency == 5_us);
  CHECK(lowered.coupled.completion_offset == std::vector<Duration>{30_us, 0_us, 10_us, 20_us});
  CHECK(lowered.idle_time.ps() == Approx(45'000'000).margin(2));
}

TEST_CASE("an uneven all-to-all is as slow as its largest part", "[collective][truths]") {
  // One GPU a host at 10 GB/s: every member sends 30 MB to member 0 and 1 MB to each of the others. Into
  // member 0 come 3 x 30 MB: 9 ms; an even split of the 33 MB would need 3/4 of 33 MB, 2.5 ms.
  const topology::Cluster cluster = one_leaf(without_latency(round_host(1)), 4);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  Request request = named(Kind::kAllToAll, "direct", Bytes(33'000'000));
  request.splits = {Bytes(30'000'000), Bytes(1'000'000), Bytes(1'000'000), Bytes(1'000'000)};
  const Lowered lowered = lowering.lower(request, first_gpus(4), Form::kCoupled);
  REQUIRE(lowered.form == Form::kSteps);
  std::map<std::uint32_t, std::int64_t> into;
  for (const StepTransfer& transfer : lowered.stepped.steps) {
    into[transfer.destination] += transfer.payload;
    CHECK(transfer.after.empty());
  }
  CHECK(into == std::map<std::uint32_t, std::int64_t>{
                    {0, 90'000'000}, {1, 3'000'000}, {2, 3'000'000}, {3, 3'000'000}});
  request.algorithm = "bruck";
  CHECK_THROWS_WITH(lowering.lower(request, first_gpus(4), Form::kCoupled), Contains("splits differ"));
}

TEST_CASE("an algorithm that cannot run is refused with the reason and others that can",
          "[collective][truths]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  CHECK_THROWS_WITH(lowering.lower(named(Kind::kAllReduce, "nvls", 1_MiB), first_gpus(4), Form::kCoupled),
                    Contains("no NVLink SHARP") && Contains("use ring, tree"));
  CHECK_THROWS_WITH(
      lowering.lower(named(Kind::kAllReduce, "collnet_chain", 1_MiB), first_gpus(8), Form::kCoupled),
      Contains("add \"sharp\" to the cluster file"));
  CHECK_THROWS_WITH(lowering.lower(named(Kind::kAllGather, "pat", 1_MiB), first_gpus(8), Form::kCoupled),
                    Contains("one member on each host"));
  CHECK_THROWS_WITH(lowering.lower(named(Kind::kAllGather, "pat", 1_MiB, Protocol::kLl),
                                   std::vector<GpuId>{GpuId(0), GpuId(4)}, Form::kCoupled),
                    Contains("protocol Simple only"));
}

TEST_CASE("four switches with a share each equal one with all", "[collective][truths]") {
  hardware::HostKind one = round_host(8);
  hardware::HostKind four = one;
  four.nvswitches = 4;
  const topology::Cluster with_one = reducing_cluster(one, 2);
  const topology::Cluster with_four = reducing_cluster(four, 2);
  const routing::Router single(with_one, "balanced");
  const routing::Router split(with_four, "balanced");
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::uint32_t members : {8U, 16U}) {
      if (algorithm.fits != nullptr && !algorithm.fits(Places::even(members, members / 8)).empty()) {
        continue;
      }
      Request request = named(algorithm.kind, algorithm.name, 3_MiB);
      CAPTURE(algorithm.name, members);
      CHECK(Lowering(single).lower(request, first_gpus(members), Form::kCoupled).idle_time ==
            Lowering(split).lower(request, first_gpus(members), Form::kCoupled).idle_time);
    }
  }
}

TEST_CASE("with algorithm, protocol and channels fixed more bytes never take less time",
          "[collective][truths]") {
  hardware::HostKind host = round_host(8);
  host.collective.ll_channel_bytes = 4096;
  host.collective.overlap_exponent = 1.65;
  host.collective.last_step_share = 0.4;
  const topology::Cluster cluster = reducing_cluster(host, 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const std::vector<std::int64_t> sizes{
      0,         1,          4,           4'095,       4'096,       65'536,      1'000'000,    3'276'799,
      3'276'800, 3'276'801,  4'194'303,   4'194'304,   4'194'305,   8'388'607,   8'388'608,    8'388'609,
      9'000'000, 33'554'432, 268'435'455, 268'435'456, 268'435'457, 400'000'000, 1'000'000'000};
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::uint32_t members : {8U, 16U}) {
      if (algorithm.fits != nullptr && !algorithm.fits(Places::even(members, members / 8)).empty()) {
        continue;
      }
      for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
        if (algorithm.simple_only && protocol != Protocol::kSimple) {
          continue;
        }
        for (const std::uint32_t channels : {0U, 1U, 4U}) {
          Duration before;
          for (const std::int64_t bytes : sizes) {
            Request request = named(algorithm.kind, algorithm.name, Bytes(bytes), protocol);
            request.channels = channels;
            const Duration time = lowering.lower(request, first_gpus(members), Form::kCoupled).idle_time;
            CAPTURE(algorithm.name, members, name_of(protocol), channels, bytes);
            CHECK(time >= before);
            before = time;
          }
        }
      }
    }
  }
}

TEST_CASE("over rails an all-to-all by the receiver's NIC beats one through thin spines",
          "[collective][truths]") {
  // Two hosts of eight GPUs, NIC i of both on leaf i, leaves joined by one cable of 6.25 GB/s each to a
  // spine. By its own NIC a member reaches 7 of the 8 members of the other host over the spine: of each leaf
  // 2 x 7 parts of S/16 at 6.25 GB/s. By the receiver's NIC all stays on its leaf: 8 parts at the NIC's 10
  // GB/s.
  const hardware::HostKind host = without_latency(round_host(8));
  topology::Topology::Draft draft;
  topology::add_hosts(host, 2, draft);
  const NodeId spine = draft.add_node({.kind = topology::NodeKind::kSwitch, .name = "spine"});
  for (std::uint32_t rail = 0; rail < 8; ++rail) {
    const NodeId leaf = draft.add_node(
        {.kind = topology::NodeKind::kSwitch, .index = rail, .name = fmt::format("leaf{}", rail)});
    for (std::uint32_t h = 0; h < 2; ++h) {
      draft.add_cable(
          node_named(draft, fmt::format("h{}.nic{}", h, rail)), leaf,
          {.capacity = host.nic_bandwidth, .effective = host.nic_effective, .tier = draft.tier("NIC")});
    }
    draft.add_cable(leaf, spine,
                    {.capacity = Bandwidth::from_bits_per_second(50'000'000'000),
                     .effective = Bandwidth::from_bits_per_second(50'000'000'000),
                     .tier = draft.tier("leaf")});
  }
  const topology::Cluster cluster{.name = "rails",
                                  .description = "",
                                  .host = host,
                                  .hosts = 2,
                                  .topology = topology::Topology::build(std::move(draft)),
                                  .storage = {},
                                  .faults = {}};
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const double part = 160e6 / 16;
  CHECK(seconds(lowering.lower(named(Kind::kAllToAll, "direct", Bytes(160'000'000)), first_gpus(16),
                               Form::kCoupled)) == Approx(14 * part / 6.25e9));
  CHECK(seconds(lowering.lower(named(Kind::kAllToAll, "pxn", Bytes(160'000'000)), first_gpus(16),
                               Form::kCoupled)) == Approx(8 * part / 10e9));
}

TEST_CASE("every hop over a link of 10 ms takes 10 ms", "[collective][truths]") {
  // Two hosts: each of the 2 steps of a ring crosses it. Four hosts on two leaves, step by step: of the 6
  // hops of the longest chain every second one crosses it; the others cost 20 us.
  const hardware::HostKind host = round_host(1);
  topology::Topology::Draft draft;
  topology::add_hosts(host, 4, draft);
  NodeId leaves[2];
  for (std::uint32_t l = 0; l < 2; ++l) {
    leaves[l] =
        draft.add_node({.kind = topology::NodeKind::kSwitch, .index = l, .name = fmt::format("leaf{}", l)});
    for (std::uint32_t h = 2 * l; h < 2 * l + 2; ++h) {
      draft.add_cable(
          node_named(draft, fmt::format("h{}.nic0", h)), leaves[l],
          {.capacity = host.nic_bandwidth, .effective = host.nic_effective, .tier = draft.tier("NIC")});
    }
  }
  draft.add_cable(leaves[0], leaves[1],
                  {.capacity = 100_GBps, .effective = 100_GBps, .latency = 10_ms, .tier = draft.tier("far")});
  const topology::Cluster cluster{.name = "far",
                                  .description = "",
                                  .host = host,
                                  .hosts = 4,
                                  .topology = topology::Topology::build(std::move(draft)),
                                  .storage = {},
                                  .faults = {}};
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const Request tiny = named(Kind::kAllReduce, "ring", Bytes(8));
  CHECK(seconds(lowering.lower(tiny, std::vector<GpuId>{GpuId(0), GpuId(2)}, Form::kCoupled)) ==
        Approx(5e-6 + 20e-3).epsilon(1e-5));
  CHECK(seconds(lowering.lower(tiny, std::vector<GpuId>{GpuId(0), GpuId(1)}, Form::kCoupled)) ==
        Approx(5e-6 + 2 * 20e-6).epsilon(1e-3));
  CHECK(seconds(lowering.lower(tiny, first_gpus(4), Form::kSteps)) ==
        Approx(5e-6 + 3 * 10e-3 + 3 * 20e-6).epsilon(1e-3));
  CHECK(seconds(lowering.lower(tiny, first_gpus(4), Form::kCoupled)) ==
        Approx(5e-6 + 3 * 10e-3 + 3 * 20e-6).epsilon(1e-3));
  // An all-gather goes 3 hops: in the worst case over the link at the first and the third.
  CHECK(seconds(lowering.lower(named(Kind::kAllGather, "ring", Bytes(8)), first_gpus(4), Form::kCoupled)) ==
        Approx(5e-6 + 2 * 10e-3 + 20e-6).epsilon(1e-3));
}

TEST_CASE("an all-to-all visits its peers in NCCL's order", "[collective][truths]") {
  // Groups of 8 (NCCL_P2P_SCHEDULE_GROUP_SIZE); group distances (x x + x) / 2 modulo the next power of two,
  // those beyond the groups left out: of 6 hosts 0, 1, 3, (6), 2, (7), 5, 4. Within a group the members in
  // turn.
  const auto peers = [](const Places& places, std::uint32_t rank) {
    std::vector<std::uint32_t> order;
    for (const Lane& lane : algorithm_named("pairwise_all_to_all").schedule(places, 1, 0).lanes) {
      for (const Step& step : lane.steps) {
        if (lane.rank == rank && step.action == Action::kSend) {
          order.push_back(step.send_peer);
        }
      }
    }
    return order;
  };
  CHECK(peers(Places::even(16, 2), 3) ==
        std::vector<std::uint32_t>{4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10});
  std::vector<std::uint32_t> expected{1, 2, 3, 4, 5, 6, 7};
  for (const std::uint32_t distance : {1U, 3U, 2U, 5U, 4U}) {
    for (std::uint32_t local = 0; local < 8; ++local) {
      expected.push_back(8 * distance + local);
    }
  }
  CHECK(peers(Places::even(48, 6), 0) == expected);
  // Four GPUs a host: groups of gcd(8, 4).
  CHECK(peers(Places::even(8, 2), 1) == std::vector<std::uint32_t>{2, 3, 0, 5, 6, 7, 4});
}
