#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replay/predict.hpp"
#include "report/writer.hpp"

// Internal to app/: what the commands share.
namespace stepcast::app {

/// Options that every command which predicts takes.
struct CommonOptions {
  std::vector<std::string> settings;  ///< --set
  std::vector<std::string> nccl;      ///< --nccl
  std::string ranks;
  std::string fidelity = "flow";
  std::string routing = "balanced";
  std::string lowering = "coupled";
  std::string fold = "auto";
  std::string steady_state = "auto";
  std::uint64_t seed = 0;
  std::uint64_t threads = 0;  ///< 0 = all cores
  std::string trace;
  std::string trace_ranks;
  std::string plot;
  std::string format = "text";
  std::string output;
  bool quiet = false;
  bool profile = false;
};

/// Adds a flag that takes a whole number in [lower, upper], stored in `value`; other text is an InputError
/// that names the range. The value before the call is shown as the default unless it is outside the range.
void add_whole(CLI::App& command,
               const std::string& flag,
               std::uint64_t& value,
               std::uint64_t lower,
               std::uint64_t upper,
               const std::string& description);

/// Adds --format --output --quiet to a command; `formats` is shown in the help.
void add_output_options(CLI::App& command, CommonOptions& options, const std::string& formats);
/// Adds --threads to a command.
void add_threads(CLI::App& command, CommonOptions& options);
/// Adds --set --nccl --ranks --fidelity --routing --lowering --fold --seed --threads --profile.
void add_run_options(CLI::App& command, CommonOptions& options);
/// Adds what only whole steps have: --steady-state --trace --trace-ranks.
void add_step_options(CLI::App& command, CommonOptions& options);

/// Refuses, before the run, outputs that cannot be written, that are one and the same file, or that would
/// replace one of the files that are read (InputError).
void check_outputs(const CommonOptions& options, const std::vector<std::string>& inputs);

/// Prints a text to standard output, or writes it to --output (whole or not at all). Throws OutputError when
/// not all of it could be written.
void deliver(const std::string& text, const CommonOptions& options);

/// Name of the form -> coupled or steps; unknown -> InputError.
[[nodiscard]] bool steps_wanted(const CommonOptions& options);

/// --fold: auto folds ranks that behave the same, off runs every rank; unknown -> InputError.
[[nodiscard]] bool fold_wanted(const CommonOptions& options);

/// --steady-state: auto counts repetitions, off simulates them; unknown -> InputError.
[[nodiscard]] bool steady_state_wanted(const CommonOptions& options);

/// What predict and replay do around their run: check the flags before anything is loaded, and deliver the
/// trace, the result and the profile after it.
class StepReport {
 public:
  /// Throws InputError for flags that are wrong in themselves.
  explicit StepReport(const CommonOptions& options);
  /// Options of the run by the flags; GPUs and uncertainty are the command's.
  [[nodiscard]] replay::PredictOptions predict_options() const;
  /// `phases`: our own seconds by part of the work, for --profile.
  void deliver(const replay::Run& run, const std::vector<std::pair<std::string, double>>& phases) const;

 private:
  const CommonOptions& options_;
  const report::ResultWriter& writer_;
  std::vector<std::uint32_t> trace_ranks_;
  std::chrono::steady_clock::time_point begin_;
};

/// Each command adds itself; its exit code is stored in `exit_code` when it ran.
void add_predict(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_collective(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);

}  // namespace stepcast::app
