#include "calibration/nccl_channels.hpp"

#include <fmt/format.h>

#include "report/channel_report.hpp"
#include "support/catch.hpp"

namespace stepcast::calibration {
namespace {

using Catch::Matchers::Contains;

/// Two H100 on one node, without multicast: 18 links of 20 between them carry 6 rings of 60, which are split
/// and doubled: 24 channels 0 1.
trace::NcclLog two_h100(std::uint32_t channels, const std::string& ring, const std::string& more = {}) {
  std::string text = "H100\nNCCL version 2.18.5+cuda12.2\n" + more;
  const auto line = [&](int rank, const std::string& message) {
    text += fmt::format("n0:{}:{} [{}] NCCL INFO {}\n", 10 + rank, 20 + rank, rank, message);
  };
  const auto init = [&](int rank, const char* word) {
    line(rank,
         fmt::format("comm 0x1 rank {0} nranks 2 cudaDev {0} nvmlDev {0} busId {0}a000 commId 0x2 - Init {1}",
                     rank, word));
  };
  init(0, "START");
  init(1, "START");
  for (std::uint32_t c = 0; c < channels; ++c) {
    line(0, fmt::format("Channel {:02}/{:02} : {}", c, channels, ring));
  }
  line(0,
       fmt::format("{} coll channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer", channels));
  init(0, "COMPLETE");
  init(1, "COMPLETE");
  return trace::read_nccl_log(text, "log");
}

TEST_CASE("a communicator matches in channels and rings up to rotation") {
  const ChannelValidation validation = validate_channels(two_h100(24, "1 0"), "log");
  REQUIRE(validation.rows.size() == 1);
  const ChannelScore& row = validation.rows[0];
  CHECK(row.scored);
  CHECK(row.matched);
  CHECK(row.rings == 24);
  CHECK(row.rings_matched == 24);
  REQUIRE(row.predicted);
  CHECK(row.predicted->collective == 24);
  CHECK(row.predicted->p2p == 32);
  CHECK(row.predicted->p2p_per_peer == 32);  // 2 a link of 18, at most 24, up to a power of two
  CHECK(validation.scored == 1);
  CHECK(validation.matched == 1);
}

TEST_CASE("a log with other channels is scored and does not match") {
  const ChannelValidation validation = validate_channels(two_h100(16, "0 1"), "log");
  CHECK(validation.rows.at(0).scored);
  CHECK_FALSE(validation.rows.at(0).matched);
  CHECK(validation.rows.at(0).rings_matched == 16);
  CHECK_THAT(report::channel_text(std::vector{validation}),
             Contains("16 / 24") && Contains("NO MATCH") && Contains("0 of 1 scored communicators match"));
  CHECK_THAT(report::channel_json(std::vector{validation}),
             Contains("\"match_rate\": 0.0") && Contains("\"channels_predicted\": 24"));
}

TEST_CASE("forced, old and foreign runs are listed with the reason") {
  const auto reason = [](const trace::NcclLog& log) {
    const ChannelScore row = validate_channels(log, "log").rows.at(0);
    CHECK_FALSE(row.scored);
    return row.reason;
  };
  CHECK(reason(two_h100(4, "0 1", "n0:10:20 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 4.\n")) ==
        "forced by NCCL_MAX_NCHANNELS=4");
  CHECK(reason(two_h100(24, "0 1", "NCCL version 2.12.10+cuda11.6\n")) == "older than 2.18");
  CHECK(reason(two_h100(24, "0 1", "RCCL version : 2.22.3-HEAD\n")) == "RCCL");
  trace::NcclLog nameless = two_h100(24, "0 1");
  nameless.gpu.clear();
  CHECK(reason(nameless) == "the log names no GPU");
  trace::NcclLog partial = two_h100(24, "0 1");
  partial.communicators[0].members.erase(1);
  CHECK(reason(partial) == "1 of 2 ranks have lines");
  CHECK_THAT(report::channel_text(std::vector{validate_channels(partial, "log")}),
             Contains("no communicator is scored"));
}

// A forced run is still predicted with its variables.
TEST_CASE("variables of the log are used") {
  const ChannelValidation validation = validate_channels(
      two_h100(4, "0 1", "n0:10:20 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 4.\n"), "log");
  REQUIRE(validation.rows.at(0).predicted);
  CHECK(validation.rows[0].predicted->collective == 4);
}

// Hopper is the only generation with NVLS before 2.25.
TEST_CASE("NVLS tells the generation where the log names no GPU") {
  trace::NcclLog log = two_h100(24, "0 1");
  log.gpu.clear();
  log.hosts[0].multicast = true;
  const LoggedShape shape = shape_of_host(log, 0);
  REQUIRE(shape.shape);
  CHECK(shape.shape->generation == 90);
  CHECK(shape.shape->nvlinks == 18);
}

TEST_CASE("NICs of which the log does not say where they sit are not guessed") {
  trace::NcclLog log = two_h100(24, "0 1");
  log.hosts[0].nics.resize(3);
  CHECK(shape_of_host(log, 0).nics_missing ==
        "the log does not tell which of 3 NICs sit beside which of 2 GPUs");
  for (std::uint32_t n = 0; n < 3; ++n) {
    log.hosts[0].nic_gpus[n] = log.hosts[0].gpus[n % 2].bus;
  }
  const LoggedShape shape = shape_of_host(log, 0);
  CHECK(shape.nics_missing.empty());
  REQUIRE(shape.shape);
  CHECK(shape.shape->nics.at(2).place.leaf == shape.shape->gpus.at(0).place.leaf);
}

}  // namespace
}  // namespace stepcast::calibration
