#include "calibration/baseline.hpp"

#include <string>

#include "report/baseline_report.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using calibration::Movement;

namespace {

calibration::Validation suite(const std::string& name, std::vector<std::pair<std::string, double>> rows) {
  calibration::Validation validation;
  validation.suite = name;
  for (const auto& [id, predicted] : rows) {
    calibration::ValidationRow row;
    row.id = id;
    row.metric = "step_time_s";
    row.predicted = predicted;
    row.fold = "in_sample";
    validation.rows.push_back(row);
  }
  return validation;
}

calibration::Baseline parsed(const std::string& text) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "baseline.json", diagnostics);
  calibration::Baseline baseline = calibration::read_baseline(document);
  diagnostics.throw_if_any();
  return baseline;
}

}  // namespace

TEST_CASE("predictions within the tolerance of a baseline have not moved, others have, up or down") {
  const std::vector before{suite("s", {{"a", 2.0}, {"b", 2.0}, {"c", 2.0}})};
  calibration::Baseline baseline = calibration::updated({}, before);
  baseline.tolerance = 0.01;
  // a: +0.5 % stays inside 1 %; b: +5 %; c: -50 %.
  const std::vector now{suite("s", {{"a", 2.01}, {"b", 2.1}, {"c", 1.0}})};
  const calibration::BaselineComparison comparison = calibration::compare(baseline, now);
  CHECK(comparison.rows == 3);
  REQUIRE(comparison.movements.size() == 2);
  CHECK(comparison.movements[0].row.id == "b");
  CHECK(comparison.movements[0].change == Approx(0.05));
  CHECK(comparison.movements[1].row.id == "c");
  CHECK(comparison.movements[1].change == Approx(-0.5));
}

TEST_CASE("rows that came or went are movements, suites that were not run are none") {
  const std::vector before{suite("s", {{"a", 2.0}, {"b", 2.0}}), suite("other", {{"x", 1.0}})};
  const calibration::Baseline baseline = calibration::updated({}, before);
  const std::vector now{suite("s", {{"a", 2.0}, {"c", 3.0}}), suite("fresh", {{"y", 1.0}})};
  const calibration::BaselineComparison comparison = calibration::compare(baseline, now);
  CHECK(comparison.rows == 1);
  REQUIRE(comparison.movements.size() == 3);
  CHECK(comparison.movements[0].what == Movement::What::kNew);
  CHECK(comparison.movements[0].row.id == "c");
  CHECK(comparison.movements[1].what == Movement::What::kGone);
  CHECK(comparison.movements[1].row.id == "b");
  CHECK(comparison.movements[2].suite == "fresh");
}

TEST_CASE("an update keeps the tolerance and the suites that were not run; what is written reads the same") {
  calibration::Baseline baseline =
      calibration::updated({}, std::vector{suite("s", {{"a", 2.0}}), suite("other", {{"x", 0.1}})});
  baseline.tolerance = 0.25;
  baseline = calibration::updated(baseline, std::vector{suite("s", {{"a", 1.0 / 3}})});
  const calibration::Baseline read = parsed(report::baseline_json(baseline));
  CHECK(read.tolerance == 0.25);
  REQUIRE(read.suites.size() == 2);
  CHECK(read.suites[0].rows[0].predicted == 1.0 / 3);  // to the bit
  CHECK(read.suites[1].name == "other");
  CHECK(read.suites[1].rows[0].predicted == 0.1);
}

TEST_CASE("a baseline with a suite or a row twice, or a time that is none, is refused") {
  CHECK_THROWS_WITH(parsed(R"({"schema_version": 1, "tolerance": 0.1, "suites": [
        {"suite": "s", "rows": [{"id": "a", "fold": "f", "metric": "m", "predicted": 1},
                                {"id": "a", "fold": "f", "metric": "m", "predicted": 0}]},
        {"suite": "s", "rows": []}]})"),
                    Catch::Contains("row \"a\" of \"f\" occurs twice") && Catch::Contains("/predicted") &&
                        Catch::Contains("suite \"s\" occurs twice"));
}
