#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "config/quote.hpp"

namespace {

int complain(const char* text, int code) {
  std::fprintf(stderr, "%s\n", text);
  return code;
}

/// CLI11 only says that a command is missing when one is mistyped.
void require_known_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
      next = command->get_name() == argv[i] ? command : next;
    }
    if (names.empty()) {
      return;
    }
    if (next == nullptr) {
      throw stepcast::InputError(fmt::format("unknown command {}; {}", stepcast::config::in_quotes(argv[i]),
                                             stepcast::suggest(argv[i], names)));
    }
    at = next;
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Stepcast forecasts one training step of a large model on a cluster that need not exist."};
  app.name("stepcast");
  app.set_version_flag("--version", std::string("stepcast ") + STEPCAST_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Names of shipped clusters and jobs work without a path (stepcast list clusters, stepcast list jobs).\n"
      "Exit codes: 0 done, 1 out of tolerance (validate), 2 wrong input, 3 not covered by the chosen model, "
      "70 our defect, 74 the output cannot be written.");
  int exit_code = stepcast::kExitOk;
  stepcast::app::add_predict(app, exit_code);
  stepcast::app::add_replay(app, exit_code);
  stepcast::app::add_collective(app, exit_code);
  stepcast::app::add_validate(app, exit_code);
  stepcast::app::add_dump(app, exit_code);
  stepcast::app::add_diff(app, exit_code);
  stepcast::app::add_list(app, exit_code);
  stepcast::app::add_explain(app, exit_code);
  stepcast::app::add_schema(app, exit_code);
  require_known_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);  // --help, --version
      if (!std::cout.flush()) {
        throw stepcast::OutputError("standard output: cannot write; free some space");
      }
      return stepcast::kExitOk;
    }
    app.exit(error, std::cout, std::cerr);
    return stepcast::kExitInput;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const stepcast::InputError& error) {
    return complain(error.what(), stepcast::kExitInput);
  } catch (const stepcast::UnsupportedError& error) {
    return complain(error.what(), stepcast::kExitUnsupported);
  } catch (const stepcast::OutputError& error) {
    return complain(error.what(), stepcast::kExitOutput);
  } catch (const std::bad_alloc&) {
    return complain(
        "out of memory: the job is too large for this machine; use fewer ranks (--ranks) or a smaller "
        "cluster",
        stepcast::kExitInput);
  } catch (const std::exception& error) {  // InternalError among them
    return complain(
        fmt::format("this is a defect of stepcast, please report it with your input files: {}", error.what())
            .c_str(),
        stepcast::kExitInternal);
  }
}
