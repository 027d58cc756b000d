// Scope:        predicted against measured as tables for a pull request.
// Assumes:      GitHub-flavoured Markdown.
// Not covered:  fitted constants.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/escape.hpp"
#include "report/validation_writer.hpp"

namespace stepcast::report {
namespace {

std::string write_one(const calibration::Validation& validation) {
  std::string out = fmt::format("## {}\n", markdown_text(validation.suite));
  for (const auto& [group, summary] : validation.groups) {
    out += fmt::format(
        "\n### {}\n\n| row | predicted | measured | error | |\n| --- | --: | --: | --: | --- |\n", group);
    for (const calibration::ValidationRow& row : validation.rows) {
      if (row.group == group) {
        out += fmt::format("| {} | {} | {} | {:+.1f} % | {} |\n", markdown_text(row.id),
                           format_seconds(row.predicted), format_seconds(row.measured), 100 * row.error,
                           row.within_tolerance ? "" : "**out of tolerance**");
      }
    }
    out += fmt::format("\nmean {:.1f} %, median {:.1f} %, p90 {:.1f} %, largest {:.1f} %\n",
                       100 * summary.mean_abs_error, 100 * summary.median_abs_error,
                       100 * summary.p90_abs_error, 100 * summary.max_abs_error);
  }
  return out;
}

std::string write(std::span<const calibration::Validation> validations) {
  std::string out;
  for (const calibration::Validation& validation : validations) {
    out += (out.empty() ? "" : "\n") + write_one(validation);
  }
  return out;
}

}  // namespace

ValidationWriter validation_markdown_writer() {
  return {"markdown", "tables for a pull request", &write};
}

}  // namespace stepcast::report
