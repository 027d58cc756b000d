#include <chrono>
#include <cstdio>
#include <memory>

#include "app/command.hpp"
#include "config/node.hpp"
#include "network/model.hpp"
#include "placement/placement.hpp"
#include "program/native_format.hpp"
#include "replay/predict.hpp"
#include "replay/step_input.hpp"
#include "report/chrome_trace.hpp"
#include "report/writer.hpp"

namespace stepcast::app {
namespace {

struct ReplayArguments {
  std::string cluster;
  std::string program;
  std::string trace;
  std::string trace_ranks;
  CommonOptions common;
};

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void run(const ReplayArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const report::ResultWriter& writer = report::find_result_writer(arguments.common.format);
  network::require_available(arguments.common.fidelity);
  replay::PredictOptions options;
  options.fidelity = arguments.common.fidelity;
  options.routing = arguments.common.routing;
  options.seed = arguments.common.seed;
  options.fold = fold_wanted(arguments.common) ? replay::Fold::kAuto : replay::Fold::kOff;
  options.steady_state = steady_state_wanted(arguments.common);
  options.form = steps_wanted(arguments.common) ? collective::Form::kSteps : collective::Form::kCoupled;
  options.record_timeline = !arguments.trace.empty();
  config::Diagnostics diagnostics;
  if (!arguments.trace_ranks.empty()) {
    options.trace_ranks = placement::parse_rank_list(arguments.trace_ranks, "--trace-ranks", diagnostics);
    diagnostics.throw_if_any();
  }
  const config::Document document = config::Document::load(arguments.program, diagnostics);
  program::Programs programs = program::read_programs(document, diagnostics);
  const topology::Cluster cluster = replay::load_cluster(arguments.cluster, arguments.common.settings);
  // A list places the program's ranks on those GPUs; a count only has to be large enough.
  if (!arguments.common.ranks.empty()) {
    const replay::RankChoice choice = replay::choose_ranks(cluster, arguments.common.ranks);
    if (choice.ranks != programs.ranks) {
      diagnostics.add(fmt::format("--ranks {}: {} GPUs for a program of {} ranks", arguments.common.ranks,
                                  choice.ranks, programs.ranks),
                      fmt::format("name {} GPUs", programs.ranks));
      diagnostics.throw_if_any();
    }
    options.gpus = choice.gpus;
  }
  const replay::Run run = replay::replay(cluster, std::move(programs), file_name(arguments.program), options);
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

void add_replay(CLI::App& app, int& /*exit_code*/) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "replay a program file on a cluster");
  command->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  command->add_option("program", arguments->program, "program file (format: src/program/README.md)")
      ->required();
  add_run_options(*command, arguments->common);
  command->add_option("--trace", arguments->trace,
                      "write the timeline as Chrome trace JSON (opens in Perfetto)");
  command->add_option("--trace-ranks", arguments->trace_ranks, "ranks in the trace (default: all up to 64)");
  add_output_options(*command, arguments->common, "text|json|csv|markdown");
  command->footer("Example: stepcast replay dgx-a100-64 workloads/programs/late_rank.json");
  command->callback([arguments]() { run(*arguments); });
}

}  // namespace stepcast::app
