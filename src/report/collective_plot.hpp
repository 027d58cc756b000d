#pragma once

#include <string>

#include "report/collective_table.hpp"

namespace stepcast::report {

/// Bus bandwidth over message size as one SVG picture: sizes on a logarithmic axis, GB/s from 0.
[[nodiscard]] std::string collective_plot(const CollectiveSweep& sweep);

}  // namespace stepcast::report
