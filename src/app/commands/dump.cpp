#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "collective/collective.hpp"
#include "collective/schedule_file.hpp"
#include "config/data_path.hpp"
#include "program/native_format.hpp"
#include "replay/step_input.hpp"
#include "report/fabric_json.hpp"
#include "report/result_diff.hpp"
#include "report/schedule_json.hpp"
#include "workload/generate.hpp"

namespace stepcast::app {
namespace {

constexpr std::uint64_t kMostMembers = 4096;

struct DumpArguments {
  std::string cluster;
  std::string job;
  std::string algorithm;
  std::uint64_t members = 8;
  std::uint64_t hosts = 1;
  std::uint64_t channels = 1;
  std::uint64_t root = 0;
  CommonOptions common;
};

void dump_program(const DumpArguments& arguments) {
  check_outputs(arguments.common, {config::find_data("topologies", arguments.cluster).path,
                                   config::find_data("workloads", arguments.job).path});
  const replay::StepInput input = replay::load_step_input(arguments.cluster, arguments.job,
                                                          arguments.common.settings, arguments.common.ranks);
  deliver(program::write_programs(workload::generate(input.job, input.cluster.host.accelerator)),
          arguments.common);
}

void dump_fabric(const DumpArguments& arguments) {
  check_outputs(arguments.common, {config::find_data("topologies", arguments.cluster).path});
  deliver(report::fabric_json(replay::load_cluster(arguments.cluster, arguments.common.settings)),
          arguments.common);
}

void dump_schedule(const DumpArguments& arguments) {
  if (arguments.root >= arguments.members) {
    throw InputError(fmt::format("--root {}: not one of {} members; give 0 to {}, or more --members",
                                 arguments.root, arguments.members, arguments.members - 1));
  }
  if (arguments.algorithm.find_first_of("./") != std::string::npos) {  // no algorithm is named like a path
    check_outputs(arguments.common, {arguments.algorithm});
    deliver(report::schedule_json(collective::load_schedule(arguments.algorithm).schedule), arguments.common);
    return;
  }
  if (arguments.members % arguments.hosts != 0) {
    throw InputError(fmt::format("--hosts {}: {} members cannot be spread evenly over them; give a divisor",
                                 arguments.hosts, arguments.members));
  }
  check_outputs(arguments.common, {});
  std::vector<std::string> names;
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.name == arguments.algorithm) {
      const auto places = collective::Places::even(static_cast<std::uint32_t>(arguments.members),
                                                   static_cast<std::uint32_t>(arguments.hosts));
      deliver(report::schedule_json(algorithm.schedule(places, static_cast<std::uint32_t>(arguments.channels),
                                                       static_cast<std::uint32_t>(arguments.root))),
              arguments.common);
      return;
    }
    names.emplace_back(algorithm.name);
  }
  throw InputError(
      fmt::format("unknown algorithm \"{}\"; {}", arguments.algorithm, suggest(arguments.algorithm, names)));
}

void add_file_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--output", options.output, "write to this file instead of standard output");
}

}  // namespace

void add_dump(CLI::App& app, int& /*exit_code*/) {
  CLI::App* dump =
      app.add_subcommand("dump", "print an intermediate as JSON: a program, a schedule or a fabric");
  dump->require_subcommand(1);
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App* program = dump->add_subcommand("program", "programs of a job, in the format that replay reads");
  program->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  program->add_option("job", arguments->job, "job file or shipped name")->required();
  program->add_option("--set", arguments->common.settings, "/json/pointer=value (repeatable)")
      ->allow_extra_args(false);
  program->add_option("--ranks", arguments->common.ranks, "ranks of the job (default: all GPUs)");
  add_file_options(*program, arguments->common);
  program->callback([arguments]() { dump_program(*arguments); });
  CLI::App* schedule = dump->add_subcommand("schedule", "steps of a collective algorithm");
  schedule
      ->add_option("algorithm", arguments->algorithm,
                   "as in stepcast list algorithms, or a file: MSCCL XML or this JSON, which is checked")
      ->required();
  add_whole(*schedule, "--members", arguments->members, 1, kMostMembers, "ranks");
  add_whole(*schedule, "--hosts", arguments->hosts, 1, kMostMembers, "hosts that the ranks are spread over");
  add_whole(*schedule, "--channels", arguments->channels, 1, collective::kMostChannels, "channels");
  add_whole(*schedule, "--root", arguments->root, 0, kMostMembers - 1, "root of a rooted operation");
  add_file_options(*schedule, arguments->common);
  schedule->callback([arguments]() { dump_schedule(*arguments); });
  CLI::App* fabric = dump->add_subcommand("fabric", "nodes and cables of a cluster, one a line");
  fabric->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  fabric->add_option("--set", arguments->common.settings, "/json/pointer=value (repeatable)")
      ->allow_extra_args(false);
  add_file_options(*fabric, arguments->common);
  fabric->callback([arguments]() { dump_fabric(*arguments); });
}

void add_diff(CLI::App& app, int& /*exit_code*/) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command =
      app.add_subcommand("diff", "what changed between two results (JSON of predict or replay)");
  command->add_option("before", files->first, "result file")->required();
  command->add_option("after", files->second, "result file")->required();
  command->callback([files]() {
    config::Diagnostics diagnostics;
    const config::Document before = config::Document::load(files->first, diagnostics);
    const config::Document after = config::Document::load(files->second, diagnostics);
    deliver(report::result_diff(before, after, diagnostics), {});
  });
}

}  // namespace stepcast::app
