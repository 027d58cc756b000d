#pragma once

#include <string>
#include <vector>

#include "plan.hpp"
#include "ranks.hpp"

namespace testbed {

/// How busy the machine was, from /proc.
struct Load {
  double load_average = 0;  ///< of the last minute
  std::uint64_t busy = 0;   ///< ticks of all cores
  std::uint64_t idle = 0;
};
[[nodiscard]] Load read_load();

/// Bytes that new processes may use.
[[nodiscard]] std::size_t available_memory();

/// Measured rows as `stepcast schema row` describes them; runs without a sample are left out.
[[nodiscard]] std::string rows_json(const std::vector<Run>& runs,
                                    const Outcome& outcome,
                                    const Settings& settings,
                                    const std::string& network,
                                    const Load& before,
                                    const Load& after);

}  // namespace testbed
