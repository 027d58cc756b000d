#include "report/baseline_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/amounts.hpp"

namespace stepcast::report {

using Json = nlohmann::ordered_json;

std::string baseline_json(const calibration::Baseline& baseline) {
  // A row a line, so that a diff of the file shows which rows moved.
  std::string out = fmt::format("{{\n  \"schema_version\": 1,\n  \"tolerance\": {},\n  \"suites\": [",
                                Json(baseline.tolerance).dump());
  const char* suite_separator = "\n";
  for (const calibration::BaselineSuite& suite : baseline.suites) {
    out += fmt::format("{}    {{\n      \"suite\": {},\n      \"rows\": [", suite_separator,
                       Json(suite.name).dump());
    suite_separator = ",\n";
    const char* separator = "\n";
    for (const calibration::BaselineRow& row : suite.rows) {
      const Json line{
          {"id", row.id}, {"fold", row.fold}, {"metric", row.metric}, {"predicted", row.predicted}};
      out += fmt::format("{}        {}", separator, line.dump());
      separator = ",\n";
    }
    out += "\n      ]\n    }";
  }
  return out + "\n  ]\n}\n";
}

std::string baseline_text(const calibration::BaselineComparison& comparison,
                          const std::string& file,
                          bool updated) {
  using What = calibration::Movement::What;
  const std::string tolerance = fmt::format("tolerance {:.3g} %", 100 * comparison.tolerance);
  if (comparison.movements.empty()) {
    return fmt::format("baseline {} ({}): {} predictions are as they were\n", file, tolerance,
                       comparison.rows);
  }
  std::string out = fmt::format(
      "baseline {} ({}): {} of {} predictions are not as they were\n", file, tolerance,
      comparison.movements.size(),
      comparison.rows +
          static_cast<std::size_t>(std::count_if(comparison.movements.begin(), comparison.movements.end(),
                                                 [](const auto& one) { return one.what != What::kMoved; })));
  out += fmt::format("  {:<16} {:<28} {:<28} {:>10}    {:>10}  {:>8}\n", "suite", "row", "constants",
                     "before", "now", "change");
  for (const calibration::Movement& one : comparison.movements) {
    const std::string before = one.what == What::kNew ? "-" : format_seconds(one.row.predicted);
    const std::string now = one.what == What::kGone ? "-" : format_seconds(one.now);
    const std::string change = one.what == What::kNew    ? "new"
                               : one.what == What::kGone ? "gone"
                                                         : fmt::format("{:+.2f} %", 100 * one.change);
    out += fmt::format("  {:<16} {:<28} {:<28} {:>10} -> {:>10}  {:>8}\n", one.suite, one.row.id,
                       one.row.fold == "in_sample" ? "shipped" : one.row.fold, before, now, change);
  }
  out += updated
             ? fmt::format("{} now holds the predictions of this run; argue the change in the commit\n", file)
             : "if this is meant, run again with --update-baseline and argue the change in the commit\n";
  return out;
}

}  // namespace stepcast::report
