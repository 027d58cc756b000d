#pragma once

#include <span>
#include <string>
#include <string_view>

#include "calibration/suite.hpp"

namespace stepcast::report {

/// A form of a validation: one leaf in writers/, one line in validation_writers.def.
struct ValidationWriter {
  std::string_view name;
  std::string_view summary;
  /// One text for all suites of a run: one JSON object for one suite, an array for several; one XML document.
  std::string (*write)(std::span<const calibration::Validation> validations);
};
[[nodiscard]] std::span<const ValidationWriter> validation_writers();

/// By name; an unknown one is an InputError with a suggestion.
[[nodiscard]] const ValidationWriter& find_validation_writer(std::string_view name);

}  // namespace stepcast::report
