#include "replay/predict.hpp"

#include <chrono>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "network/model.hpp"
#include "placement/placement.hpp"
#include "replay/step_input.hpp"
#include "report/chrome_trace.hpp"
#include "report/writer.hpp"

namespace stepcast::app {
namespace {

struct PredictArguments {
  std::string cluster;
  std::string job;
  std::string trace;
  std::string trace_ranks;
  CommonOptions common;
};

replay::PredictOptions predict_options(const PredictArguments& arguments, std::vector<std::uint32_t> gpus) {
  replay::PredictOptions options;
  options.fidelity = arguments.common.fidelity;
  options.routing = arguments.common.routing;
  options.seed = arguments.common.seed;
  options.fold = fold_wanted(arguments.common) ? replay::Fold::kAuto : replay::Fold::kOff;
  options.steady_state = steady_state_wanted(arguments.common);
  options.form = steps_wanted(arguments.common) ? collective::Form::kSteps : collective::Form::kCoupled;
  options.gpus = std::move(gpus);
  options.record_timeline = !arguments.trace.empty();
  if (!arguments.trace_ranks.empty()) {
    config::Diagnostics diagnostics;
    options.trace_ranks = placement::parse_rank_list(arguments.trace_ranks, "--trace-ranks", diagnostics);
    diagnostics.throw_if_any();
  }
  return options;
}

void run(const PredictArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  // Flags first: a typo there should not wait for a large fabric to be built.
  const report::ResultWriter& writer = report::find_result_writer(arguments.common.format);
  network::require_available(arguments.common.fidelity);
  replay::PredictOptions options = predict_options(arguments, {});
  replay::StepInput input = replay::load_step_input(arguments.cluster, arguments.job,
                                                    arguments.common.settings, arguments.common.ranks);
  options.gpus = std::move(input.gpus);
  options.uncertainty = replay::step_uncertainty(input.cluster.host.accelerator.name, input.job);
  const replay::Run run = replay::predict(input.cluster, input.job, input.ranks, options);
  if (!arguments.trace.empty()) {
    report::write_chrome_trace(run, arguments.trace);
  }
  deliver(writer.write(run.result), arguments.common);
  if (arguments.common.profile) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    const std::string text = report::profile_text(run.result, elapsed.count());
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace

void add_predict(CLI::App& app, int& /*exit_code*/) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "predict one step of a job on a cluster");
  command->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  command->add_option("job", arguments->job, "job file or shipped name")->required();
  add_run_options(*command, arguments->common);
  command->add_option("--trace", arguments->trace,
                      "write the timeline as Chrome trace JSON (opens in Perfetto)");
  command->add_option("--trace-ranks", arguments->trace_ranks,
                      "ranks in the trace (default: all up to 64 ranks, else one per pipeline stage)");
  add_output_options(*command, arguments->common, "text|json|csv|markdown");
  command->footer("Example: stepcast predict dgx-a100-64 megatron-175b --set /recompute=full");
  command->callback([arguments]() { run(*arguments); });
}

}  // namespace stepcast::app
