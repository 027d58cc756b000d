// Scope:        predicted against measured as a table for a terminal.
// Assumes:      step times in seconds.
// Not covered:  raw samples.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/validation_writer.hpp"

namespace stepcast::report {
namespace {

void table(const calibration::Validation& validation, const std::string& group, std::string& out) {
  out += fmt::format("\n{}\n  {:<28} {:>11} {:>11} {:>8}  {}\n", group, "row", "predicted", "measured",
                     "error", "constants");
  for (const calibration::ValidationRow& row : validation.rows) {
    if (row.group == group) {
      out += fmt::format("  {:<28} {:>11} {:>11} {:>+7.1f}%  {}{}\n", row.id, format_seconds(row.predicted),
                         format_seconds(row.measured), 100 * row.error,
                         row.fold == "in_sample" ? "shipped" : row.fold,
                         row.within_tolerance ? "" : "   OUT OF TOLERANCE");
    }
  }
}

/// Rows with samples, beside another fidelity.
void collective_table(const calibration::Validation& validation, const std::string& group, std::string& out) {
  const bool compared = !validation.compared_fidelity.empty();
  out += fmt::format("\n{}\n  {:<30} {:>11} {:>11} {:>8} {:>7}", group, "row", "predicted", "measured",
                     "error", "spread");
  out += compared ? fmt::format("  {:>11} {:>8}\n", validation.compared_fidelity, "error") : "\n";
  for (const calibration::ValidationRow& row : validation.rows) {
    if (row.group != group) {
      continue;
    }
    out += fmt::format("  {:<30} {:>11} {:>11} {:>+7.1f}% {:>6.1f}%", row.id, format_seconds(row.predicted),
                       format_seconds(row.measured), 100 * row.error, 100 * row.spread);
    if (compared) {
      out += fmt::format("  {:>11} {:>+7.1f}%", format_seconds(*row.compared),
                         100 * (*row.compared / row.measured - 1));
    }
    out += row.within_tolerance ? "\n" : "   OUT OF TOLERANCE\n";
  }
}

/// Verdicts on groups, and what a reader must know.
std::string closing(const calibration::Validation& validation) {
  std::string out;
  if (!validation.compared.empty()) {
    out += fmt::format("\nmedian error by fidelity\n  {:<24} {:>8} {:>10}  {}\n", "group", "flow",
                       validation.compared_fidelity, "wanted");
    for (const calibration::ComparedGroup& group : validation.compared) {
      out += fmt::format(
          "  {:<24} {:>6.1f} % {:>8.1f} %  {}{}\n", group.group, 100 * group.median_abs_error,
          100 * group.other_median_abs_error,
          group.at_most == 1 ? std::string("no worse") : fmt::format("at most {:.3g} x", group.at_most),
          group.within ? "" : "   MISSED");
    }
  }
  if (validation.median_tolerance > 0) {
    out += fmt::format(
        "\nrows not fitted on: median error {:.1f} % (wanted: {:.0f} %), largest {:.1f} % (wanted: "
        "{:.0f} %)\n",
        100 * validation.summary.median_abs_error, 100 * validation.median_tolerance,
        100 * validation.summary.max_abs_error, 100 * validation.tolerance);
  }
  for (const std::string& note : validation.notes) {
    out += fmt::format("note: {}\n", note);
  }
  return out;
}

std::string write_one(const calibration::Validation& validation) {
  std::string out =
      fmt::format("suite {} (row tolerance {:.0f} %)\n", validation.suite, 100 * validation.tolerance);
  for (const auto& [group, summary] : validation.groups) {
    if (validation.rows.front().metric == "time_s") {
      collective_table(validation, group, out);
    } else {
      table(validation, group, out);
    }
    out += fmt::format(
        "  {} rows: mean error {:.1f} %, median {:.1f} %, 90th percentile {:.1f} %, largest {:.1f} %, signed "
        "mean "
        "{:+.1f} %\n",
        summary.count, 100 * summary.mean_abs_error, 100 * summary.median_abs_error,
        100 * summary.p90_abs_error, 100 * summary.max_abs_error, 100 * summary.signed_mean_error);
  }
  if (!validation.constants.empty()) {
    out += fmt::format("\n{} fitted constants\n  {:<24}", validation.constants.size(), "fold");
    for (const std::string& name : validation.constants) {
      out += fmt::format(" {:>30}", name);
    }
    out += "\n";
    for (const calibration::FittedValues& fit : validation.fits) {
      out += fmt::format("  {:<24}", fit.fold);
      for (const double value : fit.values) {
        out += fmt::format(" {:>30.4g}", value);
      }
      out += "\n";
    }
  }
  out += closing(validation);
  out += validation.within_tolerance ? "\nall rows within tolerance\n" : "\nsome rows are out of tolerance\n";
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

ValidationWriter validation_text_writer() {
  return {"text", "tables for a terminal (default)", &write};
}

}  // namespace stepcast::report
