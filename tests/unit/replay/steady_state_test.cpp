#include "base/error.hpp"
#include "placement/placement.hpp"
#include "replay/executor.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"
#include "support/folding.hpp"

// Repetitions of a steady state are counted instead of simulated: the same result to the bit.

using namespace stepcast;

namespace {

struct Runs {
  replay::Timeline counted;
  replay::Timeline simulated;
};

Runs run(const std::string& text, const std::string& faults = "[]") {
  const program::Programs programs = test::read_program(text);
  const topology::Cluster cluster = test::clean_cluster(faults);
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  const Placement placement = placement::packed(cluster.topology, programs.ranks);
  replay::ExecutorOptions options;
  options.record_resources = true;
  Runs runs;
  runs.counted = replay::execute(programs, placement, router, *compute, options);
  options.steady_state = false;
  runs.simulated = replay::execute(programs, placement, router, *compute, options);
  CHECK(runs.simulated.skipped_iterations == 0);
  CHECK(test::difference(runs.counted, runs.simulated) == "");
  return runs;
}

/// Ranks 0 and 1, each with a loop of its own that takes `first` and `second`, besides a shared start.
std::string two_loops(const std::string& first,
                      const std::string& second,
                      int first_count,
                      int second_count) {
  return fmt::format(R"({{"format": "stepcast-program", "version": 1, "ranks": 2, "programs": [
    {{"name": "a", "ranks": "0", "operations": [
      {{"id": "loop", "op": "repeat", "count": {}, "body": [{{"id": "k", "op": "compute", "duration": "{}"}}]}}]}},
    {{"name": "b", "ranks": "1", "operations": [
      {{"id": "loop", "op": "repeat", "count": {}, "body": [{{"id": "k", "op": "compute", "duration": "{}"}}]}}]}}]}})",
                     first_count, first, second_count, second);
}

const char* const kReduceLoop = R"({"format": "stepcast-program", "version": 1, "ranks": 8,
    "groups": {"all": "0-7"}, "programs": [{"name": "rank", "ranks": "0-7", "slots": {"g": {"group": "all"}},
      "operations": [
        {"id": "before", "op": "compute", "duration": "5 us"},
        {"id": "loop", "op": "repeat", "count": 1000, "body": [
          {"id": "work", "op": "compute", "duration": "10 us"},
          {"id": "reduce", "op": "collective", "collective": "all_reduce", "group": "g", "bytes": "1 MiB",
           "dtype": "bf16", "after": ["work"]},
          {"id": "next", "op": "delay", "duration": "0 s", "stream": "compute", "after": ["reduce"]}]},
        {"id": "after", "op": "compute", "duration": "7 us", "after": ["next"]}]}]})";

}  // namespace

TEST_CASE("a loop of compute and a collective repeats its first period") {
  const Runs runs = run(kReduceLoop);
  // 5 us + 1000 x (10 us + 1 us launch + 14 hops of 2 us + 18.35008 us of bytes) + 7 us.
  CHECK(runs.counted.end.ps() == 5'000'000 + 1000 * (10'000'000 + 47'350'080LL) + 7'000'000);
  CHECK(runs.counted.skipped_iterations > 900);
  CHECK(runs.counted.skipped_period == 1);
  CHECK(runs.counted.executed < runs.simulated.executed / 10);
}

TEST_CASE("two loops that do not meet repeat when their lengths do") {
  // 2 us and 3 us: the state is the same again after 3 iterations of the one and 2 of the other.
  const Runs runs = run(two_loops("2 us", "3 us", 3000, 2000));
  CHECK(runs.counted.end.ps() == 6'000'000'000);
  CHECK(runs.counted.skipped_period == 3);
  CHECK(runs.counted.skipped_iterations > 2900);
}

TEST_CASE("a period longer than 64 iterations is simulated") {
  // 71 us and 67 us have no common multiple below 67 iterations.
  const Runs runs = run(two_loops("71 us", "67 us", 300, 310));
  CHECK(runs.counted.skipped_iterations == 0);
  CHECK(runs.counted.loop_iterations == 310);
}

TEST_CASE("the shorter of two loops ends when it should") {
  const Runs runs = run(two_loops("1 us", "1 us", 1000, 500));
  CHECK(runs.counted.end.ps() == 1'000'000'000);
}

TEST_CASE("repetitions stop before a fault and go on after it") {
  // GPU 0 runs at half speed from 20 ms to 30 ms: 10 ms of its time do 5 ms of work.
  const Runs runs = run(two_loops("2 us", "2 us", 20000, 20000),
                        R"([{"gpu": 0, "factor": 0.5, "at": "20 ms", "until": "30 ms"}])");
  CHECK(runs.counted.end.ps() == 45'000'000'000);
  CHECK(runs.counted.skipped_iterations > 15000);
}

TEST_CASE("a link that degrades within the loop is seen") {
  const Runs runs =
      run(kReduceLoop, R"([{"link": "h0.gpu0-h0.nvs0", "factor": 0.5, "at": "20 ms", "until": "30 ms"}])");
  CHECK(runs.counted.end.ps() > 5'000'000 + 1000 * (10'000'000 + 47'350'080LL) + 7'000'000);
}

TEST_CASE("an inner loop is a part of the state") {
  const Runs runs = run(R"({"format": "stepcast-program", "version": 1, "ranks": 1, "programs": [
    {"name": "a", "ranks": "0", "operations": [
      {"id": "outer", "op": "repeat", "count": 500, "body": [
        {"id": "inner", "op": "repeat", "count": 4, "body": [{"id": "k", "op": "compute", "duration": "1 us"}]},
        {"id": "m", "op": "compute", "duration": "3 us"}]}]}]})");
  CHECK(runs.counted.end.ps() == 500 * 7'000'000LL);
  CHECK(runs.counted.skipped_iterations > 450);
}

TEST_CASE("a run that would not fit into memory is refused with the number, before it begins") {
  const program::Programs programs = test::read_program(kReduceLoop);
  const topology::Cluster cluster = test::clean_cluster();
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  replay::ExecutorOptions options;
  options.memory_limit = 100;  // less than the state of one stream
  CHECK_THROWS_WITH(
      replay::execute(programs, placement::packed(cluster.topology, 8), router, *compute, options),
      Catch::Matchers::Contains("GiB of memory") && Catch::Matchers::Contains("--fold auto"));
}
