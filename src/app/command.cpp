#include "app/command.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/output_file.hpp"

namespace stepcast::app {

void add_output_options(CLI::App& command, CommonOptions& options, const std::string& formats) {
  command.add_option("--format", options.format, formats)->capture_default_str();
  command.add_option("--output", options.output, "write to this file instead of standard output");
  command.add_flag("--quiet", options.quiet, "print nothing but errors (the exit code and --output remain)");
}

void add_run_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--set", options.settings,
                  "change a field of the cluster or the job: /json/pointer=value (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--ranks", options.ranks,
                     "use the first N GPUs, or a list: 0-7,16 or 0-56/8 (default: all)");
  command
      .add_option("--fidelity", options.fidelity,
                  "flow, or analytic (jobs and collectives, fast): stepcast list fidelities")
      ->capture_default_str();
  command.add_option("--routing", options.routing, "path policy: stepcast list routing")
      ->capture_default_str();
  command
      .add_option("--lowering", options.lowering,
                  "collectives as one coupled activity or step by step: coupled|steps")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "seed of hashed routing")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--profile", options.profile, "say on standard error where our own time went");
}

void deliver(const std::string& text, const CommonOptions& options) {
  if (!options.output.empty()) {
    report::write_file(options.output, text);
  } else if (!options.quiet) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

bool steps_wanted(const CommonOptions& options) {
  const std::vector<std::string> forms{"coupled", "steps"};
  if (options.lowering != forms[0] && options.lowering != forms[1]) {
    throw InputError(
        fmt::format("unknown --lowering \"{}\"; {}", options.lowering, suggest(options.lowering, forms)));
  }
  return options.lowering == forms[1];
}

}  // namespace stepcast::app
