// Scope:        one test case per row, a failure where a row leaves its tolerance.
// Assumes:      the JUnit XML dialect that CI servers read (testsuite, testcase, failure).
// Not covered:  timings.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <algorithm>

#include <fmt/format.h>

#include "report/escape.hpp"
#include "report/validation_writer.hpp"

namespace stepcast::report {
namespace {

std::string write_one(const calibration::Validation& validation) {
  const auto failures =
      std::count_if(validation.rows.begin(), validation.rows.end(),
                    [](const calibration::ValidationRow& row) { return !row.within_tolerance; });
  std::string out = fmt::format("<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
                                xml_text(validation.suite), validation.rows.size(), failures);
  for (const calibration::ValidationRow& row : validation.rows) {
    out += fmt::format("  <testcase classname=\"{}\" name=\"{}\"", xml_text(row.fold), xml_text(row.id));
    if (row.within_tolerance) {
      out += "/>\n";
      continue;
    }
    out += fmt::format(
        ">\n    <failure message=\"predicted {:.6g} s, measured {:.6g} s, error {:+.1f} %, tolerance {:.0f} "
        "%\"/>\n"
        "  </testcase>\n",
        row.predicted, row.measured, 100 * row.error, 100 * validation.tolerance);
  }
  return out + "</testsuite>\n";
}

std::string write(std::span<const calibration::Validation> validations) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const calibration::Validation& validation : validations) {
    out += write_one(validation);
  }
  return out + "</testsuites>\n";
}

}  // namespace

ValidationWriter validation_junit_writer() {
  return {"junit", "JUnit XML for CI servers", &write};
}

}  // namespace stepcast::report
