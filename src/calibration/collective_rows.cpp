#include "calibration/collective_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "calibration/fit.hpp"
#include "config/quote.hpp"
#include "replay/collective_run.hpp"
#include "replay/step_input.hpp"

namespace stepcast::calibration {
namespace {

/// A cluster with its router, which points into it.
struct Loaded {
  explicit Loaded(topology::Cluster read) : cluster(std::move(read)), router(cluster, "balanced", 0) {}
  topology::Cluster cluster;
  routing::Router router;
};

/// Sockets have one protocol: bytes as they are.
collective::Request request_of(const MeasuredCollective& one) {
  collective::Request request;
  request.kind = one.kind;
  request.bytes = one.bytes;
  request.dtype = one.dtype;
  request.algorithm = one.algorithm;
  request.protocol = collective::Protocol::kSimple;
  return request;
}

double run(const MeasuredRow& row, const Loaded& loaded, const std::string& fidelity) {
  replay::CollectiveOptions options;
  options.fidelity = fidelity;
  std::vector<replay::OtherCollective> others;
  for (const MeasuredCollective& other : row.also) {
    others.push_back(
        {request_of(other), replay::choose_ranks(loaded.cluster, other.ranks).group(), Duration{}});
  }
  const std::vector<Bytes> sizes{row.collective.bytes};
  const auto times =
      replay::run_collectives(loaded.router, request_of(row.collective), sizes,
                              replay::choose_ranks(loaded.cluster, row.ranks).group(), options, others);
  return times.front().time.seconds();
}

double spread(const MeasuredRow& row) {
  if (row.samples.size() < 2) {
    return 0;
  }
  const auto [least, most] = std::minmax_element(row.samples.begin(), row.samples.end());
  return (*most - *least) / row.measured;
}

/// Constants as settings of the cluster.
std::vector<std::string> settings_of(const Suite& suite, const std::vector<double>& values) {
  std::vector<std::string> settings;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const FittedConstant& constant = suite.constants[c];
    settings.push_back(fmt::format("{}={:.9g}{}{}", constant.name, values[c],
                                   constant.unit.empty() ? "" : " ", constant.unit));
  }
  return settings;
}

}  // namespace

std::vector<double> predict_collectives(const std::vector<const MeasuredRow*>& rows,
                                        const std::vector<std::string>& settings,
                                        const std::string& fidelity) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::unique_ptr<Loaded>> clusters;
  std::vector<double> times;
  for (const MeasuredRow* row : rows) {
    try {
      std::unique_ptr<Loaded>& loaded = clusters[{row->cluster, row->settings}];
      if (loaded == nullptr) {
        std::vector<std::string> all = row->settings;
        all.insert(all.end(), settings.begin(), settings.end());
        loaded = std::make_unique<Loaded>(replay::load_cluster(row->cluster, all));
      }
      times.push_back(run(*row, *loaded, fidelity));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: row {} cannot be predicted: {}", config::place_text(row->place),
                                   config::in_quotes(row->id), error.what()));
    }
  }
  return times;
}

Validation validate_collectives(const Suite& suite) {
  Validation out;
  out.suite = suite.name;
  out.tolerance = suite.tolerance;
  out.median_tolerance = suite.median_tolerance;
  out.notes = suite.notes;
  std::vector<const MeasuredRow*> all;
  std::vector<const MeasuredRow*> fitted;
  std::vector<double> measured;
  for (const MeasuredRow& row : suite.rows) {
    all.push_back(&row);
    if (!suite.fit_group.empty() && row.group == suite.fit_group) {
      fitted.push_back(&row);
      measured.push_back(row.measured);
    }
  }
  std::vector<double> values;
  std::string fold = "in_sample";
  if (!suite.constants.empty()) {
    values = fit(measured, suite.constants, suite.row_sigma, [&](const std::vector<double>& constants) {
      return predict_collectives(fitted, settings_of(suite, constants), "flow");
    });
    fold = "fitted on " + suite.fit_group;
    std::vector<double> priors;
    for (const FittedConstant& constant : suite.constants) {
      out.constants.push_back(constant.unit.empty() ? constant.name
                                                    : fmt::format("{} ({})", constant.name, constant.unit));
      priors.push_back(constant.prior);
    }
    out.fits.push_back({"prior", priors});
    out.fits.push_back({fold, values});
  }
  const std::vector<std::string> settings = settings_of(suite, values);
  const std::vector<double> predicted = predict_collectives(all, settings, "flow");
  std::vector<double> other;
  if (!suite.compare.fidelity.empty()) {
    out.compared_fidelity = suite.compare.fidelity;
    other = predict_collectives(all, settings, suite.compare.fidelity);
  }
  std::vector<ValidationRow> held_out;
  std::size_t loose = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const MeasuredRow& row = *all[i];
    ValidationRow judged;
    judged.id = row.id;
    judged.metric = row.metric;
    judged.predicted = predicted[i];
    judged.measured = row.measured;
    judged.error = predicted[i] / row.measured - 1;
    judged.lower = predicted[i] * (1 - suite.tolerance);
    judged.upper = predicted[i] * (1 + suite.tolerance);
    judged.within_tolerance = std::abs(judged.error) <= suite.tolerance;
    judged.fold = fold;
    judged.group = row.group.empty() ? "in_sample" : row.group;
    judged.spread = spread(row);
    loose += judged.spread > kTrustedSpread ? 1 : 0;
    if (!other.empty()) {
      judged.compared = other[i];
    }
    if (suite.fit_group.empty() || row.group != suite.fit_group) {
      held_out.push_back(judged);
    }
    out.rows.push_back(std::move(judged));
  }
  if (loose > 0) {
    out.notes.push_back(
        fmt::format("{} of {} rows spread by more than {:.0f} % over their repetitions: the machine was too "
                    "loaded to trust them",
                    loose, all.size(), 100 * kTrustedSpread));
  }
  std::vector<std::string> groups;
  for (const ValidationRow& row : out.rows) {
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) {
      groups.push_back(row.group);
    }
  }
  std::sort(groups.begin(), groups.end());
  for (const std::string& group : groups) {
    std::vector<ValidationRow> rows;
    std::copy_if(out.rows.begin(), out.rows.end(), std::back_inserter(rows),
                 [&](const ValidationRow& row) { return row.group == group; });
    out.groups.emplace_back(group, summarise(rows));
    if (!other.empty() && group != suite.fit_group) {
      const double own = out.groups.back().second.median_abs_error;
      for (ValidationRow& row : rows) {
        row.error = *row.compared / row.measured - 1;
      }
      ComparedGroup compared{group, own, summarise(rows).median_abs_error, 1, true};
      if (const auto limit = suite.compare.at_most.find(group); limit != suite.compare.at_most.end()) {
        compared.at_most = limit->second;
      }
      // Two fidelities that predict the same to the picosecond differ by rounding at most.
      compared.within =
          compared.median_abs_error <= compared.at_most * compared.other_median_abs_error + 1e-9;
      out.compared.push_back(compared);
    }
  }
  out.summary = summarise(held_out.empty() ? out.rows : held_out);
  out.within_tolerance =
      std::all_of(out.rows.begin(), out.rows.end(), [](const auto& row) { return row.within_tolerance; }) &&
      std::all_of(out.compared.begin(), out.compared.end(), [](const auto& group) { return group.within; }) &&
      (suite.median_tolerance == 0 || out.summary.median_abs_error <= suite.median_tolerance);
  return out;
}

}  // namespace stepcast::calibration
