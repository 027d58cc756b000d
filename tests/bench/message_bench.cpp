// Message by message through the executor, every rank run: RING(N), A2A(N) and, for comparison, the same ring
// as one collective, on a leaf-spine fabric (tests/support/message_scenarios.hpp defines them and derives
// their times). Each scenario runs in a process of its own, so that seconds and peak memory are its own.
//
//   message_bench                           those that take seconds
//   message_bench --benchmark_filter=REGEX  those whose name matches, long ones too
//
// Not a Google Benchmark: one run each, CPU time by getrusage. Exits with 1 when a time differs from its
// closed form by more than 1 ns.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/message_scenarios.hpp"

namespace {

using namespace stepcast;

struct Scenario {
  std::string name;
  bool takes_long = false;
  std::uint32_t ranks = 0;
  program::Programs (*programs)(std::uint32_t ranks) = nullptr;
  std::int64_t (*expected_ps)(std::uint32_t ranks) = nullptr;  ///< nullptr: no closed form here
  bool messages = true;                                        ///< one flow per two operations
};

std::vector<Scenario> scenarios() {
  const auto ring = [](std::uint32_t n) { return test::ring_messages(n); };
  const auto all_to_all = [](std::uint32_t n) { return test::all_to_all_messages(n); };
  const auto coupled = [](std::uint32_t n) { return test::ring_collective(n); };
  const auto ring_end = [](std::uint32_t n) { return test::ring_ps(n); };
  const auto all_to_all_end = [](std::uint32_t n) { return test::all_to_all_ps(n); };
  std::vector<Scenario> all;
  for (const std::uint32_t n : {64U, 256U, 1024U, 4096U}) {
    all.push_back({fmt::format("RING({})", n), n > 1024, n, ring, ring_end, true});
  }
  for (const std::uint32_t n : {64U, 256U, 1024U}) {
    all.push_back({fmt::format("A2A({})", n), n > 256, n, all_to_all, all_to_all_end, true});
  }
  for (const std::uint32_t n : {64U, 1024U, 4096U}) {
    all.push_back({fmt::format("COUPLED({})", n), false, n, coupled, nullptr, false});
  }
  return all;
}

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

/// Runs a scenario in this process and prints its row.
int run(const Scenario& scenario) {
  const test::LeafSpineRun fabric(scenario.ranks);
  const program::Programs programs = scenario.programs(scenario.ranks);
  const double before = user_seconds();
  const replay::Timeline timeline = fabric.every_rank(programs);
  const double seconds = user_seconds() - before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::uint64_t flows = scenario.messages ? timeline.operations / 2 : 1;
  std::printf("%-14s %18lld %10.3f %10.3f %12llu %12.0f %10.1f\n", scenario.name.c_str(),
              static_cast<long long>(timeline.end.ps()), seconds, user_seconds(),
              static_cast<unsigned long long>(flows), static_cast<double>(flows) / seconds,
              static_cast<double>(usage.ru_maxrss) / 1024);
  constexpr std::int64_t kNanosecond = 1000;
  if (scenario.expected_ps != nullptr &&
      std::abs(timeline.end.ps() - scenario.expected_ps(scenario.ranks)) > kNanosecond) {
    std::printf("%s: expected %lld ps\n", scenario.name.c_str(),
                static_cast<long long>(scenario.expected_ps(scenario.ranks)));
    return 1;
  }
  return 0;
}

int run_in_child(const Scenario& scenario) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int result = run(scenario);
    std::fflush(stdout);
    _exit(result);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kFilter = "--benchmark_filter=";
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, kFilter.size()) == kFilter) {
      filter = argument.substr(kFilter.size());
    }
  }
  const std::regex wanted(filter);
  bool headed = false;
  int result = 0;
  for (const Scenario& scenario : scenarios()) {
    if (filter.empty() ? scenario.takes_long : !std::regex_search(scenario.name, wanted)) {
      continue;
    }
    if (!headed) {
      std::printf("%-14s %18s %10s %10s %12s %12s %10s\n", "scenario", "simulated ps", "run s", "process s",
                  "flows", "flows/s", "peak MiB");
      headed = true;
    }
    result = run_in_child(scenario) == 0 ? result : 1;
  }
  return result;
}
