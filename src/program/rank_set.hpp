#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/node.hpp"
#include "program/program.hpp"

namespace stepcast::program {

/// Reads a set of ranks: text ("0-7", "0-56/8", "3", "0-3,8"), an array ([0, 4]), or nested strides
/// ({"first": 0, "strides": [{"step": 1, "count": 8}, ...]}, innermost first). Ranks are below `ranks`.
/// Errors are recorded; the fallback is rank 0.
[[nodiscard]] Group read_rank_set(const config::Node& node, std::uint32_t ranks);

/// The JSON text of a group that read_rank_set reads as the same group.
[[nodiscard]] std::string rank_set_json(const Group& group);

}  // namespace stepcast::program
