#include <memory>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "calibration/suite.hpp"
#include "config/data_path.hpp"
#include "report/validation_writer.hpp"

namespace stepcast::app {
namespace {

struct ValidateArguments {
  std::vector<std::string> suites;
  CommonOptions common;
};

int run(const ValidateArguments& arguments) {
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
  command->add_option("suite", arguments->suites, "suite files or shipped names (stepcast list suites)")
      ->required();
  add_threads(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|markdown|junit");
  command->footer("Example: stepcast validate validation/suites/korthikanti.json");
  command->callback([arguments, &exit_code]() { exit_code = run(*arguments); });
}

}  // namespace stepcast::app
