#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "config/node.hpp"
#include "topology/topology.hpp"

namespace stepcast::placement {

/// A rank list as in `--ranks`: "16384" (the first N), "0-7,16", "0-56/8" (a stride). Order and
/// duplicates: order is kept, a duplicate is an error.
[[nodiscard]] std::vector<std::uint32_t> parse_rank_list(std::string_view text,
                                                         std::string_view flag,
                                                         config::Diagnostics& diagnostics);

/// True when `text` is a plain number (use the first N).
[[nodiscard]] bool is_count(std::string_view text);

/// Ranks on GPUs 0, 1, 2, ... REQUIRES: ranks <= GPUs (checked: InputError naming both numbers).
[[nodiscard]] Placement packed(const topology::Topology& topology, std::uint32_t ranks);

/// Ranks on the listed GPUs, in order.
[[nodiscard]] Placement explicit_list(const topology::Topology& topology,
                                      std::span<const std::uint32_t> gpus);

}  // namespace stepcast::placement
