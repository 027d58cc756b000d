#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "calibration/suite.hpp"
#include "config/node.hpp"
#include "replay/collective_run.hpp"
#include "replay/step_input.hpp"
#include "support/catch.hpp"

// Clusters of the CPU testbed with payload rates of exactly 100 Mb/s (12.5 MB/s), 1 ms a message, and no own
// work.

using namespace stepcast;

namespace {

const std::vector<std::string> kClean{"/host/nic_effective=100 Mb/s", "/host/collective/net_hop_simple=1 ms",
                                      "/host/collective/local_rate=0 B/s"};

double seconds(const std::string& name,
               collective::Kind kind,
               const std::string& algorithm,
               std::int64_t bytes,
               std::vector<std::string> more = {},
               collective::Form form = collective::Form::kCoupled) {
  std::vector<std::string> settings = kClean;
  settings.insert(settings.end(), more.begin(), more.end());
  const topology::Cluster cluster = replay::load_cluster(name, settings);
  const routing::Router router(cluster, "balanced");
  collective::Request request;
  request.kind = kind;
  request.algorithm = algorithm;
  request.protocol = collective::Protocol::kSimple;
  std::vector<GpuId> group;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    group.emplace_back(gpu);
  }
  replay::CollectiveOptions options;
  options.form = form;
  const std::vector<Bytes> sizes{Bytes(bytes)};
  return replay::run_collectives(router, request, sizes, group, options).front().time.seconds();
}

/// A folder that goes away.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("stepcast-rows-{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

std::string row(const std::string& id,
                const std::string& group,
                const std::string& cluster,
                const std::string& ranks,
                std::int64_t bytes,
                double seconds,
                const std::string& also = {}) {
  return fmt::format(
      R"({{"id": "{}", "kind": "collective", "cluster": "{}", "ranks": "{}", "group": "{}", {}
          "set": ["/host/collective/local_rate=0 B/s"],
          "collective": {{"kind": "all_reduce", "algorithm": "ring", "bytes": "{} B"}},
          "measured": {{"metric": "time_s", "value": "{:.9f} s", "samples": ["{:.9f} s", "{:.9f} s"]}}}})",
      id, cluster, ranks, group, also, bytes, seconds, seconds * 0.99, seconds * 1.01);
}

std::string file_of(const std::vector<std::string>& rows) {
  return fmt::format(R"({{"schema_version": 1, "source": {{"title": "t", "reference": "r"}}, "rows": [{}]}})",
                     fmt::join(rows, ","));
}

constexpr const char* kSuite =
    R"({"name": "s", "rows": ["rows.json"], "tolerance": 0.05, "median_tolerance": 0.02,
  "compare": {"fidelity": "analytic", "at_most": {"two": 0.5}},
  "fit": {"group": "one", "row_sigma": 0.01, "constants": [
    {"set": "/host/nic_effective", "unit": "Mb/s", "prior": 95, "sigma": 0.5, "lower": 50, "upper": 100},
    {"set": "/host/collective/net_hop_simple", "unit": "us", "prior": 500, "sigma": 3, "lower": 1, "upper": 100000}]}})";

}  // namespace

TEST_CASE("a binomial broadcast sends to all children at once, depth by depth") {
  // S = 1.25 MB takes 0.1 s alone. The root sends to 1, 2 and 4 at once: 0.3 s; 1 to 3 and 5, 2 to 6: 0.2 s;
  // 3 to 7: 0.1 s; a message of 1 ms in front of each.
  CHECK(seconds("cpu-one-switch", collective::Kind::kBroadcast, "binomial", 1'250'000) == Approx(0.603));
  // Message by message it is the same: nobody at one depth is faster here.
  CHECK(seconds("cpu-one-switch", collective::Kind::kBroadcast, "binomial", 1'250'000, {},
                collective::Form::kSteps) == Approx(0.603));
}

TEST_CASE("own work on received bytes comes on top of transfers, in both forms") {
  // 12.5 MB/s of own work: as long again as the transfer of each byte, 3 x 0.1 s by three depths.
  const std::vector<std::string> slow{"/host/collective/local_rate=12.5 MB/s"};
  CHECK(seconds("cpu-one-switch", collective::Kind::kBroadcast, "binomial", 1'250'000, slow) ==
        Approx(0.903));
  CHECK(seconds("cpu-one-switch", collective::Kind::kBroadcast, "binomial", 1'250'000, slow,
                collective::Form::kSteps) == Approx(0.903));
}

TEST_CASE("the clusters of the testbed have the limits that their files say") {
  // Ring all-reduce of S = 1 MB: 14/8 S over each link at 12.5 MB/s and 14 messages of 1 ms; the up-links
  // carry one hop of the ring each way, the slow link halves everything.
  CHECK(seconds("cpu-one-switch", collective::Kind::kAllReduce, "ring", 1'000'000) == Approx(0.154));
  CHECK(seconds("cpu-two-leaves", collective::Kind::kAllReduce, "ring", 1'000'000) == Approx(0.154));
  CHECK(seconds("cpu-slow-link", collective::Kind::kAllReduce, "ring", 1'000'000) == Approx(0.294));
  // All-to-all of S = 1 MB: 16 pairs of S/8 cross each way over 12.5 MB/s, and one message.
  CHECK(seconds("cpu-two-leaves", collective::Kind::kAllToAll, "direct", 1'000'000) == Approx(0.161));
}

TEST_CASE("constants are fitted on one group, and the others are predicted in two fidelities") {
  // Made with 90 Mb/s (11.25 MB/s) and 2 ms a message. Two rings of four at once share the up-links: 6/4 S at
  // half the rate; analytic takes each alone, at the full rate.
  const auto one = [](double bytes) { return 1.75 * bytes / 11.25e6 + 14 * 2e-3; };
  const auto two = [](double bytes) { return 2 * 1.5 * bytes / 11.25e6 + 6 * 2e-3; };
  const std::string also =
      R"("also": [{"kind": "all_reduce", "algorithm": "ring", "bytes": "2000000 B", "ranks": "2-3,6-7"}],)";
  const Folder folder;
  const std::string suite_path = folder.write("suite.json", kSuite);
  static_cast<void>(folder.write(
      "rows.json", file_of({row("a", "one", "cpu-one-switch", "0-7", 1'000'000, one(1e6)),
                            row("b", "one", "cpu-one-switch", "0-7", 4'000'000, one(4e6)),
                            row("c", "leaves", "cpu-two-leaves", "0-7", 4'000'000, one(4e6)),
                            row("d", "two", "cpu-two-leaves", "0-1,4-5", 2'000'000, two(2e6), also)})));
  const calibration::Suite suite = calibration::read_suite(suite_path, "suite.json");
  const calibration::Validation validation = calibration::validate(suite, 1);
  REQUIRE(validation.fits.size() == 2);
  CHECK(validation.fits[1].values[0] == Approx(90).epsilon(0.002));
  CHECK(validation.fits[1].values[1] == Approx(2000).epsilon(0.02));
  REQUIRE(validation.rows.size() == 4);
  CHECK(std::abs(validation.rows[2].error) < 0.005);
  CHECK(std::abs(validation.rows[3].error) < 0.005);
  CHECK(validation.rows[3].spread == Approx(0.02));
  // (1.5 x 2e6 / 11.25e6 + 12 ms) / (twice the first + 12 ms) - 1 = 0.2787 / 0.5453 - 1
  CHECK(*validation.rows[3].compared / validation.rows[3].measured - 1 == Approx(-0.489).epsilon(0.01));
  CHECK(validation.summary.count == 2);  // what was fitted on does not count
  REQUIRE(validation.compared.size() == 2);
  CHECK(validation.compared[1].group == "two");
  CHECK(validation.compared[1].within);
  CHECK(validation.within_tolerance);
  CHECK(validation.notes.empty());
}

TEST_CASE("a suite of collectives names what is wrong with it") {
  const Folder folder;
  const auto answer = [&](const std::string& suite, const std::string& rows) {
    const std::string path = folder.write("suite.json", suite);
    static_cast<void>(folder.write("rows.json", rows));
    try {
      static_cast<void>(calibration::read_suite(path, "suite.json"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  std::string other = kSuite;
  other.replace(other.find("\"one\""), 5, "\"onne\"");
  CHECK(answer(other, file_of({row("a", "one", "cpu-one-switch", "0-7", 8, 1)}))
            .find("no row of group \"onne\"") != std::string::npos);
  CHECK(answer(kSuite, R"({"schema_version": 1, "source": {"title": "t", "reference": "r"}, "rows": [
    {"id": "a", "kind": "collective", "cluster": "c", "job": "j", "group": "one",
     "collective": {"kind": "all_reduze", "bytes": "1 B"}, "measured": {"metric": "step_time_s", "value": "1 s"}}]})")
            .find("a collective has no job") != std::string::npos);
}
