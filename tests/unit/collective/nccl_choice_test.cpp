#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"
#include "collective/collective.hpp"
#include "collective/nccl/choice.hpp"
#include "routing/router.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::literals;
using Catch::Matchers::Contains;

namespace {

/// `hosts` hosts of a shipped kind on one leaf per rail, with the NCCL that `nccl` (JSON) says.
topology::Cluster cluster_of(const std::string& host, std::uint32_t hosts, const std::string& nccl) {
  config::Diagnostics diagnostics;
  const config::Document document =
      config::Document::parse(fmt::format(R"({{"name": "c", "host": "{}", "hosts": {}, "nccl": {},
        "fabric": {{"kind": "rail_optimized", "hosts_per_unit": 32, "spines": 4}}}})",
                                          host, hosts, nccl),
                              "c.json", diagnostics);
  return topology::read_cluster(document, hardware::Catalog::shipped(), diagnostics);
}

struct Asked {
  std::string host;
  std::uint32_t hosts;
  std::uint32_t members;  ///< of each host, the first ones
  std::string version;
  Kind kind;
  DataType dtype;
};

/// "Ring/LL up to 1 MiB, ..." as pairs: the choice at every power of two from 8 B on, and the last size of
/// it.
std::string choices(const Asked& asked) {
  const topology::Cluster cluster =
      cluster_of(asked.host, asked.hosts, fmt::format(R"({{"version": "{}"}})", asked.version));
  const nccl::Chooser chooser(cluster);
  std::vector<std::uint32_t> local;
  for (std::uint32_t i = 0; i < asked.hosts * asked.members; ++i) {
    local.push_back(i % asked.members);
  }
  const auto costs = chooser.costs(Places::even(asked.hosts * asked.members, asked.hosts), local);
  nccl::Offer all;
  all.families.fill(true);
  std::string text;
  std::string last;
  for (std::int64_t bytes = 8; bytes <= (std::int64_t{8} << 30); bytes *= 2) {
    const auto choice = chooser.choose(*costs, asked.kind, Bytes(bytes), asked.dtype, Reduction::kSum, all);
    REQUIRE(choice.has_value());
    const std::string name = fmt::format("{}/{}", nccl::name_of(choice->family), name_of(choice->protocol));
    if (name != last) {
      text += last.empty() ? name : fmt::format(" {}K {}", bytes / 1024, name);
      last = name;
    }
  }
  return text;
}

}  // namespace

// What nccl-tests sweeps of single hosts show by the kinks of their curves, and one user's report that NVIDIA
// confirmed: 8 H100 take Ring/LL up to 1 MiB and NVLS from 2 MiB. Sizes are powers of two, so a choice that
// ends at 1 MiB is followed at 2048K.
TEST_CASE("choices on one host are those that measured curves show", "[collective][nccl]") {
  // 8 A100, all-reduce: LL to 2 MiB, LL128 from 4 to 16 MiB, Simple from 32 MiB.
  CHECK(choices({"dgx-a100-80g", 1, 8, "2.27.7", Kind::kAllReduce, DataType::kFp16}) ==
        "Ring/LL 4096K Ring/LL128 32768K Ring/Simple");
  // 8 H100: LL to 1 MiB, NVLS from 2 MiB. int8 is not added by the switches: LL to 2 MiB, LL128 to 32 MiB.
  CHECK(choices({"dgx-h100", 1, 8, "2.27.7", Kind::kAllReduce, DataType::kFp16}) ==
        "Ring/LL 2048K NVLS/Simple");
  CHECK(choices({"dgx-h100", 1, 8, "2.27.7", Kind::kAllReduce, DataType::kInt8}) ==
        "Ring/LL 4096K Ring/LL128 65536K Ring/Simple");
  // 8 H100, all-gather and reduce-scatter: LL to 4 MiB, LL128 8 and 16 MiB, Simple from 32 MiB.
  CHECK(choices({"dgx-h100", 1, 8, "2.27.7", Kind::kAllGather, DataType::kFp16}) ==
        "Ring/LL 8192K Ring/LL128 32768K Ring/Simple");
  CHECK(choices({"dgx-h100", 1, 8, "2.27.7", Kind::kReduceScatter, DataType::kFp16}) ==
        "Ring/LL 8192K Ring/LL128 32768K Ring/Simple");
  // 8 B200: LL to 2 MiB, NVLS from 4 MiB; four of them have no NVLS and jump from LL to Simple at 8 MiB.
  CHECK(choices({"dgx-b200", 1, 8, "2.27.7", Kind::kAllReduce, DataType::kFp16}) ==
        "Ring/LL 4096K NVLS/Simple");
  CHECK(choices({"dgx-b200", 1, 4, "2.29.2", Kind::kAllReduce, DataType::kFp16}) ==
        "Ring/LL 8192K Ring/Simple");
  // 8 B200, all-gather: LL to 8 MiB, then LL128 in 2.27 and Simple in 2.29.2, whose LL128 is capped lower.
  CHECK(choices({"dgx-b200", 1, 8, "2.27.7", Kind::kAllGather, DataType::kFp16}) ==
        "Ring/LL 16384K Ring/LL128 65536K Ring/Simple");
  CHECK(choices({"dgx-b200", 1, 8, "2.29.2", Kind::kAllGather, DataType::kFp16}) ==
        "Ring/LL 16384K Ring/Simple");
}

TEST_CASE("choices between hosts are those that measured curves show", "[collective][nccl]") {
  // 2 x 8 H100 on InfiniBand: Tree to 512 KiB, NVLSTree from 1 MiB.
  CHECK_THAT(choices({"dgx-h100", 2, 8, "2.23.4", Kind::kAllReduce, DataType::kFp32}),
             Contains("Tree/LL128 1024K NVLSTree/Simple"));
  // 4 hosts: NVLSTree until about 256 MiB, Ring above.
  CHECK_THAT(choices({"dgx-h100", 4, 8, "2.27.7", Kind::kAllReduce, DataType::kFp32}),
             Contains("NVLSTree/Simple 262144K Ring/Simple"));
  // 2 x 8 A100 on HDR: Tree to a few MiB, Ring above.
  CHECK_THAT(choices({"dgx-a100-80g", 2, 8, "2.20.5", Kind::kAllReduce, DataType::kFp16}),
             Contains("Tree/LL128 16384K Ring/LL128"));
}

// NCCL 2.30's table by hand (its src/graph/tuning.cc): 8 H100 on one host, 12 channels of 30 GB/s.
TEST_CASE("the table of one host by hand", "[collective][nccl]") {
  const topology::Cluster cluster = cluster_of("dgx-h100", 1, R"({"version": "2.30.7"})");
  const nccl::Chooser chooser(cluster);
  const std::vector<std::uint32_t> local = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto costs = chooser.costs(Places::even(8), local);
  CHECK(costs->communicator.ring.channels == 12);
  CHECK(costs->communicator.ring.intra == 30);
  CHECK(costs->communicator.connected_channels == 24);
  const nccl::CostTable& table = costs->tables[static_cast<std::size_t>(Kind::kAllReduce)];
  const auto cost = [&](nccl::Family family, Protocol protocol) {
    return table[static_cast<std::size_t>(family)][static_cast<std::size_t>(protocol)];
  };
  // Ring: 14 steps; busbw 360, of it half for LL (below its ceiling of 141: the ceiling) and 0.92 for LL128;
  // algbw is busbw x 8 / 14.
  CHECK(cost(nccl::Family::kRing, Protocol::kLl).latency_us == Approx(6.6 + 14 * 0.6));
  CHECK(cost(nccl::Family::kRing, Protocol::kLl).bandwidth == Approx(141.0 * 8 / 14));
  CHECK(cost(nccl::Family::kRing, Protocol::kLl128).latency_us == Approx(14 + 14 * 1.9));
  CHECK(cost(nccl::Family::kRing, Protocol::kLl128).bandwidth == Approx(0.92 * 360 * 8 / 14));
  CHECK(cost(nccl::Family::kRing, Protocol::kSimple).latency_us == Approx(8.4 + 14 * 3.4));
  CHECK(cost(nccl::Family::kRing, Protocol::kSimple).bandwidth == Approx(360.0 * 8 / 14));
  // Tree: a chain of 7 hops down and up; min(0.92 x 360, 12 x 38.7) = 331.2, LL a 3.8th of it, algbw half.
  CHECK(cost(nccl::Family::kTree, Protocol::kLl).latency_us == Approx(6.8 + 14 * 0.6));
  CHECK(cost(nccl::Family::kTree, Protocol::kLl).bandwidth == Approx(331.2 / 3.8 / 2));
  // NVLS: a port carries its own channel twice and seven others once, so 370.8 GB/s leave 40 for each of 8;
  // 0.85 of it, 7/8 for the channels that overlap, two halves: x 8/14. Measured: 274 GB/s.
  CHECK(cost(nccl::Family::kNvls, Protocol::kSimple).latency_us == Approx(25));
  CHECK(cost(nccl::Family::kNvls, Protocol::kSimple).bandwidth == Approx(8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14));
  CHECK(cost(nccl::Family::kNvlsTree, Protocol::kSimple).bandwidth == 0);
  CHECK_THAT(cost(nccl::Family::kNvlsTree, Protocol::kSimple).reason, Contains("one NVLink domain"));
}

TEST_CASE("a ring of many ranks pays for its steps, a tree for their logarithm", "[collective][nccl]") {
  const topology::Cluster cluster = cluster_of("dgx-h100", 4, R"({"version": "2.27.7"})");
  const nccl::Chooser chooser(cluster);
  std::vector<std::uint32_t> local;
  for (std::uint32_t i = 0; i < 32; ++i) {
    local.push_back(i % 8);
  }
  const auto costs = chooser.costs(Places::even(32, 4), local);
  const auto candidates =
      chooser.candidates(*costs, Kind::kAllReduce, Bytes(1 << 30), DataType::kFp32, Reduction::kSum);
  REQUIRE(candidates.size() == 21);
  for (const nccl::Candidate& one : candidates) {
    if (one.family == nccl::Family::kRing && one.protocol == Protocol::kSimple) {
      // 62 steps, 6 of them between hosts, the others at least 3 x the 1 us that an Intel host takes to post:
      // 8.4 + 56 x 3.4 + 6 x 14; 8 channels of 48 GB/s; 1.4 x the latency on the plateau of large calls.
      CHECK(one.latency_us == Approx(8.4 + 56 * 3.4 + 6 * 14));
      CHECK(one.bandwidth == Approx(8 * 48 * 32.0 / 62));
      CHECK(one.table_time_us == Approx(1.4 * one.latency_us + (1 << 30) / (1000 * one.bandwidth)));
    }
    if (one.family == nccl::Family::kTree && one.protocol == Protocol::kLl) {
      // 7 hops in the host and log2(4) between, up and down.
      CHECK(one.latency_us == Approx(6.8 + 2 * (7 * 0.6 + 2 * 5.0)));
    }
  }
}

TEST_CASE("NCCL's variables leave out, force and limit", "[collective][nccl]") {
  const auto lowered = [](const std::string& nccl, Kind kind, Bytes bytes) {
    const topology::Cluster cluster = cluster_of("dgx-h100", 2, nccl);
    const routing::Router router(cluster, "balanced");
    std::vector<GpuId> group;
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      group.emplace_back(gpu);
    }
    Request request;
    request.kind = kind;
    request.bytes = bytes;
    return Lowering(router).lower(request, group, Form::kCoupled);
  };
  CHECK(lowered("{}", Kind::kAllReduce, 64_MiB).algorithm == "nvls_all_reduce");
  CHECK(lowered(R"({"NCCL_NVLS_ENABLE": 0})", Kind::kAllReduce, 64_MiB).algorithm == "ring_all_reduce");
  CHECK(lowered(R"({"NCCL_ALGO": "^NVLS"})", Kind::kAllReduce, 64_MiB).algorithm == "ring_all_reduce");
  CHECK(lowered(R"({"NCCL_ALGO": "tree"})", Kind::kAllReduce, 64_MiB).algorithm == "tree_all_reduce");
  const Lowered ll = lowered(R"({"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"})", Kind::kAllReduce, 64_MiB);
  CHECK(ll.protocol == Protocol::kLl);
  CHECK(ll.channels == 24);
  // 8 channels of 20.5 GB/s; more than NCCL would take are no limit.
  const Lowered free = lowered(R"({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"})", Kind::kAllReduce, 64_MiB);
  const Lowered few = lowered(R"({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": 8})",
                              Kind::kAllReduce, 64_MiB);
  CHECK(few.channels == 8);
  CHECK(few.coupled.cap == Approx(8 * 20.5e9));
  CHECK(lowered(R"({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": 32})",
                Kind::kAllReduce, 64_MiB)
            .idle_time == free.idle_time);
  // By collective from 2.24 on.
  const std::string by_kind = R"({"version": "2.27", "NCCL_ALGO": "allreduce:Tree;allgather:Ring"})";
  CHECK(lowered(by_kind, Kind::kAllReduce, 64_MiB).algorithm == "tree_all_reduce");
  CHECK(lowered(by_kind, Kind::kAllGather, 64_MiB).algorithm == "ring_all_gather");
  CHECK_THROWS_WITH(lowered(R"({"NCCL_ALGO": "Tree"})", Kind::kAllGather, 64_MiB),
                    Contains("leave no algorithm for all_gather") && Contains("Tree: NCCL 2.27.7 has none"));
}

TEST_CASE("NVLink switches add numbers, compare some, and do nothing else", "[collective][nccl]") {
  // NCCL, src/include/device.h: integers and halves with sum and min/max, float and double with sum alone.
  CHECK(nccl::switch_reduces(DataType::kFp32, Reduction::kSum));
  CHECK(nccl::switch_reduces(DataType::kFp64, Reduction::kSum));
  CHECK(nccl::switch_reduces(DataType::kInt32, Reduction::kSum));
  CHECK(nccl::switch_reduces(DataType::kBf16, reduction_of("max")));
  CHECK_FALSE(nccl::switch_reduces(DataType::kFp32, reduction_of("min")));
  CHECK_FALSE(nccl::switch_reduces(DataType::kFp16, reduction_of("avg")));
  CHECK_FALSE(nccl::switch_reduces(DataType::kInt8, Reduction::kSum));
}

TEST_CASE("the number of channels in use changes nothing when it is asked for", "[collective][nccl]") {
  const topology::Cluster cluster = cluster_of("dgx-h100", 2, "{}");
  const routing::Router router(cluster, "balanced");
  const Lowering lowering(router);
  std::vector<GpuId> group;
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
    group.emplace_back(gpu);
  }
  for (const std::string algorithm : {"ring", "tree", "nvls_tree"}) {
    CAPTURE(algorithm);
    Request request;
    request.bytes = 256_MiB;
    request.algorithm = algorithm;
    request.protocol = Protocol::kSimple;
    const Duration free = lowering.lower(request, group, Form::kCoupled).idle_time;
    request.channels = 16;
    CHECK(lowering.lower(request, group, Form::kCoupled).idle_time == free);
    request.channels = 8;
    CHECK(lowering.lower(request, group, Form::kCoupled).idle_time > free);
  }
}

TEST_CASE("GPUs that stand alike find as many channels, so one search serves them", "[collective][nccl]") {
  // DGX H100 as shape_of() has it: two GPUs and two NICs a PCIe leaf, two leaves a processor.
  const topology::Cluster cluster = cluster_of("dgx-h100", 4, "{}");
  const nccl::HostSymmetry symmetry(cluster);
  using Members = std::vector<std::uint32_t>;
  CHECK(symmetry.canonical({7}) == Members{0});
  CHECK(symmetry.canonical({5, 1}) == Members{0, 4});
  CHECK(symmetry.canonical({2, 6}) == Members{0, 4});
  CHECK(symmetry.canonical({6, 7}) == Members{0, 1});
  CHECK(symmetry.canonical({1, 3}) == Members{0, 2});
  CHECK(symmetry.canonical({0, 1, 2, 3, 4, 5, 6, 7}) == Members{0, 1, 2, 3, 4, 5, 6, 7});
  const auto found = [&](const Members& members) {
    const nccl::Communicator made = nccl::communicator_of(cluster, nccl::settings_of({}), {4, members});
    return std::vector<double>{static_cast<double>(made.connected_channels),
                               static_cast<double>(made.ring.channels),
                               made.ring.intra,
                               made.ring.inter,
                               static_cast<double>(made.tree.channels),
                               made.tree.intra,
                               made.tree.inter,
                               static_cast<double>(made.nvls.channels),
                               made.nvls.inter};
  };
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = a; b < 8; ++b) {
      const Members members = a == b ? Members{a} : Members{a, b};
      CAPTURE(a, b);
      CHECK(found(members) == found(symmetry.canonical(members)));
    }
  }
}

TEST_CASE("mistakes in NCCL's variables are all told, with what was meant", "[collective][nccl]") {
  const topology::Cluster cluster = cluster_of(
      "dgx-h100", 1,
      R"({"version": "2.27", "NCCL_ALGOS": "Ring", "NCCL_PROTO": "LL256", "NCCL_CROSS_NIC": 3, "NCCL_DEBUG": "INFO"})");
  CHECK_THROWS_WITH(
      nccl::settings_of(cluster.nccl),
      Contains("/nccl/NCCL_ALGOS: unknown NCCL variable \"NCCL_ALGOS\"; did you mean \"NCCL_ALGO\"?") &&
          Contains("NCCL_PROTO does not take \"LL256\"") &&
          Contains("NCCL_CROSS_NIC does not take \"3\"; give 0, 1 or 2"));
  CHECK_THROWS_WITH(nccl::settings_of(cluster_of("dgx-h100", 1, R"({"version": "2.12"})").nccl),
                    Contains("the rules of NCCL 2.12 are not known here"));
  CHECK_THROWS_WITH(nccl::settings_of(cluster_of("dgx-h100", 1, R"({"version": "3"})").nccl),
                    Contains("is no version of NCCL"));
  const nccl::Settings settings =
      nccl::settings_of(cluster_of("dgx-h100", 1, R"({"NCCL_DEBUG": "INFO"})").nccl);
  CHECK(settings.without_effect == std::vector<std::string>{"NCCL_DEBUG=INFO"});
}
