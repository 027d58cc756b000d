#pragma once

#include <string>

#include "calibration/baseline.hpp"

namespace stepcast::report {

/// The file that `validate --baseline` reads.
[[nodiscard]] std::string baseline_json(const calibration::Baseline& baseline);

/// What moved, as a table; one line when nothing did. `file` as the user gave it; `updated`: the file holds
/// the predictions of now.
[[nodiscard]] std::string baseline_text(const calibration::BaselineComparison& comparison,
                                        const std::string& file,
                                        bool updated);

}  // namespace stepcast::report
