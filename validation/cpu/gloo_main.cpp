// Measures collectives of Gloo between ranks that are processes, each in a network namespace of its own, and
// writes measured rows. scripts/testbed builds the namespaces and calls it.
//   stepcast_gloo --plan FILE --hosts N [--namespaces PREFIX] [--interface NAME] [--warmup N] [--iterations
//   N]
//                 [--timeout SECONDS] [--network TEXT] --output FILE
// Exit codes: 0 done, 1 a rank failed or hung (what was measured is written, marked "incomplete"), 2 wrong
// input, 74 the output cannot be written, 130 interrupted (written and marked too).
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "plan.hpp"
#include "ranks.hpp"
#include "rows.hpp"

namespace {

using testbed::UserError;

int number(const std::string& flag, const std::string& text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < least || value > most) {
    throw UserError(fmt::format("{} {}: give a whole number from {} to {}", flag, text, least, most));
  }
  return static_cast<int>(value);
}

/// Whole or not at all.
void write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::trunc);
  out << text;
  out.close();
  std::error_code failed;
  if (out) {
    std::filesystem::rename(temporary, path, failed);
  }
  if (!out || failed) {
    std::filesystem::remove(temporary, failed);
    throw std::runtime_error(path + ": cannot write; free some space, or choose another file");
  }
}

int run(int argc, char** argv) {
  testbed::Settings settings;
  settings.interface = "lo";
  std::string plan;
  std::string output;
  std::string network = "loopback, no rate limits";
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 >= argc) {
      throw UserError(flag + ": no value");
    }
    const std::string text = argv[i + 1];
    if (flag == "--plan") {
      plan = text;
    } else if (flag == "--output") {
      output = text;
    } else if (flag == "--hosts") {
      settings.hosts = number(flag, text, 2, 256);
    } else if (flag == "--namespaces") {
      settings.namespaces = text;
    } else if (flag == "--interface") {
      settings.interface = text;
    } else if (flag == "--warmup") {
      settings.warmup = number(flag, text, 0, 1000);
    } else if (flag == "--iterations") {
      settings.iterations = number(flag, text, 1, 1000);
    } else if (flag == "--timeout") {
      settings.timeout = std::chrono::seconds(number(flag, text, 1, 3600));
    } else if (flag == "--network") {
      network = text;
    } else {
      throw UserError(flag + ": unknown flag; see validation/cpu/README.md");
    }
  }
  if (plan.empty() || output.empty() || settings.hosts == 0) {
    throw UserError("give --plan FILE --hosts N --output FILE");
  }
  const std::vector<testbed::Run> runs = testbed::read_plan(plan, settings.hosts);
  constexpr std::size_t kProcess = std::size_t{24} << 20;  // of a rank besides its buffers, measured: 15 MiB
  const std::size_t need = testbed::memory_of(runs) + kProcess * static_cast<std::size_t>(settings.hosts);
  if (const std::size_t have = testbed::available_memory(); need > have) {
    throw UserError(
        fmt::format("{} ranks need {} MiB of memory, {} MiB are free; use fewer hosts or smaller sizes",
                    settings.hosts, need >> 20, have >> 20));
  }
  write_whole(output, "{}\n");  // an hour should not end with "cannot write"
  const testbed::Load before = testbed::read_load();
  const testbed::Outcome outcome = testbed::measure(runs, settings);
  write_whole(output, testbed::rows_json(runs, outcome, settings, network, before, testbed::read_load()));
  if (!outcome.failure.empty()) {
    fmt::print(stderr, "stepcast_gloo: {}; what was measured before is in {}\n", outcome.failure, output);
    return outcome.interrupted ? 130 : 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UserError& error) {
    fmt::print(stderr, "stepcast_gloo: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "stepcast_gloo: {}\n", error.what());
    return 74;
  }
}
