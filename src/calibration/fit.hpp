#pragma once

#include <functional>
#include <vector>

#include "calibration/suite.hpp"

namespace stepcast::calibration {

/// What the fit needs of a row: its time at the start constants and how much of the longest chain
/// each constant governs.
struct FitRow {
  double measured_s = 0;
  double predicted_s = 0;
  std::vector<double> governed_s;  ///< by constant
};

/// Maximum a posteriori constants: least squares of ln(predicted / measured) / row_sigma plus
/// ln(value / prior) / sigma, within the bounds; time = predicted + sum governed (start/value - 1).
/// Deterministic (NLopt, BOBYQA). REQUIRES: at least one row.
[[nodiscard]] std::vector<double> fit(const std::vector<FitRow>& rows,
                                      const std::vector<double>& start,
                                      const std::vector<FittedConstant>& constants,
                                      double row_sigma);

/// The same of rows that are predicted anew for each set of constants: `predict` gives their times in
/// seconds, in the order of `measured_s`. Starts at the priors. REQUIRES: at least one row.
[[nodiscard]] std::vector<double> fit(
    const std::vector<double>& measured_s,
    const std::vector<FittedConstant>& constants,
    double row_sigma,
    const std::function<std::vector<double>(const std::vector<double>& values)>& predict);

}  // namespace stepcast::calibration
