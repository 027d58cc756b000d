#include "calibration/fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlopt.hpp>

#include "base/check.hpp"

namespace stepcast::calibration {
namespace {

struct Problem {
  const std::vector<double>& measured_s;
  const std::vector<FittedConstant>& constants;
  double row_sigma;
  const std::function<std::vector<double>(const std::vector<double>&)>& predict;
};

/// Sum of squares at ln(value): logarithms keep the constants positive and the scales alike.
double cost(const std::vector<double>& logs, const Problem& problem) {
  std::vector<double> values;
  values.reserve(logs.size());
  for (const double log : logs) {
    values.push_back(std::exp(log));
  }
  const std::vector<double> predicted = problem.predict(values);
  double sum = 0;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    const double residual = std::log(predicted[row] / problem.measured_s[row]) / problem.row_sigma;
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
  std::vector<double> measured;
  measured.reserve(rows.size());
  for (const FitRow& row : rows) {
    measured.push_back(row.measured_s);
  }
  return fit(measured, constants, row_sigma, [&](const std::vector<double>& values) {
    std::vector<double> times;
    times.reserve(rows.size());
    for (const FitRow& row : rows) {
      double time = row.predicted_s;
      for (std::size_t c = 0; c < values.size(); ++c) {
        time += row.governed_s[c] * (start[c] / values[c] - 1);
      }
      times.push_back(time);
    }
    return times;
  });
}

std::vector<double> fit(const std::vector<double>& measured_s,
                        const std::vector<FittedConstant>& constants,
                        double row_sigma,
                        const std::function<std::vector<double>(const std::vector<double>&)>& predict) {
  STEPCAST_CHECK(!measured_s.empty(), "no rows to fit {} constants on", constants.size());
  Problem problem{measured_s, constants, row_sigma, predict};
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
