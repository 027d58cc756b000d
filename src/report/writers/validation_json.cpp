// Scope:        predicted against measured for programs (design 4.2).
// Assumes:      errors are fractions (predicted / measured - 1).
// Not covered:  raw samples.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <nlohmann/json.hpp>

#include "report/validation_writer.hpp"

namespace stepcast::report {
namespace {

using Json = nlohmann::ordered_json;

Json summary_json(const calibration::ErrorSummary& summary) {
  return Json{{"count", summary.count},
              {"mean_abs_error", summary.mean_abs_error},
              {"median_abs_error", summary.median_abs_error},
              {"p90_abs_error", summary.p90_abs_error},
              {"max_abs_error", summary.max_abs_error},
              {"signed_mean_error", summary.signed_mean_error},
              {"coverage", summary.coverage}};
}

Json one(const calibration::Validation& validation) {
  Json out;
  out["suite"] = validation.suite;
  out["tolerance"] = validation.tolerance;
  Json& rows = out["rows"] = Json::array();
  for (const calibration::ValidationRow& row : validation.rows) {
    rows.push_back(Json{{"id", row.id},
                        {"metric", row.metric},
                        {"predicted", row.predicted},
                        {"measured", row.measured},
                        {"error", row.error},
                        {"lower", row.lower},
                        {"upper", row.upper},
                        {"within_tolerance", row.within_tolerance},
                        {"fold", row.fold}});
    if (row.metric == "time_s") {
      rows.back()["group"] = row.group;
      rows.back()["spread"] = row.spread;
    }
    if (row.compared) {
      rows.back()[validation.compared_fidelity] = *row.compared;
    }
  }
  out["summary"] = summary_json(validation.summary);
  Json& groups = out["groups"] = Json::object();
  for (const auto& [name, summary] : validation.groups) {
    groups[name] = summary_json(summary);
  }
  out["fitted_constants"] = validation.constants.size();
  Json& constants = out["constants"] = Json::array();
  for (const calibration::FittedValues& fit : validation.fits) {
    Json values;
    values["fold"] = fit.fold;
    for (std::size_t c = 0; c < fit.values.size(); ++c) {
      values[validation.constants[c]] = fit.values[c];
    }
    constants.push_back(values);
  }
  if (!validation.compared.empty()) {
    Json& compared = out["compared"] = Json::object();
    compared["fidelity"] = validation.compared_fidelity;
    for (const calibration::ComparedGroup& group : validation.compared) {
      compared["groups"][group.group] = Json{{"median_abs_error", group.median_abs_error},
                                             {"other_median_abs_error", group.other_median_abs_error},
                                             {"at_most", group.at_most},
                                             {"within", group.within}};
    }
  }
  if (!validation.notes.empty()) {
    out["notes"] = validation.notes;
  }
  return out;
}

std::string write(std::span<const calibration::Validation> validations) {
  if (validations.size() == 1) {
    return one(validations.front()).dump(2) + "\n";
  }
  Json all = Json::array();
  for (const calibration::Validation& validation : validations) {
    all.push_back(one(validation));
  }
  return all.dump(2) + "\n";
}

}  // namespace

ValidationWriter validation_json_writer() {
  return {"json", "rows, summary, groups, constants", &write};
}

}  // namespace stepcast::report
