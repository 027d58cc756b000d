#pragma once

#include <string>

#include "collective/schedule.hpp"

namespace stepcast::report {

/// A collective schedule as JSON: kind, members, chunks, channels, and its lanes of steps.
[[nodiscard]] std::string schedule_json(const collective::Schedule& schedule);

}  // namespace stepcast::report
