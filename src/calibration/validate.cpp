#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "calibration/collective_rows.hpp"
#include "calibration/fit.hpp"
#include "calibration/suite.hpp"
#include "hardware/catalog.hpp"
#include "replay/predict.hpp"
#include "replay/step_input.hpp"

namespace stepcast::calibration {
namespace {

/// One prediction to make: a row with some constants.
struct Task {
  const MeasuredRow* row = nullptr;
  std::vector<double> constants;
  double seconds = 0;
  std::vector<double> governed;  ///< longest-chain time by constant
  std::vector<double> used;      ///< constants the run had
};

std::size_t part_index(const std::string& name) {
  for (std::size_t part = 0; part < replay::kPathParts; ++part) {
    if (replay::name_of(static_cast<replay::PathPart>(part)) == name) {
      return part;
    }
  }
  return 0;
}

/// Runs one row. Empty `task.constants` keeps the shipped values.
void run(Task& task, const Suite& suite) {
  replay::StepInput input =
      replay::load_step_input(task.row->cluster, task.row->job, task.row->settings, task.row->ranks);
  for (std::size_t c = 0; c < task.constants.size(); ++c) {
    hardware::Catalog::set_constant(input.cluster.host, suite.constants[c].name, task.constants[c]);
  }
  for (const FittedConstant& constant : suite.constants) {
    task.used.push_back(hardware::Catalog::constant(input.cluster.host, constant.name));
  }
  replay::PredictOptions options;
  options.gpus = input.gpus;
  const replay::Run run = replay::predict(input.cluster, input.job, input.ranks, options);
  task.seconds = run.result.step_time_s;
  for (const FittedConstant& constant : suite.constants) {
    task.governed.push_back(run.result.timeline.critical_path[part_index(constant.part)].seconds());
  }
}

/// Runs all tasks side by side; the error of the first failing row (in row order) is thrown.
void run_all(std::vector<Task>& tasks, const Suite& suite, int threads) {
  parallel_for(tasks.size(), threads, [&](std::size_t i) {
    try {
      run(tasks[i], suite);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: row \"{}\" cannot be predicted: {}",
                                   config::place_text(tasks[i].row->place), tasks[i].row->id, error.what()));
    }
  });
}

/// The largest rows first keeps both threads busy to the end; the results stay in row order.
std::vector<std::size_t> longest_first(const Suite& suite) {
  std::vector<std::size_t> order(suite.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&suite](std::size_t a, std::size_t b) {
    return suite.rows[a].measured > suite.rows[b].measured;
  });
  return order;
}

ValidationRow judge(
    const MeasuredRow& row, double predicted, const Suite& suite, std::string fold, std::string group) {
  ValidationRow out;
  out.id = row.id;
  out.metric = row.metric;
  out.predicted = predicted;
  out.measured = row.measured;
  out.error = predicted / row.measured - 1;
  out.lower = predicted * (1 - suite.tolerance);
  out.upper = predicted * (1 + suite.tolerance);
  out.within_tolerance = std::abs(out.error) <= suite.tolerance;
  out.fold = std::move(fold);
  out.group = std::move(group);
  return out;
}

std::vector<Task> predict_rows(const Suite& suite,
                               const std::vector<std::vector<double>>& constants,
                               int threads) {
  const std::vector<std::size_t> order = longest_first(suite);
  std::vector<Task> tasks;
  for (const std::size_t row : order) {
    Task task;
    task.row = &suite.rows[row];
    task.constants = constants.empty() ? std::vector<double>{} : constants[row];
    tasks.push_back(std::move(task));
  }
  run_all(tasks, suite, threads);
  std::vector<Task> by_row(tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    by_row[order[i]] = std::move(tasks[i]);
  }
  return by_row;
}

}  // namespace

ErrorSummary summarise(const std::vector<ValidationRow>& rows) {
  ErrorSummary summary;
  std::vector<double> errors;
  std::size_t covered = 0;
  for (const ValidationRow& row : rows) {
    errors.push_back(std::abs(row.error));
    summary.signed_mean_error += row.error;
    summary.mean_abs_error += std::abs(row.error);
    covered += row.measured >= row.lower && row.measured <= row.upper ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t count = errors.size();
  const auto size = static_cast<double>(count);
  summary.count = count;
  summary.mean_abs_error /= size;
  summary.signed_mean_error /= size;
  summary.median_abs_error =
      count % 2 == 1 ? errors[count / 2] : (errors[count / 2 - 1] + errors[count / 2]) / 2;
  // Nearest-rank percentile.
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * size));
  summary.p90_abs_error = errors[rank - 1];
  summary.max_abs_error = errors.back();
  summary.coverage = static_cast<double>(covered) / size;
  return summary;
}

Validation validate(const Suite& suite, int threads) {
  if (suite.rows.front().kind == "collective") {
    return validate_collectives(suite);  // milliseconds each
  }
  Validation out;
  out.suite = suite.name;
  out.tolerance = suite.tolerance;
  const std::vector<Task> shipped = predict_rows(suite, {}, threads);
  std::vector<ValidationRow> in_sample;
  for (std::size_t i = 0; i < suite.rows.size(); ++i) {
    in_sample.push_back(judge(suite.rows[i], shipped[i].seconds, suite, "in_sample", "in_sample"));
  }
  out.rows = in_sample;
  out.summary = summarise(in_sample);
  out.groups.emplace_back("in_sample", out.summary);

  if (!suite.constants.empty()) {
    for (const FittedConstant& constant : suite.constants) {
      out.constants.push_back(constant.name);
    }
    out.fits.push_back({"shipped", shipped.front().used});
    const auto fit_without = [&](const std::string& group) {
      std::vector<FitRow> rows;
      for (std::size_t i = 0; i < suite.rows.size(); ++i) {
        if (suite.rows[i].group != group) {
          rows.push_back({suite.rows[i].measured, shipped[i].seconds, shipped[i].governed});
        }
      }
      return fit(rows, shipped.front().used, suite.constants, suite.row_sigma);
    };
    out.fits.push_back({"all rows", fit_without("")});
    std::set<std::string> groups;
    for (const MeasuredRow& row : suite.rows) {
      groups.insert(row.group);
    }
    std::vector<std::vector<double>> constants(suite.rows.size());
    for (const std::string& group : groups) {
      const std::vector<double> values = fit_without(group);
      out.fits.push_back({"without " + group, values});
      for (std::size_t i = 0; i < suite.rows.size(); ++i) {
        if (suite.rows[i].group == group) {
          constants[i] = values;
        }
      }
    }
    const std::vector<Task> held_out = predict_rows(suite, constants, threads);
    std::vector<ValidationRow> rows;
    for (std::size_t i = 0; i < suite.rows.size(); ++i) {
      rows.push_back(judge(suite.rows[i], held_out[i].seconds, suite, "without " + suite.rows[i].group,
                           "leave_one_model_out"));
    }
    out.rows.insert(out.rows.end(), rows.begin(), rows.end());
    out.summary = summarise(rows);
    out.groups.emplace_back("leave_one_model_out", out.summary);
  }
  out.within_tolerance = std::all_of(out.rows.begin(), out.rows.end(),
                                     [](const ValidationRow& row) { return row.within_tolerance; });
  return out;
}

}  // namespace stepcast::calibration
