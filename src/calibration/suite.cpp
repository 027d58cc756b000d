#include "calibration/suite.hpp"

#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "config/node.hpp"
#include "replay/executor.hpp"

namespace stepcast::calibration {
namespace {

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (std::size_t part = 0; part < replay::kPathParts; ++part) {
    names.emplace_back(replay::name_of(static_cast<replay::PathPart>(part)));
  }
  return names;
}

FittedConstant read_constant(const config::Node& node) {
  constexpr double kLargest = 1e18;
  node.allow_only({"name", "part", "prior", "sigma", "lower", "upper"});
  FittedConstant constant;
  constant.name = node.require("name").text();
  const std::vector<std::string> parts = part_names();
  if (const config::Node part = node.require("part"); part.present()) {
    constant.part = parts[part.one_of(parts)];
  }
  constant.prior = node.require("prior").factor(0, kLargest);
  constant.sigma = node.require("sigma").number(1e-6, 10);
  constant.lower = node.require("lower").number(0, kLargest);
  constant.upper = node.require("upper").number(0, kLargest);
  if (constant.lower <= 0 || constant.lower >= constant.upper || constant.prior < constant.lower ||
      constant.prior > constant.upper) {
    node.error("bounds must be positive and hold the prior", "give 0 < lower <= prior <= upper");
  }
  return constant;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

Suite read_suite(const std::string& path, const std::string& shown_name) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::load(path, diagnostics, shown_name);
  Suite suite;
  const config::Node root = document.root();
  root.allow_only({"name", "description", "rows", "tolerance", "fit"});
  suite.name = root.require("name").text();
  if (const config::Node text = root.get("description"); text.present()) {
    suite.description = text.text();
  }
  suite.tolerance = root.require("tolerance").number(0, 10);
  if (const config::Node fit = root.get("fit"); fit.present()) {
    fit.allow_only({"constants", "row_sigma"});
    suite.row_sigma = fit.require("row_sigma").number(1e-6, 10);
    for (const config::Node& constant : fit.require("constants").items()) {
      suite.constants.push_back(read_constant(constant));
    }
  }
  const config::Node files = root.require("rows");
  std::vector<std::string> names;
  for (const config::Node& file : files.items()) {
    names.push_back(file.text());
  }
  diagnostics.throw_if_any();
  for (const std::string& name : names) {
    config::Diagnostics row_diagnostics;
    const config::Document rows =
        config::Document::load(folder_of(path) + name, row_diagnostics, folder_of(shown_name) + name);
    for (MeasuredRow& row : read_rows(rows, row_diagnostics)) {
      suite.rows.push_back(std::move(row));
    }
  }
  std::set<std::string> groups;
  for (const MeasuredRow& row : suite.rows) {
    groups.insert(row.group);
    if (!suite.constants.empty() && row.group.empty()) {
      throw InputError(
          fmt::format("{}: row \"{}\" has no \"group\", but the suite fits constants and holds groups out; "
                      "name its model",
                      row.place, row.id));
    }
  }
  if (!suite.constants.empty() && groups.size() < 2) {
    throw InputError(
        fmt::format("{}: constants cannot be fitted without a group when all rows are of one; add rows of "
                    "another group, or leave out "
                    "\"fit\"",
                    shown_name));
  }
  return suite;
}

}  // namespace stepcast::calibration
