#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "calibration/baseline.hpp"
#include "calibration/nccl_channels.hpp"
#include "calibration/suite.hpp"
#include "config/data_path.hpp"
#include "report/baseline_report.hpp"
#include "report/channel_report.hpp"
#include "report/output_file.hpp"
#include "report/validation_writer.hpp"
#include "trace/nccl_log.hpp"

namespace stepcast::app {
namespace {

struct ValidateArguments {
  std::vector<std::string> suites;
  std::vector<std::string> logs;
  std::string baseline;
  bool update_baseline = false;
  CommonOptions common;
};

/// The baseline before the run; an empty one when a file that is not there is about to be written.
calibration::Baseline load_baseline(const ValidateArguments& arguments,
                                    const std::vector<std::string>& inputs) {
  if (arguments.update_baseline) {
    for (const std::string& input : inputs) {
      std::error_code unknown;
      if (std::filesystem::equivalent(arguments.baseline, input, unknown)) {
        throw InputError(fmt::format("--baseline {} would replace a file that is read; choose another file",
                                     arguments.baseline));
      }
    }
    try {
      report::require_writable(arguments.baseline);
    } catch (const InputError& error) {
      throw InputError(fmt::format("--baseline {}", error.what()));
    }
  }
  std::error_code unknown;
  if (!std::filesystem::exists(arguments.baseline, unknown)) {
    if (!arguments.update_baseline) {
      throw InputError(
          fmt::format("--baseline {}: no such file; write it with --update-baseline, or check the path",
                      arguments.baseline));
    }
    return {};
  }
  config::Diagnostics diagnostics;
  calibration::Baseline baseline =
      calibration::read_baseline(config::Document::load(arguments.baseline, diagnostics));
  diagnostics.throw_if_any();
  return baseline;
}

/// Says what moved: below the tables, or on stderr where standard output holds another form. True when
/// nothing did, or the file was updated.
bool settle_baseline(const calibration::Baseline& baseline,
                     const std::vector<calibration::Validation>& validations,
                     const ValidateArguments& arguments,
                     std::string& text) {
  const calibration::BaselineComparison comparison = calibration::compare(baseline, validations);
  if (arguments.update_baseline) {
    report::write_file(arguments.baseline,
                       report::baseline_json(calibration::updated(baseline, validations)));
  }
  const std::string moved = report::baseline_text(comparison, arguments.baseline, arguments.update_baseline);
  if (arguments.common.format == "text" && !arguments.common.quiet) {
    text += "\n" + moved;
  } else if (!comparison.movements.empty()) {
    fmt::print(stderr, "{}", moved);
  }
  return arguments.update_baseline || comparison.movements.empty();
}

/// Channels and rings of NCCL's logs. Exit code 1 when a scored communicator does not match.
int run_logs(const ValidateArguments& arguments) {
  if (!arguments.suites.empty()) {
    throw InputError("validate: --nccl-log beside a suite; run them one after the other");
  }
  if (!arguments.baseline.empty()) {
    throw InputError("validate: --baseline holds predictions of suites, not of logs; leave it out");
  }
  const std::string& format = arguments.common.format;
  if (format != "text" && format != "json") {
    throw InputError(fmt::format("--format {}: logs of NCCL have text and json; choose one", format));
  }
  check_outputs(arguments.common, arguments.logs);
  std::vector<calibration::ChannelValidation> validations;
  for (const std::string& path : arguments.logs) {
    validations.push_back(calibration::validate_channels(trace::load_nccl_log(path), path));
  }
  deliver(format == "json" ? report::channel_json(validations) : report::channel_text(validations),
          arguments.common);
  const bool all = std::all_of(validations.begin(), validations.end(),
                               [](const auto& log) { return log.matched == log.scored; });
  return all ? kExitOk : kExitOutOfTolerance;
}

int run(const ValidateArguments& arguments) {
  if (arguments.update_baseline && arguments.baseline.empty()) {
    throw InputError("--update-baseline: no file to update; name it with --baseline FILE");
  }
  if (!arguments.logs.empty()) {
    return run_logs(arguments);
  }
  if (arguments.suites.empty()) {
    throw InputError(
        "validate: nothing to validate; name a suite (stepcast list suites) or give --nccl-log FILE");
  }
  const report::ValidationWriter& writer = report::find_validation_writer(arguments.common.format);
  set_thread_count(arguments.common.threads);
  std::vector<calibration::Suite> suites;
  std::vector<std::string> inputs;
  for (const std::string& name : arguments.suites) {
    const config::DataFile file = config::find_data("validation/suites", name);
    suites.push_back(calibration::read_suite(file.path, file.shown));
    inputs.insert(inputs.end(), suites.back().files.begin(), suites.back().files.end());
  }
  calibration::Baseline baseline;
  if (!arguments.baseline.empty()) {
    baseline = load_baseline(arguments, inputs);
    inputs.push_back(arguments.baseline);
  }
  check_outputs(arguments.common, inputs);
  std::vector<calibration::Validation> validations;
  bool within = true;
  for (const calibration::Suite& suite : suites) {
    validations.push_back(calibration::validate(suite, thread_count()));
    within = within && validations.back().within_tolerance;
  }
  std::string text = writer.write(validations);
  if (!arguments.baseline.empty()) {
    within = settle_baseline(baseline, validations, arguments, text) && within;
  }
  deliver(text, arguments.common);
  return within ? kExitOk : kExitOutOfTolerance;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* command =
      app.add_subcommand("validate", "predicted against measured; exit 1 when a row leaves its tolerance");
  command->add_option("suite", arguments->suites, "suite files or shipped names (stepcast list suites)");
  command
      ->add_option(
          "--nccl-log", arguments->logs,
          "output of a run with NCCL_DEBUG=INFO, repeatable: channels and rings of its communicators "
          "against those predicted; exit 1 when one does not match")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option(
      "--baseline", arguments->baseline,
      "predictions that were written down: exit 1 when one moved by more than the file's tolerance");
  command->add_flag("--update-baseline", arguments->update_baseline,
                    "write the predictions of this run into the file of --baseline");
  add_threads(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|markdown|junit");
  command->footer("Example: stepcast validate validation/suites/korthikanti.json");
  command->callback([arguments, &exit_code]() { exit_code = run(*arguments); });
}

}  // namespace stepcast::app
