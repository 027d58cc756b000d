#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/rows.hpp"

namespace stepcast::calibration {

/// A constant that is fitted on measured rows. Steps: a constant of the catalogue, and the part of the
/// longest chain named `part` lasts in inverse proportion to it. Collectives: a field of the cluster file.
struct FittedConstant {
  std::string name;  ///< as hardware::Catalog::set_constant; collectives: JSON pointer, as --set
  std::string part;  ///< a replay::PathPart; collectives: empty
  double prior = 0;  ///< of a field of a cluster file: in its unit, as the bounds
  double sigma = 0;  ///< of ln(value / prior)
  double lower = 0;
  double upper = 0;
  std::string unit = {};  ///< collectives: written behind the value, empty for a bare number
};

/// A second fidelity that the predictions are compared with.
struct FidelityComparison {
  std::string fidelity;  ///< empty: none
  /// By group of rows: the median error must be at most so many times that of the other fidelity. Groups that
  /// are not named: 1.
  std::map<std::string, double> at_most;
};

/// Rows and how they are judged (validation/README.md).
struct Suite {
  std::string name;
  std::string description;
  double tolerance = 0;                   ///< of each row, fraction
  double row_sigma = 0;                   ///< scale of ln(predicted / measured) in the fit
  std::vector<FittedConstant> constants;  ///< empty: nothing is fitted on these rows
  std::string fit_group;                  ///< collectives: rows that the constants are fitted on, alone
  double median_tolerance = 0;  ///< of the median error over the rows that are not fitted on; 0 = none
  FidelityComparison compare;
  std::vector<MeasuredRow> rows;
  std::vector<std::string> files;  ///< paths of the suite and its row files
  std::vector<std::string> notes;  ///< measurements that ended early
};

/// Reads a suite and its row files (paths relative to the suite's folder). Throws InputError.
[[nodiscard]] Suite read_suite(const std::string& path, const std::string& shown_name);

/// Predicted against measured for one row and one set of constants.
struct ValidationRow {
  std::string id;
  std::string metric;
  double predicted = 0;
  double measured = 0;
  double error = 0;  ///< predicted / measured - 1
  double lower = 0;  ///< band around the prediction by the row tolerance
  double upper = 0;
  bool within_tolerance = false;
  std::string
      fold;  ///< "in_sample", "without GROUP": constants fitted on the other groups, "fitted on GROUP"
  std::string group;                    ///< "in_sample" or "leave_one_model_out"; collectives: the row's
  double spread = 0;                    ///< of its samples: (largest - least) / measured
  std::optional<double> compared = {};  ///< predicted by the other fidelity
};

struct ErrorSummary {
  std::size_t count = 0;
  double mean_abs_error = 0;
  double median_abs_error = 0;
  double p90_abs_error = 0;
  double max_abs_error = 0;
  double signed_mean_error = 0;
  double coverage = 0;  ///< share of rows whose measured value lies in [lower, upper]
};

/// Values of the fitted constants by fold.
struct FittedValues {
  std::string fold;            ///< "shipped", "all rows", "without GROUP"
  std::vector<double> values;  ///< in the order of Suite::constants
};

/// A group in two fidelities.
struct ComparedGroup {
  std::string group;
  double median_abs_error = 0;
  double other_median_abs_error = 0;
  double at_most = 1;  ///< the first must be at most so many times the second
  bool within = true;
};

/// Samples that spread further than this say that the machine had other things to do.
inline constexpr double kTrustedSpread = 0.10;

struct Validation {
  std::string suite;
  double tolerance = 0;
  std::vector<ValidationRow> rows;  ///< in-sample rows, then held-out rows
  ErrorSummary summary;             ///< of the held-out rows (of all rows when nothing is fitted)
  std::vector<std::pair<std::string, ErrorSummary>> groups;
  std::vector<std::string> constants;
  std::vector<FittedValues> fits;
  std::string compared_fidelity;  ///< empty: none
  std::vector<ComparedGroup> compared;
  double median_tolerance = 0;     ///< 0 = none; of `summary`
  std::vector<std::string> notes;  ///< what a reader must know of the measurement
  bool within_tolerance = true;
};

/// Predicts every row with the shipped constants, refits the constants with each group left out and
/// predicts that group with them. Suites of collectives: the constants are fitted on one group, and all rows
/// are predicted with them. Rows run side by side on `threads` threads, at most one per row; results do not
/// depend on the number.
[[nodiscard]] Validation validate(const Suite& suite, int threads);

/// Error figures of some rows. REQUIRES: not empty.
[[nodiscard]] ErrorSummary summarise(const std::vector<ValidationRow>& rows);

}  // namespace stepcast::calibration
