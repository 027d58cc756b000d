#pragma once

#include <span>
#include <string>

#include "calibration/nccl_channels.hpp"

namespace stepcast::report {

/// Channels and rings of logs against the prediction, for people: a line for communicators of one shape, and
/// the match rate.
[[nodiscard]] std::string channel_text(std::span<const calibration::ChannelValidation> logs);

/// The same as one JSON object (keys: README.md of src/collective/nccl).
[[nodiscard]] std::string channel_json(std::span<const calibration::ChannelValidation> logs);

}  // namespace stepcast::report
