#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "config/data_path.hpp"
#include "config/node.hpp"
#include "config/quote.hpp"
#include "program/native_format.hpp"
#include "replay/predict.hpp"
#include "replay/step_input.hpp"

namespace stepcast::app {
namespace {

struct ReplayArguments {
  std::string cluster;
  std::string program;
  CommonOptions common;
};

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void run(const ReplayArguments& arguments) {
  const StepReport report(arguments.common);
  ProgressLine progress(arguments.common.quiet);
  progress.phase("input and fabric");
  check_outputs(arguments.common,
                {config::find_data("topologies", arguments.cluster).path, arguments.program});
  replay::PredictOptions options = report.predict_options();
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::load(arguments.program, diagnostics);
  program::Programs programs = program::read_programs(document, diagnostics);
  const topology::Cluster cluster = replay::load_cluster(arguments.cluster, arguments.common.settings,
                                                         arguments.common.ranks, arguments.common.nccl);
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
  options.observer = &progress;
  const replay::Run run = replay::replay(cluster, std::move(programs),
                                         config::printable(file_name(arguments.program), 255), options);
  report.deliver(run, progress.finish());
}

}  // namespace

void add_replay(CLI::App& app, int& /*exit_code*/) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "replay a program file on a cluster");
  command->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  command->add_option("program", arguments->program, "program file (format: src/program/README.md)")
      ->required();
  add_run_options(*command, arguments->common);
  add_step_options(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|csv|markdown");
  command->footer("Example: stepcast replay dgx-a100-64 workloads/programs/late_rank.json");
  command->callback([arguments]() { run(*arguments); });
}

}  // namespace stepcast::app
