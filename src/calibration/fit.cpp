#include "calibration/fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlopt.hpp>

#include "base/check.hpp"

namespace stepcast::calibration {
namespace {

struct Problem {
  const std::vector<FitRow>& rows;
  const std::vector<double>& start;
  const std::vector<FittedConstant>& constants;
  double row_sigma;
};

/// Sum of squares at ln(value): logarithms keep the constants positive and the scales alike.
double cost(const std::vector<double>& logs, const Problem& problem) {
  double sum = 0;
  for (const FitRow& row : problem.rows) {
    double time = row.predicted_s;
    for (std::size_t c = 0; c < logs.size(); ++c) {
      time += row.governed_s[c] * (problem.start[c] / std::exp(logs[c]) - 1);
    }
    const double residual = std::log(time / row.measured_s) / problem.row_sigma;
    sum += residual * residual;
  }
  for (std::size_t c = 0; c < logs.size(); ++c) {
    const double deviation = (logs[c] - std::log(problem.constants[c].prior)) / problem.constants[c].sigma;
    sum += deviation * deviation;
  }
  return sum;
}

double objective(const std::vector<double>& logs, std::vector<double>& /*gradient*/, void* data) {
  return cost(logs, *static_cast<const Problem*>(data));
}

}  // namespace

std::vector<double> fit(const std::vector<FitRow>& rows,
                        const std::vector<double>& start,
                        const std::vector<FittedConstant>& constants,
                        double row_sigma) {
  STEPCAST_CHECK(!rows.empty(), "no rows to fit {} constants on", constants.size());
  Problem problem{rows, start, constants, row_sigma};
  std::vector<double> logs;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> steps;
  for (std::size_t c = 0; c < constants.size(); ++c) {
    lower.push_back(std::log(constants[c].lower));
    upper.push_back(std::log(constants[c].upper));
    steps.push_back(
        std::min(0.02, (upper.back() - lower.back()) / 4));  // BOBYQA wants twice the step as room
    logs.push_back(std::clamp(std::log(constants[c].prior), lower.back(), upper.back()));
  }
  nlopt::opt optimiser(nlopt::LN_BOBYQA, static_cast<unsigned>(constants.size()));
  optimiser.set_lower_bounds(lower);
  optimiser.set_upper_bounds(upper);
  optimiser.set_min_objective(objective, &problem);
  optimiser.set_xtol_abs(1e-7);
  optimiser.set_initial_step(steps);
  optimiser.set_maxeval(5000);
  double reached = 0;
  optimiser.optimize(logs, reached);
  for (double& value : logs) {
    value = std::exp(value);
  }
  return logs;
}

}  // namespace stepcast::calibration
