#include "replay/predict.hpp"

#include <memory>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "config/data_path.hpp"
#include "replay/step_input.hpp"

namespace stepcast::app {
namespace {

struct PredictArguments {
  std::string cluster;
  std::string job;
  CommonOptions common;
};

void run(const PredictArguments& arguments) {
  // Flags first: a typo there should not wait for a large fabric to be built.
  const StepReport report(arguments.common);
  ProgressLine progress(arguments.common.quiet);
  progress.phase("input and fabric");
  check_outputs(arguments.common, {config::find_data("topologies", arguments.cluster).path,
                                   config::find_data("workloads", arguments.job).path});
  replay::StepInput input =
      replay::load_step_input(arguments.cluster, arguments.job, arguments.common.settings,
                              arguments.common.ranks, arguments.common.nccl);
  replay::PredictOptions options = report.predict_options();
  options.uncertainty = replay::step_uncertainty(input);
  options.gpus = std::move(input.gpus);
  options.observer = &progress;
  progress.phase("programs");
  const replay::Run run = replay::predict(input.cluster, input.job, input.ranks, options);
  report.deliver(run, progress.finish());
}

}  // namespace

void add_predict(CLI::App& app, int& /*exit_code*/) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "predict one step of a job on a cluster");
  command->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  command->add_option("job", arguments->job, "job file or shipped name")->required();
  add_run_options(*command, arguments->common);
  add_step_options(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|csv|markdown");
  command->footer("Example: stepcast predict dgx-a100-64 megatron-175b --set /recompute=full");
  command->callback([arguments]() { run(*arguments); });
}

}  // namespace stepcast::app
