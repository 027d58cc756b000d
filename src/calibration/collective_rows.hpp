#pragma once

#include <string>
#include <vector>

#include "calibration/suite.hpp"

// Internal to calibration/: suites of measured collectives.
namespace stepcast::calibration {

/// Times in seconds that a fidelity predicts for rows of collectives, each alone with what ran beside it.
/// `settings` are added to those of every row. Throws InputError that names the row.
[[nodiscard]] std::vector<double> predict_collectives(const std::vector<const MeasuredRow*>& rows,
                                                      const std::vector<std::string>& settings,
                                                      const std::string& fidelity);

/// validate() of a suite whose rows are collectives.
[[nodiscard]] Validation validate_collectives(const Suite& suite);

}  // namespace stepcast::calibration
