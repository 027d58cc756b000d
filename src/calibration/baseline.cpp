#include "calibration/baseline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "config/quote.hpp"

namespace stepcast::calibration {
namespace {

constexpr double kLargest = 1e300;
constexpr double kLeastTime = 1e-12;

/// What tells rows of a suite apart: a row is predicted once for each set of constants.
using Key = std::pair<std::string, std::string>;

BaselineSuite read_one(const config::Node& node) {
  node.allow_only({"suite", "rows"});
  BaselineSuite suite;
  suite.name = node.require("suite").name();
  std::set<Key> keys;
  for (const config::Node& item : node.require("rows").items()) {
    item.allow_only({"id", "fold", "metric", "predicted"});
    BaselineRow row;
    row.id = item.require("id").name();
    row.fold = item.require("fold").name();
    row.metric = item.require("metric").name();
    row.predicted = item.require("predicted").number(kLeastTime, kLargest);
    if (!keys.emplace(row.id, row.fold).second) {
      item.error(
          fmt::format("row {} of {} occurs twice", config::in_quotes(row.id), config::in_quotes(row.fold)),
          "keep one of them, or write the file anew with --update-baseline");
    }
    suite.rows.push_back(std::move(row));
  }
  return suite;
}

const BaselineSuite* find(const Baseline& baseline, const std::string& name) {
  const auto found = std::find_if(baseline.suites.begin(), baseline.suites.end(),
                                  [&](const BaselineSuite& suite) { return suite.name == name; });
  return found == baseline.suites.end() ? nullptr : &*found;
}

BaselineRow row_of(const ValidationRow& row) {
  return {row.id, row.fold, row.metric, row.predicted};
}

}  // namespace

Baseline read_baseline(const config::Document& document) {
  Baseline baseline;
  const config::Node root = document.root();
  root.allow_only({"schema_version", "tolerance", "suites"});
  if (const config::Node version = root.require("schema_version"); version.present()) {
    static_cast<void>(version.integer(1, 1));  // read for its check alone
  }
  baseline.tolerance = root.require("tolerance").number(0, 1);
  for (const config::Node& node : root.require("suites").items()) {
    BaselineSuite suite = read_one(node);
    if (find(baseline, suite.name) != nullptr) {
      node.error(fmt::format("suite {} occurs twice", config::in_quotes(suite.name)), "keep one of them");
      continue;
    }
    baseline.suites.push_back(std::move(suite));
  }
  return baseline;
}

BaselineComparison compare(const Baseline& baseline, std::span<const Validation> validations) {
  BaselineComparison out;
  out.tolerance = baseline.tolerance;
  for (const Validation& validation : validations) {
    std::map<Key, const BaselineRow*> before;
    const BaselineSuite* suite = find(baseline, validation.suite);
    if (suite != nullptr) {
      for (const BaselineRow& row : suite->rows) {
        before.emplace(Key(row.id, row.fold), &row);
      }
    }
    std::set<Key> seen;
    for (const ValidationRow& row : validation.rows) {
      const Key key(row.id, row.fold);
      seen.insert(key);
      const auto known = before.find(key);
      if (known == before.end()) {
        out.movements.push_back({Movement::What::kNew, validation.suite, row_of(row), row.predicted, 0});
        continue;
      }
      ++out.rows;
      const double change = row.predicted / known->second->predicted - 1;
      if (!(std::abs(change) <= baseline.tolerance)) {
        out.movements.push_back(
            {Movement::What::kMoved, validation.suite, *known->second, row.predicted, change});
      }
    }
    if (suite != nullptr) {
      for (const BaselineRow& row : suite->rows) {
        if (!seen.contains(Key(row.id, row.fold))) {
          out.movements.push_back({Movement::What::kGone, validation.suite, row, 0, 0});
        }
      }
    }
  }
  return out;
}

Baseline updated(Baseline baseline, std::span<const Validation> validations) {
  for (const Validation& validation : validations) {
    BaselineSuite now;
    now.name = validation.suite;
    for (const ValidationRow& row : validation.rows) {
      now.rows.push_back(row_of(row));
    }
    const auto known = std::find_if(baseline.suites.begin(), baseline.suites.end(),
                                    [&](const BaselineSuite& suite) { return suite.name == now.name; });
    if (known == baseline.suites.end()) {
      baseline.suites.push_back(std::move(now));
    } else {
      *known = std::move(now);
    }
  }
  return baseline;
}

}  // namespace stepcast::calibration
