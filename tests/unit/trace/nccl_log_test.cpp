#include "trace/nccl_log.hpp"

#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace stepcast::trace {
namespace {

using Catch::Matchers::Contains;

const std::string kStart =
    "n0:7:8 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1a000 commId 0x9 - Init START\n"
    "n0:9:10 [1] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 1 busId 1b000 commId 0x9 - Init START\n";
const std::string kComplete =
    "n0:7:8 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1a000 commId 0x9 - Init COMPLETE\n"
    "n0:9:10 [1] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 1 busId 1b000 commId 0x9 - Init COMPLETE\n";

TEST_CASE("a log gives communicators with their ranks, rings and counts") {
  const NcclLog log = read_nccl_log(
      "NCCL version 2.18.5+cuda12.2\n" + kStart +
          "n0:7:8 [0] NCCL INFO Channel 00/02 :    0   1\n"
          "n0:7:8 [0] NCCL INFO Channel 01/02 :    0   1\n"
          "n0:7:8 [0] NCCL INFO 2 coll channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer\n" +
          kComplete,
      "log");
  CHECK(log.version == "2.18.5");
  CHECK_FALSE(log.rccl);
  REQUIRE(log.hosts.size() == 1);
  CHECK(log.hosts[0].gpus.size() == 2);
  REQUIRE(log.communicators.size() == 1);
  const LoggedCommunicator& communicator = log.communicators[0];
  CHECK(communicator.id == "0x9");
  CHECK(communicator.ranks == 2);
  CHECK(communicator.members.at(1).bus == 0x1b000);
  CHECK(communicator.ring_channels == 2);
  CHECK(communicator.rings.at(1) == std::vector<std::uint32_t>{0, 1});
  REQUIRE(communicator.counts);
  CHECK(communicator.counts->collective == 2);
  CHECK(communicator.counts->p2p == 4);
  CHECK(communicator.counts->p2p_per_peer == 2);
}

// Wrappers put a rank or a channel of their own before the line; newer versions write more words.
TEST_CASE("prefixes of wrappers and newer wording are read") {
  for (const std::string prefix : {"", " 3: ", "[1,3]<stdout>:", "[default3]:", "2024-01-01T00:00:00 "}) {
    const std::string line = prefix + "node-1.local:12:34 [3] NCCL INFO ";
    const NcclLog log = read_nccl_log(line +
                                          "ncclCommInitRankConfig comm 0x5 rank 0 nranks 1 cudaDev 3 nvmlDev "
                                          "3 busId dc000 commId 0xf - Init START\n" +
                                          line + "Channel 00/01 : 0\n" + line +
                                          "1 coll channels, 1 collnet channels, 3 nvls channels, 4 p2p "
                                          "channels, 5 p2p channels per peer\r\n" +
                                          line +
                                          "ncclCommInitRankConfig comm 0x5 rank 0 nranks 1 cudaDev 3 nvmlDev "
                                          "3 busId dc000 commId 0xf - Init COMPLETE\n",
                                      "log");
    REQUIRE(log.hosts.size() == 1);
    CHECK(log.hosts[0].name == "node-1.local");
    REQUIRE(log.communicators.size() == 1);
    CHECK(log.communicators[0].rings.size() == 1);
    REQUIRE(log.communicators[0].counts);
    CHECK(log.communicators[0].counts->nvls == 3);
    CHECK(log.communicators[0].counts->p2p_per_peer == 5);
  }
}

TEST_CASE("NICs, their speed and place, processors and variables are read") {
  const NcclLog log = read_nccl_log(
      "n0:7:8 [0] NCCL INFO NET/IB : Made virtual device [1] name=mlx5_1 speed=200000 ndevs=1\n"
      "n0:7:8 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB eno1:10.0.0.1<0>\n"
      "n0:7:8 [0] NCCL INFO NVLS multicast support is available on dev 0\n"
      "n0:7:8 [0] NCCL INFO NCCL_CROSS_NIC set by environment to 1.\n" +
          kStart +
          "n0:7:8 [0] NCCL INFO Setting affinity for GPU 0 to 0-31\n"
          "n0:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IBext/1(1)/GDRDMA\n" +
          kComplete,
      "log");
  const LoggedHost& host = log.hosts.at(0);
  REQUIRE(host.nics.size() == 2);
  CHECK(host.nics[0].name == "mlx5_0");
  CHECK(host.nics[0].reduces);
  CHECK(host.nics[0].gb_per_s == 0);
  CHECK(host.nics[1].gb_per_s == 25);  // 200000 Mb/s
  CHECK_FALSE(host.nics[1].reduces);
  CHECK(host.nic_gpus.at(1) == 0x1b000);  // the GPU of rank 1 sends there for others
  CHECK(host.multicast == true);
  CHECK(host.gpus[0].affinity == "0-31");
  CHECK(host.gpus[1].affinity.empty());
  CHECK(log.variables.at("NCCL_CROSS_NIC") == "1");
}

// From 2.24 edges are connected after the set-up, by another thread of the process.
TEST_CASE("edges after the set-up place NICs too") {
  const NcclLog log =
      read_nccl_log(kStart + kComplete +
                        "n0:7:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/3/GDRDMA\n"
                        "n0:7:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/3(1)/GDRDMA\n"
                        "n0:7:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/4/GDRDMA\n"
                        "n0:7:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/5\n"
                        "n0:7:99 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[1] [send] via NET/IB/6(0)/GDRDMA\n",
                    "log");
  const LoggedHost& host = log.hosts.at(0);
  CHECK(host.nic_gpus.at(3) == 0x1b000);  // who sends for others counts first
  CHECK(host.nic_gpus.at(4) == 0x1a000);
  CHECK_FALSE(host.nic_gpus.contains(5));  // not near
  CHECK_FALSE(host.nic_gpus.contains(6));  // this process is not rank 1
}

TEST_CASE("junk, interleaved and broken lines are passed over") {
  const NcclLog log =
      read_nccl_log("epoch 3\n\n" + kStart +
                        "n0:7:8 [0] NCCL INFO Channel 00/02 :    0   1n0:9:10 [1] NCCL INFO Trees\n"
                        "n0:7:8 [0] NCCL INFO Channel 99999999999/02 : 0 1\n"
                        "n0:7:8 [0] NCCL INFO Channel 05/02 : 0 1\n"
                        "n0:7:8 [0] NCCL INFO 3 coll chan\n"
                        "n0:7:8 [0] NCCL INFO comm 0x5 rank 7 nranks 2 busId 1 commId 0x9 - Init START\n"
                        ":: [0] NCCL INFO x\n[] NCCL INFO \n NCCL INFO \nn0:7 [0] NCCL INFO y\n" +
                        kComplete,
                    "log");
  REQUIRE(log.communicators.size() == 1);
  CHECK(log.communicators[0].rings.empty());
  CHECK_FALSE(log.communicators[0].counts);
}

// "4H100" and "8xB200" count GPUs; in "0x7ef29400b200" the letters are a number.
TEST_CASE("the GPU is taken from its name anywhere in the log") {
  const auto gpu = [](const std::string& text) { return read_nccl_log(text + "\n" + kStart, "log").gpu; };
  CHECK(gpu("platform 2xXE8640x4H100-SXM-80GB") == "H100");
  CHECK(gpu("host xe9680lx8b200-sxm-7") == "B200");
  CHECK(gpu("NVIDIA A100-SXM4-80GB") == "A100");
  CHECK(gpu("GB200 NVL72") == "GB200");
  CHECK(gpu("comm 0x7ef29400b200").empty());
  CHECK(gpu("comm 0x8b200").empty());
}

TEST_CASE("logs without commId join ranks by size and order") {
  std::string text = "a:1:2 [0] NCCL INFO Channel 00/01 : 0 1\n";
  for (const std::string rank : {"0", "1"}) {
    text += "a:" + std::to_string(1 + 10 * std::stoi(rank)) + ":2 [" + rank + "] NCCL INFO comm 0x1 rank " +
            rank + " nranks 2 cudaDev " + rank + " busId " + rank + "f000 - Init COMPLETE\n";
  }
  const NcclLog log = read_nccl_log(text, "log");
  REQUIRE(log.communicators.size() == 1);
  CHECK(log.communicators[0].members.size() == 2);
  CHECK(log.communicators[0].rings.at(0) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("a text without NCCL is refused") {
  CHECK_THROWS_WITH(read_nccl_log("hello\n", "train.log"), Contains("train.log: no line of NCCL"));
  CHECK_THROWS_AS(load_nccl_log("/nowhere/at.all"), InputError);
}

}  // namespace
}  // namespace stepcast::trace
