#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "calibration/nccl_channels.hpp"
#include "calibration/suite.hpp"
#include "config/data_path.hpp"
#include "report/channel_report.hpp"
#include "report/validation_writer.hpp"
#include "trace/nccl_log.hpp"

namespace stepcast::app {
namespace {

struct ValidateArguments {
  std::vector<std::string> suites;
  std::vector<std::string> logs;
  CommonOptions common;
};

/// Channels and rings of NCCL's logs. Exit code 1 when a scored communicator does not match.
int run_logs(const ValidateArguments& arguments) {
  if (!arguments.suites.empty()) {
    throw InputError("validate: --nccl-log beside a suite; run them one after the other");
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
  check_outputs(arguments.common, inputs);
  std::vector<calibration::Validation> validations;
  bool within = true;
  for (const calibration::Suite& suite : suites) {
    validations.push_back(calibration::validate(suite, thread_count()));
    within = within && validations.back().within_tolerance;
  }
  deliver(writer.write(validations), arguments.common);
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
  add_threads(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|markdown|junit");
  command->footer("Example: stepcast validate validation/suites/korthikanti.json");
  command->callback([arguments, &exit_code]() { exit_code = run(*arguments); });
}

}  // namespace stepcast::app
