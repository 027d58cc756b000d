#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// Internal to app/: what the commands share.
namespace stepcast::app {

/// Options that every command which predicts takes.
struct CommonOptions {
  std::vector<std::string> settings;  ///< --set
  std::string ranks;
  std::string fidelity = "flow";
  std::string routing = "balanced";
  std::string lowering = "coupled";
  std::string fold = "auto";
  std::string steady_state = "auto";
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0 = all cores
  std::string format = "text";
  std::string output;
  bool quiet = false;
  bool profile = false;
};

/// Adds --format --output --quiet to a command; `formats` is shown in the help.
void add_output_options(CLI::App& command, CommonOptions& options, const std::string& formats);
/// Adds --set --ranks --fidelity --routing --lowering --fold --steady-state --seed --profile.
void add_run_options(CLI::App& command, CommonOptions& options);

/// Prints a text to standard output, or writes it to --output (whole or not at all).
void deliver(const std::string& text, const CommonOptions& options);

/// Name of the form -> coupled or steps; unknown -> InputError.
[[nodiscard]] bool steps_wanted(const CommonOptions& options);

/// --fold: auto folds ranks that behave the same, off runs every rank; unknown -> InputError.
[[nodiscard]] bool fold_wanted(const CommonOptions& options);

/// --steady-state: auto counts repetitions, off simulates them; unknown -> InputError.
[[nodiscard]] bool steady_state_wanted(const CommonOptions& options);

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
