#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "calibration/suite.hpp"
#include "config/node.hpp"

// Predictions of suites that were written down, and how far those of now are from them.
namespace stepcast::calibration {

/// How far a prediction may move unseen, fraction, in a baseline that is written for the first time: more
/// than another compiler's rounding of a fit, less than any change of a model that a reader would notice.
inline constexpr double kBaselineTolerance = 0.001;

struct BaselineRow {
  std::string id;
  std::string fold;  ///< as ValidationRow::fold
  std::string metric;
  double predicted = 0;  ///< SI units
};

struct BaselineSuite {
  std::string name;
  std::vector<BaselineRow> rows;
};

struct Baseline {
  double tolerance = kBaselineTolerance;
  std::vector<BaselineSuite> suites;
};

/// Reads a baseline file. Mistakes are recorded in the Diagnostics of the document.
[[nodiscard]] Baseline read_baseline(const config::Document& document);

/// One prediction that is not what the baseline says.
struct Movement {
  enum class What : std::uint8_t { kMoved, kNew, kGone };
  What what = What::kMoved;
  std::string suite;
  BaselineRow row;    ///< as in the baseline; kNew: as predicted now
  double now = 0;     ///< predicted now; kGone: 0
  double change = 0;  ///< now / before - 1; 0 for new and gone rows
};

struct BaselineComparison {
  double tolerance = 0;
  std::size_t rows = 0;  ///< compared: in the baseline and predicted now
  std::vector<Movement>
      movements;  ///< beyond the tolerance, or on one side only; suite by suite, in their order
};

/// Compares the suites of a run; suites of the baseline that were not run are left alone.
[[nodiscard]] BaselineComparison compare(const Baseline& baseline, std::span<const Validation> validations);

/// The baseline with the suites of a run as predicted now; other suites and the tolerance are kept.
[[nodiscard]] Baseline updated(Baseline baseline, std::span<const Validation> validations);

}  // namespace stepcast::calibration
