#include <cstdio>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"

namespace {

int complain(const char* text, int code) {
  std::fprintf(stderr, "%s\n", text);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app{"Stepcast forecasts one training step of a large model on a cluster that need not exist."};
  app.name("stepcast");
  app.set_version_flag("--version", std::string("stepcast ") + STEPCAST_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Names of shipped clusters and jobs work without a path (stepcast list clusters, stepcast list jobs).\n"
      "Exit codes: 0 done, 1 out of tolerance (validate), 2 wrong input, 3 not covered by the chosen model, "
      "70 our defect.");
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
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
  } catch (const stepcast::InternalError& error) {
    return complain(
        fmt::format("this is a defect of stepcast, please report it with your input files: {}", error.what())
            .c_str(),
        stepcast::kExitInternal);
  } catch (const std::bad_alloc&) {
    return complain(
        "out of memory: the job is too large for this machine; use fewer ranks (--ranks) or a smaller "
        "cluster",
        stepcast::kExitInput);
  } catch (const std::exception& error) {
    return complain(
        fmt::format("this is a defect of stepcast, please report it with your input files: {}", error.what())
            .c_str(),
        stepcast::kExitInternal);
  }
}
