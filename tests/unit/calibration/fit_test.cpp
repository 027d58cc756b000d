#include "calibration/fit.hpp"

#include "base/error.hpp"
#include "calibration/rows.hpp"
#include "config/data_path.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using calibration::FitRow;
using calibration::FittedConstant;

namespace {

/// A row whose true constants are `truth`: governed parts at the start constants, measured by truth.
FitRow row(double base,
           const std::vector<double>& governed,
           const std::vector<double>& start,
           const std::vector<double>& truth) {
  FitRow out;
  out.predicted_s = base;
  out.measured_s = base;
  out.governed_s = governed;
  for (std::size_t c = 0; c < governed.size(); ++c) {
    out.predicted_s += governed[c];
    out.measured_s += governed[c] * start[c] / truth[c];
  }
  return out;
}

}  // namespace

TEST_CASE("the fit finds constants that generated its rows when the priors are weak") {
  const std::vector<double> start{0.8, 0.8};
  const std::vector<double> truth{0.7, 0.9};
  const std::vector<FittedConstant> constants{{"a", "gemm", 0.8, 10, 0.4, 0.99},
                                              {"b", "memory", 0.8, 10, 0.4, 0.99}};
  const std::vector<FitRow> rows{row(1, {10, 1}, start, truth), row(1, {5, 5}, start, truth),
                                 row(2, {1, 8}, start, truth)};
  const std::vector<double> found = calibration::fit(rows, start, constants, 0.05);
  CHECK(found[0] == Approx(0.7).epsilon(1e-3));
  CHECK(found[1] == Approx(0.9).epsilon(1e-3));
}

TEST_CASE("a strong prior holds a constant that the rows do not determine, and bounds hold always") {
  const std::vector<double> start{0.8, 0.8};
  const std::vector<double> truth{0.5, 0.8};
  const std::vector<FittedConstant> constants{{"a", "gemm", 0.8, 10, 0.6, 0.99},
                                              {"b", "memory", 0.8, 0.01, 0.4, 0.99}};
  const std::vector<FitRow> rows{row(0.1, {10, 0}, start, truth)};
  const std::vector<double> found = calibration::fit(rows, start, constants, 0.05);
  CHECK(found[0] == Approx(0.6).epsilon(1e-6));  // truth lies below the bound
  CHECK(found[1] == Approx(0.8).epsilon(1e-3));
}

TEST_CASE("bounds narrower than the usual step are no obstacle") {
  const std::vector<double> start{0.8};
  const std::vector<FittedConstant> constants{{"a", "gemm", 0.8, 10, 0.7999, 0.8001}};
  const std::vector<FitRow> rows{row(1, {10}, start, {0.7})};
  CHECK(calibration::fit(rows, start, constants, 0.05)[0] == Approx(0.7999));  // truth lies below the bound
}

TEST_CASE("more threads than rows are not more than rows") {
  const std::string path = config::data_root() + "/tests/errors/suite_tolerance/suite.json";
  const calibration::Suite suite = calibration::read_suite(path, "suite.json");
  CHECK(calibration::validate(suite, 100'000).rows.size() == 1);
}

TEST_CASE("error figures of three rows by hand") {
  std::vector<calibration::ValidationRow> rows(3);
  const double errors[] = {0.10, -0.02, 0.03};
  for (int i = 0; i < 3; ++i) {
    rows[i].measured = 1;
    rows[i].predicted = 1 + errors[i];
    rows[i].error = errors[i];
    rows[i].lower = rows[i].predicted * 0.95;
    rows[i].upper = rows[i].predicted * 1.05;
  }
  const calibration::ErrorSummary summary = calibration::summarise(rows);
  CHECK(summary.count == 3);
  CHECK(summary.mean_abs_error == Approx(0.05));  // (0.10 + 0.02 + 0.03) / 3
  CHECK(summary.median_abs_error == Approx(0.03));
  CHECK(summary.p90_abs_error == Approx(0.10));  // nearest rank: the third of three
  CHECK(summary.max_abs_error == Approx(0.10));
  CHECK(summary.signed_mean_error == Approx(0.11 / 3));
  CHECK(summary.coverage == Approx(2.0 / 3));  // 1.10 x 0.95 = 1.045 > 1: the first is outside
}

TEST_CASE("a row file with several mistakes is answered with all of them") {
  config::Diagnostics diagnostics;
  const auto document =
      config::Document::parse(R"({"schema_version": 1, "source": {"title": "t", "reference": "r"},
 "rows": [{"id": "a", "kind": "stp", "cluster": "c", "job": "j", "measured": {"metric": "step_time_s", "value": "0 s"}},
          {"id": "a", "kind": "step", "cluster": "c", "job": "j", "measured": {"metric": "step_time_s", "value": 3}}]})",
                              "rows.json", diagnostics);
  std::string text;
  try {
    static_cast<void>(calibration::read_rows(document));
    diagnostics.throw_if_any();
  } catch (const InputError& error) {
    text = error.what();
  }
  CHECK(text.find("rows.json:2:31: /rows/0/kind: ") != std::string::npos);
  CHECK(text.find("/rows/0/measured/value: a measured time must be positive") != std::string::npos);
  CHECK(text.find("/rows/1/id: row \"a\" occurs twice; give every row its own id") != std::string::npos);
  CHECK(text.find("/rows/1/measured/value: needs a unit") != std::string::npos);
}

TEST_CASE("the eight published steps are predicted within the targets", "[.validation]") {
  const std::string path = config::data_root() + "/validation/suites/korthikanti.json";
  const calibration::Suite suite = calibration::read_suite(path, "validation/suites/korthikanti.json");
  CHECK(suite.rows.size() == 8);
  CHECK(suite.constants.size() <= 4);
  const calibration::Validation one = calibration::validate(suite, 1);
  CHECK(one.within_tolerance);
  CHECK(one.groups[0].second.mean_abs_error <= 0.04);  // in sample
  CHECK(one.summary.mean_abs_error <= 0.06);           // one model left out
  // The shipped constants are the fit on all rows.
  for (std::size_t c = 0; c < suite.constants.size(); ++c) {
    CHECK(one.fits[0].values[c] == Approx(one.fits[1].values[c]).epsilon(0.01));
  }
  // Threads change nothing.
  const calibration::Validation two = calibration::validate(suite, 2);
  for (std::size_t row = 0; row < one.rows.size(); ++row) {
    CHECK(one.rows[row].predicted == two.rows[row].predicted);
  }
}
