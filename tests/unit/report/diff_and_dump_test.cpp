#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "collective/collective.hpp"
#include "program/native_format.hpp"
#include "replay/step_input.hpp"
#include "report/result_diff.hpp"
#include "report/schedule_json.hpp"
#include "report/writer.hpp"
#include "support/catch.hpp"
#include "support/replay_text.hpp"
#include "workload/generate.hpp"

using namespace stepcast;

namespace {

std::string diff(const std::string& before, const std::string& after) {
  config::Diagnostics diagnostics;
  const config::Document a = config::Document::parse(before, "a.json", diagnostics);
  const config::Document b = config::Document::parse(after, "b.json", diagnostics);
  return report::result_diff(a, b, diagnostics);
}

std::string result_of(const std::string& duration) {
  return report::find_result_writer("json").write(
      test::replay_text(
          R"({"format": "stepcast-program", "version": 1, "ranks": 1, "programs": [{"name": "r", "ranks": "0",
        "operations": [{"id": "k", "op": "compute", "duration": ")" +
              duration + R"("}]}]})",
          test::clean_cluster())
          .result);
}

}  // namespace

TEST_CASE("a diff names what changed, by how much, and nothing else") {
  const std::string text = diff(result_of("10 us"), result_of("15 us"));
  CHECK(text.find("step time  10.00 us -> 15.00 us  (+5.000 us, +50.0 %)") != std::string::npos);
  CHECK(text.find("compute") != std::string::npos);
  CHECK(text.find("bubble") == std::string::npos);
  CHECK(diff(result_of("10 us"), result_of("10 us")).find("the timelines are the same") != std::string::npos);
}

TEST_CASE("a diff of something else is refused") {
  CHECK_THROWS_WITH(
      diff(R"({"rows": []})", result_of("1 us")),
      "a.json:1:1: /: not a result of stepcast; give files written by predict or replay with --format json");
}

TEST_CASE("a job's programs, written and read again, predict the same step") {
  const replay::StepInput input =
      replay::load_step_input("dgx-a100-64", "megatron-175b", {"/global_batch=16"}, "64");
  const replay::Run direct = replay::predict(input.cluster, input.job, input.ranks, {});
  const std::string text =
      program::write_programs(workload::generate(input.job, input.cluster.host.accelerator));
  const replay::Run again = test::replay_text(text, input.cluster);
  CHECK(again.result.timeline.end == direct.result.timeline.end);
  CHECK(again.result.timeline.operations == direct.result.timeline.operations);
}

TEST_CASE("a dumped schedule is JSON with a lane per rank and channel") {
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    CAPTURE(algorithm.name);
    const auto json =
        nlohmann::json::parse(report::schedule_json(algorithm.schedule(collective::Places::even(4), 2, 0)));
    CHECK(json["members"] == 4);
    CHECK(json["lanes"].size() >= 4);
  }
}
