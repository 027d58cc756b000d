#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/nccl/channel_search.hpp"
#include "trace/nccl_log.hpp"

// Channels and rings that a log of NCCL shows, against those that the search predicts.
namespace stepcast::calibration {

/// Communicators of one shape in one log.
struct ChannelScore {
  std::string version;  ///< "2.18.5", "RCCL 2.22.3"
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;  ///< 0: the log does not tell
  std::uint32_t communicators = 0;
  std::optional<trace::LoggedCounts> logged;
  std::optional<trace::LoggedCounts> predicted;
  std::uint32_t logged_channels = 0;  ///< of the counts, else of the ring lines
  std::uint32_t rings = 0;            ///< logged
  std::uint32_t rings_matched = 0;    ///< up to rotation, each predicted ring once; ranks that were printed
  bool scored = false;
  bool matched = false;  ///< as many channels, and all rings
  std::string reason;    ///< why it is not scored
};

struct ChannelValidation {
  std::string file;
  std::string gpu;                     ///< as the log names it
  std::vector<std::string> assumed;    ///< about the nodes: what the log does not tell
  std::vector<std::string> variables;  ///< "NAME=VALUE" that the log shows
  std::vector<ChannelScore> rows;
  std::uint32_t scored = 0;  ///< communicators
  std::uint32_t matched = 0;
};

/// What a log tells of a node, or why that is not enough.
struct LoggedShape {
  std::optional<collective::nccl::NodeShape> shape;
  std::string missing;       ///< "the log names no GPU" when there is no shape
  std::string nics_missing;  ///< why groups over several nodes cannot be predicted; empty when they can
  std::vector<std::string> assumed;       ///< what was taken from the generation
  std::vector<std::string> assumed_nics;  ///< the same of NICs: matters to groups over several nodes
};
[[nodiscard]] LoggedShape shape_of_host(const trace::NcclLog& log, std::uint32_t host);

/// Variables of the log that the search knows.
[[nodiscard]] collective::nccl::ChannelSettings settings_of_log(const trace::NcclLog& log);

/// Predicts every communicator of a log.
[[nodiscard]] ChannelValidation validate_channels(const trace::NcclLog& log, const std::string& file);

}  // namespace stepcast::calibration
