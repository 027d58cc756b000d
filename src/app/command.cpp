#include "app/command.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/output_file.hpp"

namespace stepcast::app {
namespace {

bool auto_or_off(std::string_view option, const std::string& value) {
  const std::vector<std::string> known{"auto", "off"};
  if (value != known[0] && value != known[1]) {
    throw InputError(fmt::format("unknown {} \"{}\"; {}", option, value, suggest(value, known)));
  }
  return value == known[0];
}

}  // namespace

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
  command.add_option("--fidelity", options.fidelity, "network model: stepcast list fidelities")
      ->capture_default_str();
  command.add_option("--routing", options.routing, "path policy: stepcast list routing")
      ->capture_default_str();
  command
      .add_option("--lowering", options.lowering,
                  "collectives as one coupled activity or step by step: coupled|steps")
      ->capture_default_str();
  command
      .add_option("--fold", options.fold,
                  "run one representative of ranks that behave the same, or every rank: auto|off")
      ->capture_default_str();
  command
      .add_option("--steady-state", options.steady_state,
                  "count the repetitions of a steady state, or simulate them: auto|off (same results)")
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

bool fold_wanted(const CommonOptions& options) {
  return auto_or_off("--fold", options.fold);
}

bool steady_state_wanted(const CommonOptions& options) {
  return auto_or_off("--steady-state", options.steady_state);
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
