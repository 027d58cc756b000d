#include "calibration/suite.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "config/node.hpp"
#include "config/quote.hpp"
#include "hardware/catalog.hpp"
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

/// The name of a constant of the catalogue, empty after recording an error.
std::string read_constant_name(const config::Node& node) {
  if (!node.is_text()) {
    return node.text();
  }
  const std::vector<std::string> names = hardware::Catalog::constant_names();
  std::string name = node.text();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return name;
  }
  const std::string near = nearest(name, names);
  node.error(name.empty() ? std::string("the name is empty")
                          : fmt::format("unknown constant {}", config::in_quotes(name)),
             near.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                          : fmt::format("did you mean \"{}\"?", near));
  return {};
}

/// A bound must be a value that the constant may take, and positive: the fit works on logarithms.
void check_bound(const config::Node& node, const std::string& name, double value) {
  if (name.empty() || !node.is_number()) {
    return;
  }
  const auto [least, most] = hardware::Catalog::constant_range(name);
  if (value <= 0 || value < least || value > most) {
    node.error(fmt::format("{} is not a value that {} can be fitted to", value, name),
               least > 0 ? fmt::format("give {} to {} (SI units)", least, most)
                         : fmt::format("give more than 0 and at most {} (SI units)", most));
  }
}

/// Of a suite of collectives: a field of the cluster file.
FittedConstant read_field(const config::Node& node) {
  node.allow_only({"set", "unit", "prior", "sigma", "lower", "upper"});
  FittedConstant constant;
  const config::Node pointer = node.require("set");
  constant.name = pointer.name();
  if (pointer.is_text() &&
      (constant.name.size() < 2 || constant.name[0] != '/' || constant.name.find('=') != std::string::npos)) {
    pointer.error("no JSON pointer", "name a field of the cluster file, for example \"/host/nic_effective\"");
  }
  constant.unit = node.get("unit").name();
  return constant;
}

FittedConstant read_constant(const config::Node& node, bool of_cluster) {
  constexpr double kLargest = 1e300;
  constexpr double kNarrowest = 1e-6;  // of ln(upper / lower)
  const std::size_t before = node.diagnostics().size();
  FittedConstant constant;
  if (of_cluster) {
    constant = read_field(node);
  } else {
    node.allow_only({"name", "part", "prior", "sigma", "lower", "upper"});
    constant.name = read_constant_name(node.require("name"));
    const std::vector<std::string> parts = part_names();
    if (const config::Node part = node.require("part"); part.present()) {
      constant.part = parts[part.one_of(parts)];
    }
  }
  constant.prior = node.require("prior").factor(0, kLargest);
  constant.sigma = node.require("sigma").number(1e-6, 10);
  constant.lower = node.require("lower").number(0, kLargest);
  constant.upper = node.require("upper").number(0, kLargest);
  if (of_cluster) {
    if (node.get("lower").is_number() && constant.lower <= 0) {
      node.get("lower").error("not positive", "give more than 0: the fit works on logarithms");
    }
  } else {
    check_bound(node.get("lower"), constant.name, constant.lower);
    check_bound(node.get("upper"), constant.name, constant.upper);
  }
  if (node.diagnostics().size() != before) {
    return constant;  // a comparison with what was refused would say nothing new
  }
  if (std::log(constant.upper) - std::log(constant.lower) < kNarrowest) {
    node.get("upper").error(
        fmt::format("no room between lower {} and upper {}", constant.lower, constant.upper),
        "give an upper bound above the lower one, or leave the constant out");
  } else if (constant.prior < constant.lower || constant.prior > constant.upper) {
    node.get("prior").error(
        fmt::format("{} is not within the bounds {} to {}", constant.prior, constant.lower, constant.upper),
        "give lower <= prior <= upper");
  }
  return constant;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

void read_fit(const config::Node& fit, Suite& suite) {
  fit.allow_only({"constants", "row_sigma", "group"});
  suite.fit_group = fit.get("group").name();
  suite.row_sigma = fit.require("row_sigma").number(1e-6, 10);
  const config::Node constants = fit.require("constants");
  std::set<std::string> names;
  for (const config::Node& node : constants.items()) {
    suite.constants.push_back(read_constant(node, fit.get("group").present()));
    const std::string& name = suite.constants.back().name;
    if (!name.empty() && !names.insert(name).second) {
      node.get(fit.get("group").present() ? "set" : "name")
          .error(fmt::format("constant \"{}\" occurs twice", name), "list every constant once");
    }
  }
  if (constants.is_array() && suite.constants.empty()) {
    constants.error("no constants", "list what is fitted, or leave out \"fit\"");
  }
}

/// Names of the row files; each only once, however it is spelled.
std::vector<std::string> read_row_files(const config::Node& files, const std::string& folder) {
  std::vector<std::string> names;
  std::set<std::string> paths;
  for (const config::Node& file : files.items()) {
    const std::string name = file.text();
    if (!file.is_text()) {
      continue;
    }
    std::error_code missing;  // then the path itself tells files apart
    const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(folder + name), missing);
    if (name.empty()) {
      file.error("the name is empty", "name a file of measured rows");
    } else if (!paths.insert(missing ? folder + name : path.string()).second) {
      file.error(fmt::format("the rows of {} are listed already", config::in_quotes(name)),
                 "list every file once");
    }
    names.push_back(name);
  }
  if (files.is_array() && files.items().empty()) {
    files.error("no rows", "list at least one file of measured rows");
  }
  return names;
}

/// Ids are unique over all files of a suite; fitting needs groups to hold out.
void check_rows(const Suite& suite, const config::Node& fit, config::Diagnostics& diagnostics) {
  std::map<std::string, const MeasuredRow*> rows;
  std::set<std::string> groups;
  for (const MeasuredRow& row : suite.rows) {
    const auto [known, is_new] = rows.try_emplace(row.id, &row);
    if (!is_new) {
      diagnostics.add(
          row.place,
          fmt::format("row {} stands in {} too", config::in_quotes(row.id), known->second->place.file),
          "give every row of the suite its own id");
    }
    groups.insert(row.group);
    if ((row.kind == "collective") != (suite.rows.front().kind == "collective")) {
      diagnostics.add(
          row.place,
          fmt::format("row {} is a {}, others of the suite are none", config::in_quotes(row.id), row.kind),
          "make a suite of steps and one of collectives");
      continue;
    }
    if (fit.present() && row.group.empty()) {
      diagnostics.add(
          row.place,
          fmt::format("row {} has no \"group\", but the suite fits constants and holds groups out",
                      config::in_quotes(row.id)),
          "name its model");
    }
  }
  if (!diagnostics.empty() || suite.rows.empty()) {
    return;
  }
  const bool collectives = suite.rows.front().kind == "collective";
  if (fit.present() && collectives != !suite.fit_group.empty()) {
    fit.error(collectives ? "rows of collectives without the group that constants are fitted on"
                          : "steps are fitted with each group left out",
              collectives ? "name it with \"group\"" : "leave out \"group\"");
  }
  if (!suite.fit_group.empty() && !groups.contains(suite.fit_group)) {
    fit.get("group").error(fmt::format("no row of group {}", config::in_quotes(suite.fit_group)),
                           fmt::format("groups: {}", fmt::join(groups, ", ")));
  }
  if (fit.present() && groups.size() < 2 && diagnostics.empty()) {
    fit.error("constants cannot be fitted without a group when all rows are of one",
              "add rows of another group, or leave out \"fit\"");
  }
}

}  // namespace

Suite read_suite(const std::string& path, const std::string& shown_name) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::load(path, diagnostics, shown_name);
  Suite suite;
  const config::Node root = document.root();
  root.allow_only({"name", "description", "rows", "tolerance", "median_tolerance", "compare", "fit"});
  suite.name = root.require("name").name();
  if (const config::Node text = root.get("description"); text.present()) {
    suite.description = text.text();
  }
  suite.tolerance = root.require("tolerance").number(0, 10);
  if (const config::Node median = root.get("median_tolerance"); median.present()) {
    suite.median_tolerance = median.number(0, 10);
  }
  if (const config::Node compare = root.get("compare"); compare.present()) {
    compare.allow_only({"fidelity", "at_most"});
    if (const config::Node fidelity = compare.require("fidelity"); fidelity.present()) {
      const std::vector<std::string> others{"analytic"};
      suite.compare.fidelity = others[fidelity.one_of(others)];
    }
    if (const config::Node limits = compare.get("at_most"); limits.present()) {
      for (const auto& [group, limit] : limits.members()) {
        suite.compare.at_most.emplace(group, limit.number(0, 1e3));
      }
    }
  }
  const config::Node fit = root.get("fit");
  if (fit.present()) {
    read_fit(fit, suite);
  }
  suite.files.push_back(path);
  const std::vector<std::string> names = read_row_files(root.require("rows"), folder_of(path));
  diagnostics.throw_if_any();
  std::vector<config::Document> row_documents;  // messages point into them
  for (const std::string& name : names) {
    suite.files.push_back(folder_of(path) + name);
    row_documents.push_back(
        config::Document::load(suite.files.back(), diagnostics, folder_of(shown_name) + name));
    for (MeasuredRow& row : read_rows(row_documents.back())) {
      suite.rows.push_back(std::move(row));
    }
    if (const std::string reason = incomplete_reason(row_documents.back()); !reason.empty()) {
      suite.notes.push_back(fmt::format("{}: measured in part: {}", name, reason));
    }
  }
  diagnostics.throw_if_any();
  check_rows(suite, fit, diagnostics);
  diagnostics.throw_if_any();
  return suite;
}

}  // namespace stepcast::calibration
