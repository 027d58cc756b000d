#include "app/command.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/suggestion.hpp"
#include "config/node.hpp"
#include "network/model.hpp"
#include "placement/placement.hpp"
#include "report/chrome_trace.hpp"
#include "report/output_file.hpp"

namespace stepcast::app {
namespace {

namespace fs = std::filesystem;

/// True when both paths lead to one regular file, or would when written.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // a path that leads nowhere is the same as no other
  if (fs::exists(a, error) && !fs::is_regular_file(a, error)) {
    return false;  // two outputs may both go to /dev/null
  }
  if (fs::equivalent(a, b, error) && !error) {
    return true;
  }
  const fs::path whole_a = fs::weakly_canonical(fs::absolute(a, error), error);
  const fs::path whole_b = fs::weakly_canonical(fs::absolute(b, error), error);
  return !error && whole_a == whole_b;
}

/// Bytes of memory that this machine has free now; 0 = not known.
std::uint64_t free_memory() {
  const long pages = ::sysconf(_SC_AVPHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  std::uint64_t bytes =
      pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
  // Linux counts what it can take back from caches.
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (info >> key >> kib) {
    std::getline(info, unit);
    if (key == "MemAvailable:") {
      bytes = kib * 1024;
    }
  }
  return bytes;
}

bool auto_or_off(std::string_view option, const std::string& value) {
  const std::vector<std::string> known{"auto", "off"};
  if (value != known[0] && value != known[1]) {
    throw InputError(fmt::format("unknown {} \"{}\"; {}", option, value, suggest(value, known)));
  }
  return value == known[0];
}

}  // namespace

void add_whole(CLI::App& command,
               const std::string& flag,
               std::uint64_t& value,
               std::uint64_t lower,
               std::uint64_t upper,
               const std::string& description) {
  const auto read = [flag, &value, lower, upper](const std::string& text) {
    std::uint64_t given = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, given);
    if (error != std::errc{} || stop != end || given < lower || given > upper) {
      throw InputError(fmt::format("{} {}: not a whole number from {} to {}; give one, for example {} {}",
                                   flag, text, lower, upper, flag, std::max<std::uint64_t>(lower, 1)));
    }
    value = given;
  };
  CLI::Option* option = command.add_option_function<std::string>(flag, read, description);
  option->type_name("N");
  if (value >= lower && value <= upper) {
    option->default_str(std::to_string(value));
  }
}

void add_output_options(CLI::App& command, CommonOptions& options, const std::string& formats) {
  command.add_option("--format", options.format, formats)->capture_default_str();
  command.add_option("--output", options.output, "write to this file instead of standard output");
  command.add_flag("--quiet", options.quiet, "print nothing but errors (the exit code and --output remain)");
}

void add_threads(CLI::App& command, CommonOptions& options) {
  add_whole(command, "--threads", options.threads, 1, 1'000'000,
            "threads for independent work (default: all cores; same results)");
}

void add_run_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--set", options.settings,
                  "change a field of the cluster or the job: /json/pointer=value (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--nccl", options.nccl,
          "a variable of NCCL, or version: NAME=VALUE, or a file of such lines (repeatable): stepcast list "
          "nccl_variables")
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
  command
      .add_option("--fold", options.fold,
                  "run one representative of ranks that behave the same, or every rank: auto|off")
      ->capture_default_str();
  add_whole(command, "--seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max(),
            "seed of hashed routing");
  add_threads(command, options);
  command.add_flag("--profile", options.profile, "say on standard error where our own time went");
}

void add_step_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--steady-state", options.steady_state,
                  "count the repetitions of a steady state, or simulate them: auto|off (same results)")
      ->capture_default_str();
  command.add_option("--trace", options.trace, "write the timeline as Chrome trace JSON (opens in Perfetto)");
  command.add_option("--trace-ranks", options.trace_ranks,
                     "ranks in the trace (default: all up to 64 ranks, else one per program)");
}

void check_outputs(const CommonOptions& options, const std::vector<std::string>& inputs) {
  config::Diagnostics diagnostics;
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const auto& [flag, path] : {std::pair("--output", options.output), std::pair("--trace", options.trace),
                                   std::pair("--plot", options.plot)}) {
    if (!path.empty()) {
      outputs.emplace_back(flag, path);
    }
  }
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(outputs[j].second, outputs[i].second)) {
        diagnostics.add(fmt::format("{} {} and {} {} are the same file", outputs[j].first, outputs[j].second,
                                    outputs[i].first, outputs[i].second),
                        "give each a file of its own");
      }
    }
  }
  for (const auto& [flag, path] : outputs) {
    for (const std::string& input : inputs) {
      if (same_file(path, input)) {
        diagnostics.add(fmt::format("{} {} would replace a file that is read", flag, path),
                        "choose another file");
        break;
      }
    }
  }
  diagnostics.throw_if_any();
  for (const auto& [flag, path] : outputs) {
    try {
      report::require_writable(path);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} {}", flag, error.what()));
    }
  }
}

void deliver(const std::string& text, const CommonOptions& options) {
  if (!options.output.empty()) {
    report::write_file(options.output, text);
    return;
  }
  if (options.quiet) {
    return;
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw OutputError(fmt::format("standard output: cannot write: {}; free some space, or use --output FILE",
                                  std::generic_category().message(errno)));
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

StepReport::StepReport(const CommonOptions& options)
    : options_(options),
      writer_(report::find_result_writer(options.format)),
      begin_(std::chrono::steady_clock::now()) {
  network::require_available(options.fidelity);
  set_thread_count(options.threads);
  static_cast<void>(steps_wanted(options));
  if (options.trace_ranks.empty()) {
    return;
  }
  if (options.trace.empty()) {
    throw InputError("--trace-ranks without --trace; add --trace FILE, or leave it out");
  }
  config::Diagnostics diagnostics;
  trace_ranks_ = placement::parse_rank_list(options.trace_ranks, "--trace-ranks", diagnostics);
  diagnostics.throw_if_any();
}

replay::PredictOptions StepReport::predict_options() const {
  replay::PredictOptions options;
  options.fidelity = options_.fidelity;
  options.routing = options_.routing;
  options.seed = options_.seed;
  options.fold = fold_wanted(options_) ? replay::Fold::kAuto : replay::Fold::kOff;
  options.steady_state = steady_state_wanted(options_);
  options.memory_limit = free_memory();
  options.form = steps_wanted(options_) ? collective::Form::kSteps : collective::Form::kCoupled;
  options.record_timeline = !options_.trace.empty();
  options.trace_ranks = trace_ranks_;
  return options;
}

void StepReport::deliver(const replay::Run& run,
                         const std::vector<std::pair<std::string, double>>& phases) const {
  if (!options_.trace.empty()) {
    report::write_chrome_trace(run, options_.trace);
  }
  app::deliver(writer_.write(run.result), options_);
  if (options_.profile) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    const std::string text = report::profile_text(run.result, phases, elapsed.count());
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace stepcast::app
