#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "replay/step_input.hpp"
#include "report/amounts.hpp"
#include "report/chrome_trace.hpp"
#include "report/collective_table.hpp"
#include "report/escape.hpp"
#include "report/row_schema.hpp"
#include "report/validation_writer.hpp"
#include "report/writer.hpp"
#include "support/catch.hpp"
#include "support/replay_text.hpp"

using namespace stepcast;

namespace {

replay::Result small_step() {
  replay::StepInput input = replay::load_step_input("dgx-a100-64", "megatron-22b", {}, "8");
  replay::PredictOptions options;
  options.uncertainty = replay::step_uncertainty(input);
  return replay::predict(input.cluster, input.job, input.ranks, options).result;
}

calibration::Validation two_rows() {
  calibration::Validation validation;
  validation.suite = "two";
  validation.tolerance = 0.1;
  validation.rows = {{"good", "step_time_s", 1.05, 1.0, 0.05, 0.945, 1.155, true, "in_sample", "in_sample"},
                     {"bad <&>", "step_time_s", 1.5, 1.0, 0.5, 1.35, 1.65, false, "in_sample", "in_sample"}};
  validation.summary = calibration::summarise(validation.rows);
  validation.groups.emplace_back("in_sample", validation.summary);
  validation.within_tolerance = false;
  return validation;
}

std::size_t commas(const std::string& line) {
  return static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
}

}  // namespace

TEST_CASE("amounts carry units that a person reads") {
  CHECK(report::format_seconds(13.754) == "13.75 s");
  CHECK(report::format_seconds(0.0001872) == "187.2 us");
  CHECK(report::format_seconds(0) == "0 s");
  CHECK(report::format_bytes(61.25 * 1073741824.0) == "61.2 GiB");
  CHECK(report::format_bytes(512) == "512 B");
  CHECK(report::format_percent(0.514) == "51.4 %");
  CHECK(report::format_count(1234567) == "1,234,567");
  CHECK(report::format_count(999) == "999");
  CHECK(report::format_count(-1000) == "-1,000");
}

TEST_CASE("the JSON result has every documented key and sums that hold") {
  const replay::Result result = small_step();
  const auto json = nlohmann::json::parse(report::find_result_writer("json").write(result));
  const auto schema = nlohmann::json::parse(report::result_schema());
  for (const auto& [key, value] : schema["properties"].items()) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  for (const auto& [key, value] : json.items()) {
    CAPTURE(key);
    CHECK(schema["properties"].contains(key));
  }
  double sum = 0;
  for (const auto& [key, value] : json["breakdown_s"].items()) {
    sum += value.get<double>();
  }
  CHECK(sum == Approx(json["step_time_s"].get<double>()).epsilon(1e-12));
  double path = 0;
  for (const auto& part : json["critical_path"]) {
    path += part["seconds"].get<double>();
  }
  CHECK(path == Approx(json["step_time_s"].get<double>()).epsilon(1e-12));
  CHECK(json["mfu"].get<double>() <= 1);
  CHECK(json["uncertainty"]["upper_s"].get<double>() > json["step_time_s"].get<double>());
  for (const auto& link : json["links"]) {
    CHECK(link["utilisation"].get<double>() <= 1 + 1e-9);
  }
}

TEST_CASE("two runs of one prediction are byte-identical") {
  const auto& writer = report::find_result_writer("json");
  CHECK(writer.write(small_step()) == writer.write(small_step()));
}

TEST_CASE("CSV has as many cells as columns, for jobs and for programs") {
  for (const replay::Result& result : {small_step(), test::replay_example("late_rank").result}) {
    const std::string text = report::find_result_writer("csv").write(result);
    std::istringstream lines(text);
    std::string head;
    std::string row;
    std::getline(lines, head);
    std::getline(lines, row);
    CHECK(commas(head) == commas(row));
  }
}

TEST_CASE("every writer says the fingerprint") {
  const replay::Result result = small_step();
  const std::string fingerprint = fmt::format("{:016x}", result.timeline.fingerprint);
  for (const report::ResultWriter& writer : report::result_writers()) {
    INFO(writer.name);
    CHECK(writer.write(result).find(fingerprint) != std::string::npos);
  }
}

TEST_CASE("every writer writes every kind of result") {
  for (const report::ResultWriter& writer : report::result_writers()) {
    CAPTURE(writer.name);
    CHECK(!writer.write(small_step()).empty());
    CHECK(!writer.write(test::replay_example("repeat").result).empty());
  }
  CHECK_THROWS_WITH(report::find_result_writer("jsn"), "unknown format \"jsn\"; did you mean \"json\"?");
}

TEST_CASE("JUnit counts a row out of tolerance as a failure and escapes its name") {
  const std::string text = report::find_validation_writer("junit").write(std::vector{two_rows()});
  CHECK(text.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(text.find("name=\"bad &lt;&amp;&gt;\"") != std::string::npos);
  CHECK(text.find("predicted 1.5 s, measured 1 s, error +50.0 %, tolerance 10 %") != std::string::npos);
}

TEST_CASE("the validation JSON has the keys of the contract") {
  const auto json =
      nlohmann::json::parse(report::find_validation_writer("json").write(std::vector{two_rows()}));
  for (const char* key :
       {"id", "metric", "predicted", "measured", "error", "lower", "upper", "within_tolerance", "fold"}) {
    CHECK(json["rows"][0].contains(key));
  }
  for (const char* key : {"count", "mean_abs_error", "median_abs_error", "p90_abs_error", "max_abs_error",
                          "signed_mean_error", "coverage"}) {
    CHECK(json["summary"].contains(key));
    CHECK(json["groups"]["in_sample"].contains(key));
  }
  CHECK(json["fitted_constants"] == 0);
  // Several suites are still one document.
  const auto both = nlohmann::json::parse(
      report::find_validation_writer("json").write(std::vector{two_rows(), two_rows()}));
  CHECK(both.is_array());
  CHECK(both.size() == 2);
  const std::string xml = report::find_validation_writer("junit").write(std::vector{two_rows(), two_rows()});
  CHECK(xml.find("<?xml", 1) == std::string::npos);
}

TEST_CASE("the collective table has the columns of nccl-tests") {
  report::CollectiveSweep sweep;
  sweep.ranks = 8;
  sweep.step = "2(factor)";
  sweep.cluster = "c";
  sweep.accelerator = "a";
  // 1 GiB in 5 ms: algbw 214.75 GB/s; all-reduce on 8 ranks: x 2 x 7/8 = 375.81 GB/s.
  sweep.rows.push_back({Bytes(1073741824), 0.005, "ring_all_reduce", "Simple", 24, {}});
  std::istringstream lines(report::collective_table(sweep));
  std::string line;
  while (std::getline(lines, line) && line[0] == '#') {
  }
  std::istringstream cells(line);
  std::vector<std::string> words;
  for (std::string word; cells >> word;) {
    words.push_back(word);
  }
  CHECK(words == std::vector<std::string>{"1073741824", "268435456", "float", "sum", "-1", "5000.0", "214.75",
                                          "375.81", "N/A", "5000.0", "214.75", "375.81", "N/A"});
}

TEST_CASE("the Chrome trace is JSON with an event per operation, waiting apart") {
  replay::PredictOptions options;
  options.record_timeline = true;
  const replay::Run run = test::replay_example("late_rank", options);
  const std::string path = "late_rank_trace_test.json";
  report::write_chrome_trace(run, path);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  std::remove(path.c_str());
  std::size_t waits = 0;
  std::size_t reductions = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X" && event["name"] == "wait") {
      ++waits;
      CHECK(event["dur"].get<double>() == Approx(500.0));  // seven ranks wait for rank 3
    }
    if (event["ph"] == "X" && event["name"] == "gradients") {
      ++reductions;
      CHECK(event["ts"].get<double>() == Approx(510.0));
      CHECK(event["dur"].get<double>() == Approx(47.35008));
    }
  }
  CHECK(waits == 7);
  CHECK(reductions == 8);
}

TEST_CASE("names with the marks of a form stand in it as they are") {
  const std::string name = "a\"b,c|d<e>&f\\g*h`\ni";
  CHECK(report::csv_field(name) == "\"a\"\"b,c|d<e>&f\\g*h`\ni\"");  // RFC 4180: quotes doubled
  CHECK(report::csv_field("plain | text") == "plain | text");
  CHECK(report::markdown_text(name) == "a\"b,c\\|d&lt;e>&amp;f\\\\g\\*h\\` i");
  CHECK(report::xml_text(name) == "a&quot;b,c|d&lt;e&gt;&amp;f\\g*h`&#10;i");

  replay::Result result = small_step();
  result.job = name;
  result.cluster = "x,y";
  const nlohmann::json json = nlohmann::json::parse(report::find_result_writer("json").write(result));
  CHECK(json["job"] == name);
  CHECK(report::find_result_writer("csv").write(result).find("\n\"x,y\",\"a\"\"b,c|d") != std::string::npos);
  const std::string page = report::find_result_writer("markdown").write(result);
  CHECK(page.rfind("### a\"b,c\\|d&lt;e>&amp;f\\\\g\\*h\\` i on x,y (8 GPUs)\n", 0) == 0);

  calibration::Validation validation = two_rows();
  validation.rows[0].id = "p|q";
  const std::vector<calibration::Validation> all{validation};
  CHECK(report::find_validation_writer("markdown").write(all).find("| p\\|q |") != std::string::npos);
  CHECK(nlohmann::json::parse(report::find_validation_writer("json").write(all))["rows"][0]["id"] == "p|q");
}

TEST_CASE("the schema of measured rows is JSON") {
  CHECK(nlohmann::json::parse(report::row_schema()).contains("properties"));
}

TEST_CASE("one rank moves nothing, so it has no bandwidth") {
  report::CollectiveSweep sweep;
  sweep.ranks = 1;
  sweep.rows.push_back({Bytes(1 << 30), 7e-6, "ring_all_reduce", "LL", 1, {}});
  CHECK(report::algbw(sweep.rows.front(), sweep) == 0);
  CHECK(report::busbw(sweep.rows.front(), sweep) == 0);
  sweep.ranks = 2;  // 2^30 bytes in 7 us
  CHECK(report::algbw(sweep.rows.front(), sweep) == Approx(1073741824 / 7e-6 * 1e-9));
}
