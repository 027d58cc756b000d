#include <cmath>

#include "base/error.hpp"
#include "small_fabric.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::collective::test;
using namespace stepcast::literals;
using Catch::Matchers::Contains;

namespace {

Request request_of(Kind kind, Bytes bytes, std::optional<Protocol> protocol = {}) {
  Request request;
  request.kind = kind;
  request.bytes = bytes;
  request.protocol = protocol;
  return request;
}

}  // namespace

TEST_CASE("a ring on one host loads every NVLink port once", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(8), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const auto group = first_gpus(4);
  const Lowered lowered =
      lowering.lower(request_of(Kind::kAllReduce, 1_MiB, Protocol::kSimple), group, Form::kCoupled);
  CHECK(lowered.algorithm == "ring_all_reduce");
  CHECK(lowered.channels == 8);  // of the host kind
  // 2 * 3 / 4 of 1,048,576 B = 1,572,864 B on each of the four hops; each hop is one port out, one in.
  CHECK(lowered.coupled.work == 1'572'864);
  CHECK(lowered.coupled.demands.size() == 8);
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = fmt::format("h0.gpu{}", gpu);
    const double expected = gpu < 4 ? 1 : 0;
    const auto& coupled = lowered.coupled;
    CHECK(load_between(router, coupled.demands, coupled.divisor, name, "h0.nvs0") == expected);
    CHECK(load_between(router, coupled.demands, coupled.divisor, "h0.nvs0", name) == expected);
  }
  // Launch 5 us, six hops of 10 us, 1,572,864 B at 80 GB/s = 19.6608 us (p = 1: plain sum).
  CHECK(lowered.idle_time.ps() == Approx(84'660'800).margin(2));
  CHECK(lowered.coupled.latency.ps() == Approx(65'000'000).margin(2));
}

TEST_CASE("hops split over NVSwitches load their trunks once", "[collective][lowering]") {
  hardware::HostKind host = round_host(4);
  host.nvswitches = 3;
  host.nvlink_bandwidth = 120_GBps;
  host.nvlink_effective = 90_GBps;
  const topology::Cluster cluster = one_leaf(host, 1);
  const routing::Router router(cluster, "balanced");
  const Lowered lowered = Lowering(router).lower(
      request_of(Kind::kAllGather, Bytes(3'600'000), Protocol::kSimple), first_gpus(4), Form::kCoupled);
  const CoupledActivity& coupled = lowered.coupled;
  // The three links of a GPU always carry equal shares: one trunk out and one in for each of four GPUs.
  CHECK(coupled.demands.size() == 8);
  for (const network::Demand& demand : coupled.demands) {
    CHECK(demand.weight == coupled.divisor);
    CHECK(router.resources()[demand.resource.index()].links.size() == 3);
  }
  // 3/4 of 3.6 MB at 3 x 30 GB/s: 30 us; launch 5 us, three hops of 10 us.
  CHECK(coupled.work == 2'700'000);
  CHECK(lowered.idle_time.ps() == Approx(65'000'000).margin(2));
}

TEST_CASE("an algorithm that NCCL does not have takes the protocol with the least idle time",
          "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(8), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const auto group = first_gpus(4);
  // Four rounds and w = 1.5 S / 80 GB/s: LL 5 + 4 + 2 w, LL128 5 + 8 + 1.25 w, Simple 5 + 40 + w us.
  // LL below w = 16/3 us (284 kB), LL128 below w = 128 us (6.83 MB), then Simple.
  const auto protocol = [&](Bytes bytes) {
    Request request = request_of(Kind::kAllReduce, bytes);
    request.algorithm = "halving_doubling";
    return lowering.lower(request, group, Form::kCoupled).protocol;
  };
  CHECK(protocol(Bytes(280'000)) == Protocol::kLl);
  CHECK(protocol(Bytes(290'000)) == Protocol::kLl128);
  CHECK(protocol(Bytes(6'800'000)) == Protocol::kLl128);
  CHECK(protocol(Bytes(6'900'000)) == Protocol::kSimple);
}

TEST_CASE("a ring over two hosts keeps every channel on its rail", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(8), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const auto group = first_gpus(16);
  const Lowered lowered =
      lowering.lower(request_of(Kind::kAllReduce, 16_MiB, Protocol::kSimple), group, Form::kCoupled);
  const CoupledActivity& coupled = lowered.coupled;
  // 2 * 15 / 16 of 16,777,216 B over 8 rings: 3,932,160 B a hop.
  CHECK(coupled.work == 3'932'160);
  for (int host = 0; host < 2; ++host) {
    const std::string nvs = fmt::format("h{}.nvs0", host);
    for (int i = 0; i < 8; ++i) {
      CAPTURE(host, i);
      const std::string gpu = fmt::format("h{}.gpu{}", host, i);
      const std::string nic = fmt::format("h{}.nic{}", host, i);
      const auto load = [&](const std::string& from, const std::string& to) {
        return load_between(router, coupled.demands, coupled.divisor, from, to);
      };
      // Each NIC carries one ring, out and in.
      CHECK(load(nic, "leaf") == 1);
      CHECK(load("leaf", nic) == 1);
      // Each GPU sends once per ring over NVLink: to the next member, or as exit to the rail's member.
      CHECK(load(gpu, nvs) == 8);
      CHECK(load(nvs, gpu) == 8);
    }
  }
  // NICs at 10 GB/s and NVLink at 80 / 8 = 10 GB/s a ring: 3,932,160 B take 393.216 us. Of 30 steps
  // 30 * 2 / 16 = 3.75, rounded up 4, cross the network: 5 + 26 * 10 + 4 * 20 = 345 us.
  CHECK(lowered.idle_time.ps() == Approx(738'216'000).margin(2));
}

TEST_CASE("one member on each host needs no second NIC", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 3);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const std::vector<GpuId> group = {GpuId(1), GpuId(5), GpuId(9)};
  const Lowered lowered =
      lowering.lower(request_of(Kind::kAllGather, Bytes(3'000'000)), group, Form::kCoupled);
  const CoupledActivity& coupled = lowered.coupled;
  CHECK(lowered.channels == 2);  // the ring of one NIC, doubled
  for (int host = 0; host < 3; ++host) {
    for (int i = 0; i < 4; ++i) {
      const std::string nic = fmt::format("h{}.nic{}", host, i);
      CHECK(load_between(router, coupled.demands, coupled.divisor, nic, "leaf") == (i == 1 ? 1 : 0));
    }
    const std::string gpu = fmt::format("h{}.gpu1", host);
    CHECK(load_between(router, coupled.demands, coupled.divisor, gpu, fmt::format("h{}.nvs0", host)) == 0);
  }
}

TEST_CASE("hosts with unequal numbers of members form one ring, host by host", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  // Group order alternates between the hosts; the ring does not: 0, 1, 2 | 4 and back.
  const std::vector<GpuId> group = {GpuId(0), GpuId(4), GpuId(1), GpuId(2)};
  const Lowered lowered = lowering.lower(
      request_of(Kind::kReduceScatter, Bytes(4'000'000), Protocol::kSimple), group, Form::kCoupled);
  const CoupledActivity& coupled = lowered.coupled;
  const auto load = [&](const std::string& from, const std::string& to) {
    return load_between(router, coupled.demands, coupled.divisor, from, to);
  };
  CHECK(lowered.channels == 2);
  CHECK(coupled.work == 3'000'000);  // 3/4 of the input
  CHECK(load("h0.gpu0", "h0.nvs0") == 1);
  CHECK(load("h0.gpu1", "h0.nvs0") == 1);
  CHECK(load("h0.gpu2", "h0.nvs0") == 0);
  CHECK(load("h0.nic2", "leaf") == 1);
  CHECK(load("leaf", "h0.nic0") == 1);
  CHECK(load("h1.nic0", "leaf") == 1);
  CHECK(load("h1.gpu0", "h1.nvs0") == 0);
}

TEST_CASE("an all-reduce moves twice the bytes of an all-gather", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(8), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const std::uint32_t members : {2U, 8U, 16U}) {
    const auto group = first_gpus(members);
    const auto bytes_moved = [&](Kind kind) {
      return moved(
          lowering.lower(request_of(kind, 16_MiB, Protocol::kSimple), group, Form::kCoupled).coupled);
    };
    CAPTURE(members);
    CHECK(bytes_moved(Kind::kAllReduce) == 2 * bytes_moved(Kind::kAllGather));
    CHECK(bytes_moved(Kind::kReduceScatter) == bytes_moved(Kind::kAllGather));
  }
}

TEST_CASE("every member of a send_recv sends its whole buffer to the next", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const std::vector<GpuId> group = {GpuId(0), GpuId(2), GpuId(1)};
  const Lowered lowered =
      lowering.lower(request_of(Kind::kSendRecv, Bytes(800'000), Protocol::kSimple), group, Form::kCoupled);
  CHECK(lowered.algorithm == "direct_send_recv");
  CHECK(lowered.coupled.work == 800'000);
  // One hop of 10 us, 800,000 B at 80 GB/s = 10 us, launch 5 us.
  CHECK(lowered.idle_time.ps() == Approx(25'000'000).margin(2));
}

TEST_CASE("no bytes or one member take the launch only", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Form form : {Form::kCoupled, Form::kSteps}) {
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(algorithm.name);
      if (algorithm.available != nullptr || (algorithm.fits != nullptr && algorithm.family != "pat") ||
          algorithm.kind == Kind::kBarrier) {
        continue;  // a cluster that has no such thing; a barrier is never empty
      }
      Request request = request_of(algorithm.kind, 0_B);
      request.algorithm = algorithm.family == "pat" ? "" : algorithm.name;
      const Lowered empty = lowering.lower(request, first_gpus(4), form);
      request.bytes = 1_MiB;
      const Lowered alone = lowering.lower(request, first_gpus(1), form);
      for (const Lowered* lowered : {&empty, &alone}) {
        CHECK(lowered->idle_time == 5_us);
        CHECK(lowered->coupled.demands.empty());
        CHECK(lowered->coupled.work == 0);
        CHECK(lowered->stepped.steps.empty());
        CHECK((form == Form::kCoupled ? lowered->coupled.latency : lowered->stepped.latency) == 5_us);
      }
    }
  }
}

TEST_CASE("four bytes are rounded up to whole bytes on the wire", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(8), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  // 2 * 7 / 8 * 4 B = 7 B a hop; LL doubles them: 14 B at 80 GB/s = 175 ps after 5 + 14 us.
  const Lowered lowered = lowering.lower(request_of(Kind::kAllReduce, 4_B), first_gpus(8), Form::kCoupled);
  CHECK(lowered.protocol == Protocol::kLl);
  CHECK(lowered.coupled.work == 14);
  CHECK(lowered.idle_time == Duration::from_ps(19'000'175));
}

TEST_CASE("more bytes never take less time in one protocol", "[collective][lowering]") {
  hardware::HostKind host = round_host(8);
  host.collective.ll_channel_bytes = 4096;
  host.collective.overlap_exponent = 1.65;
  host.collective.last_step_share = 0.4;
  const topology::Cluster cluster = one_leaf(host, 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.available != nullptr || algorithm.fits != nullptr) {
      continue;
    }
    for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
      for (const std::uint32_t members : {2U, 8U, 16U}) {
        Duration last;
        for (std::int64_t bytes = 1; bytes < 1'000'000'000; bytes += 1 + bytes / 3) {
          CAPTURE(algorithm.name, name_of(protocol), members, bytes);
          Request request = request_of(algorithm.kind, Bytes(bytes), protocol);
          request.algorithm = algorithm.name;
          const Lowered lowered = lowering.lower(request, first_gpus(members), Form::kCoupled);
          CHECK(lowered.idle_time + Duration::from_ps(2) >= last);  // 2 ps: rounding of the flat zone
          last = lowered.idle_time;
        }
      }
    }
  }
}

TEST_CASE("a hint of fewer channels takes fewer rails", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(without_latency(round_host(8)), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  Request request = request_of(Kind::kAllGather, Bytes(16'000'000), Protocol::kSimple);
  request.channels = 2;
  const Lowered lowered = lowering.lower(request, first_gpus(16), Form::kCoupled);
  const CoupledActivity& coupled = lowered.coupled;
  CHECK(lowered.channels == 2);
  CHECK(coupled.work == 7'500'000);  // 15/16 of 16 MB over two rings
  CHECK(load_between(router, coupled.demands, coupled.divisor, "h0.nic1", "leaf") == 1);
  CHECK(load_between(router, coupled.demands, coupled.divisor, "h0.nic2", "leaf") == 0);
  // Two of eight channels: 80 GB/s * 2/8 over two rings is 10 GB/s, just what a NIC takes.
  CHECK(lowered.idle_time.ps() == Approx(750'000'000).margin(2));
}

TEST_CASE("algorithm hints are names or families of the asked kind", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  const auto group = first_gpus(4);
  Request request = request_of(Kind::kAllGather, 1_MiB);
  for (const char* name : {"", "ring", "ring_all_gather"}) {
    request.algorithm = name;
    CHECK(lowering.lower(request, group, Form::kCoupled).algorithm == "ring_all_gather");
  }
  request.algorithm = "rign";
  CHECK_THROWS_AS(lowering.lower(request, group, Form::kCoupled), InputError);
  CHECK_THROWS_WITH(lowering.lower(request, group, Form::kCoupled),
                    "unknown algorithm \"rign\" for all_gather; did you mean \"ring\"?");
  request.algorithm = "ring_all_reduce";
  CHECK_THROWS_AS(lowering.lower(request, group, Form::kCoupled), InputError);
}

TEST_CASE("a message costs one hop and its path", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  // Small, inside a host: LL, 5 + 1 us, 2 * 800 B at 80 GB/s = 20 ns.
  const Lowered small = lowering.lower_message(Bytes(800), GpuId(0), GpuId(3));
  CHECK(small.protocol == Protocol::kLl);
  CHECK(small.idle_time.ps() == Approx(6'020'000).margin(1));
  // Large, over the network: Simple, 5 + 20 us, 10 MB at 10 GB/s = 1 ms.
  const Lowered large = lowering.lower_message(Bytes(10'000'000), GpuId(0), GpuId(7));
  CHECK(large.protocol == Protocol::kSimple);
  CHECK(large.coupled.work == 10'000'000);
  CHECK(large.idle_time.ps() == Approx(1'025'000'000).margin(1));
  CHECK(large.coupled.completion_offset == std::vector<Duration>(2));
  CHECK_FALSE(large.coupled.demands.empty());
  // To itself: nothing crosses a link.
  const Lowered self = lowering.lower_message(1_MiB, GpuId(2), GpuId(2));
  CHECK(self.coupled.demands.empty());
  CHECK(self.idle_time == 5_us);
}

TEST_CASE("storage is limited by its own rate or by the NIC", "[collective][lowering]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  // 12 MB read at 6 GB/s: 2 ms; written at 4 GB/s: 3 ms. The NIC (10 GB/s) is wider.
  const Lowered read = lowering.lower_storage(Bytes(12'000'000), GpuId(0), 0, false);
  const Lowered write = lowering.lower_storage(Bytes(12'000'000), GpuId(0), 0, true);
  CHECK(read.coupled.work == 12'000'000);
  CHECK(read.idle_time.ps() == Approx((2_ms).ps()).margin(2));
  CHECK(write.idle_time.ps() == Approx((3_ms).ps()).margin(2));
}

TEST_CASE("a large ring on 8 A100 reaches the measured bus bandwidth", "[collective][lowering]") {
  // NVLink 3: 300 GB/s one way, of which a ring gets 235 (nccl-tests, A100-SXM, 24 channels of about
  // 10 GB/s). Launch 8.6 us, 14 us a Simple step, p = 1.65, kappa 0.4.
  // Measured: vTrain, trace/a100/comm: all-reduce of 1 GiB on 8 A100 at busbw 229 GB/s (nccl-tests).
  hardware::HostKind host = round_host(8);
  host.nvlink_bandwidth = 300_GBps;
  host.nvlink_effective = 235_GBps;
  host.collective.launch = Duration::from_ps(8'600'000);
  host.collective.hop_simple = 14_us;
  host.collective.overlap_exponent = 1.65;
  host.collective.last_step_share = 0.4;
  const topology::Cluster cluster = one_leaf(host, 1);
  const routing::Router router(cluster, "balanced");
  const Lowered lowered =
      Lowering(router).lower(request_of(Kind::kAllReduce, 1_GiB), first_gpus(8), Form::kCoupled);
  const double algorithm_bandwidth = 1073741824.0 / lowered.idle_time.seconds() / 1e9;
  const double bus_bandwidth = algorithm_bandwidth * bus_factor(Kind::kAllReduce, 8);
  CHECK(lowered.protocol == Protocol::kSimple);
  CHECK(bus_bandwidth == Approx(229).epsilon(0.06));
}

TEST_CASE("a large ring on 8 H100 reaches the measured bus bandwidth", "[collective][lowering]") {
  // NVLink 4: 450 GB/s one way, of which a ring gets 366. Rings without NVLS (nccl-tests, H100-SXM):
  // busbw 349 to 370 GB/s at large sizes.
  hardware::HostKind host = round_host(8);
  host.nvlink_bandwidth = 450_GBps;
  host.nvlink_effective = 366_GBps;
  host.collective.launch = Duration::from_ps(4'700'000);
  host.collective.hop_simple = Duration::from_ps(8'700'000);
  host.collective.overlap_exponent = 1.65;
  host.collective.last_step_share = 0.4;
  const topology::Cluster cluster = one_leaf(host, 1);
  const routing::Router router(cluster, "balanced");
  const Lowered lowered =
      Lowering(router).lower(request_of(Kind::kAllReduce, 1_GiB), first_gpus(8), Form::kCoupled);
  const double algorithm_bandwidth = 1073741824.0 / lowered.idle_time.seconds() / 1e9;
  const double bus_bandwidth = algorithm_bandwidth * bus_factor(Kind::kAllReduce, 8);
  CHECK(bus_bandwidth > 345);
  CHECK(bus_bandwidth < 370);
}
