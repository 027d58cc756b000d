#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <rapidcheck.h>

#include "compute/model.hpp"
#include "hardware/catalog.hpp"
#include "placement/placement.hpp"
#include "replay/executor.hpp"
#include "routing/router.hpp"
#include "support/catch.hpp"
#include "support/folding.hpp"
#include "topology/cluster.hpp"
#include "workload/generate.hpp"
#include "workload/job.hpp"

// Folded = unfolded (design 2.2): start and end in ps of every operation, bytes of every resource, every
// number of the report and its fingerprint, whatever the plan, fabric, placement, routing and faults.

using namespace stepcast;

namespace {

/// What a case is made of, in words that fit the input files.
struct Drawn {
  std::string cluster;
  std::string job;
  std::string routing = "balanced";
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> gpus;  ///< empty = packed
};

std::string cluster_text(std::uint32_t hosts, const std::string& fabric, const std::string& faults) {
  return fmt::format(R"({{"name": "drawn", "hosts": {}, "host": "dgx-a100-80g", "fabric": {},
    "storage": {{"name": "store", "read": "40 GB/s", "write": "20 GB/s",
      "attach": {{"links": 2, "bandwidth": "200 Gb/s"}}}}, "faults": {}}})",
                     hosts, fabric, faults);
}

std::string job_text(std::uint32_t tp,
                     std::uint32_t pp,
                     std::uint32_t dp,
                     std::uint32_t micro_batches,
                     const std::string& more) {
  return fmt::format(
      R"({{"name": "drawn", "model": {{"layers": {}, "hidden": 1024, "heads": 16, "vocab": 4000}}, "sequence": 512,
          "parallel": {{"tp": {}, "pp": {}, "sequence_parallel": {}}}, "micro_batch": 1, "global_batch": {}{}}})",
      pp * 2, tp, pp, tp > 1 ? "true" : "false", micro_batches * dp, more);
}

struct Runs {
  replay::Timeline folded;
  replay::Timeline all;
};

/// Everything that a drawn case needs to run.
class Prepared {
 public:
  explicit Prepared(const Drawn& drawn)
      : cluster_file_(config::Document::parse(drawn.cluster, "cluster.json", diagnostics_)),
        job_file_(config::Document::parse(drawn.job, "job.json", diagnostics_)),
        cluster_(topology::read_cluster(cluster_file_, hardware::Catalog::shipped(), diagnostics_)),
        router_(cluster_, drawn.routing, 7),
        compute_(compute::make_model("roofline")),
        placement_(drawn.gpus.empty() ? placement::packed(cluster_.topology, drawn.ranks)
                                      : placement::explicit_list(cluster_.topology, drawn.gpus)) {
    workload::Job job = workload::read_job(job_file_, diagnostics_);
    workload::resolve(job, drawn.ranks, job_file_, diagnostics_);
    programs_ = workload::generate(job, cluster_.host.accelerator);
  }
  [[nodiscard]] replay::Timeline run(const replay::ExecutorOptions& options) const {
    return replay::execute(programs_, placement_, router_, *compute_, options);
  }

 private:
  config::Diagnostics diagnostics_;
  config::Document cluster_file_;
  config::Document job_file_;
  topology::Cluster cluster_;
  routing::Router router_;
  std::unique_ptr<compute::Model> compute_;
  Placement placement_;
  program::Programs programs_;
};

Runs run(const Drawn& drawn) {
  const Prepared prepared(drawn);
  replay::ExecutorOptions options;
  options.record_timeline = true;
  options.record_resources = true;
  Runs runs;
  runs.folded = prepared.run(options);
  options.fold = replay::Fold::kOff;
  runs.all = prepared.run(options);
  return runs;
}

std::uint32_t power_of_two(int lowest, int highest) {
  return 1U << static_cast<unsigned>(*rc::gen::inRange(lowest, highest + 1));
}

std::string draw_fault(std::uint32_t gpus) {
  const auto gpu = *rc::gen::inRange<std::uint32_t>(0, gpus);
  const std::string when =
      *rc::gen::element<std::string>("", R"(, "at": "0.5 ms")", R"(, "at": "0.2 ms", "until": "1.5 ms")");
  return *rc::gen::element(fmt::format(R"({{"gpu": {}, "factor": 0.7{}}})", gpu, when),
                           fmt::format(R"({{"link": "leaf0-spine0", "factor": 0.5{}}})", when));
}

Drawn draw() {
  Drawn drawn;
  const std::uint32_t tp = power_of_two(0, 3);
  const std::uint32_t pp = power_of_two(0, 3);
  const std::uint32_t dp = power_of_two(pp == 1 && tp == 1 ? 3 : 1, 5);
  drawn.ranks = std::min(tp * pp * dp, 512U);
  const std::uint32_t replicas = drawn.ranks / (tp * pp);
  const std::uint32_t hosts = std::max((drawn.ranks + 7) / 8, 2U);
  const std::uint32_t per_leaf = *rc::gen::element(1U, 2U, 3U, 4U);
  // Both fabrics need a leaf and a spine to degrade, so more than one leaf.
  const std::uint32_t per_unit = std::max(1U, hosts / 2);
  const std::string fabric = *rc::gen::element(
      fmt::format(R"({{"kind": "fat_tree", "hosts_per_leaf": {}, "spines": 2}})",
                  std::min(per_leaf, std::max(1U, hosts - 1))),
      fmt::format(R"({{"kind": "rail_optimized", "hosts_per_unit": {}, "spines": 4}})", per_unit));
  const auto number_of_faults = *rc::gen::element(0, 0, 1, 2);
  std::string faults;
  for (int i = 0; i < number_of_faults; ++i) {
    faults += (i > 0 ? ", " : "") + draw_fault(drawn.ranks);
  }
  drawn.cluster = cluster_text(hosts, fabric, "[" + faults + "]");
  const std::string more = *rc::gen::element<std::string>(
      "", R"(, "recompute": "full")", R"(, "checkpoint": true)",
      R"(, "overlap": {"grad_reduce": false, "param_gather": false, "p2p": false})");
  drawn.job = job_text(tp, pp, replicas, pp * *rc::gen::inRange<std::uint32_t>(1, 4), more);
  drawn.routing = *rc::gen::element<std::string>("balanced", "balanced", "balanced", "ecmp", "dmodk");
  if (*rc::gen::inRange(0, 4) == 0) {  // hosts in another order, or ranks dealt to hosts one by one
    drawn.gpus.resize(drawn.ranks);
    std::iota(drawn.gpus.begin(), drawn.gpus.end(), 0U);
    const auto shift = *rc::gen::inRange<std::uint32_t>(0, drawn.ranks);
    std::rotate(drawn.gpus.begin(), drawn.gpus.begin() + shift, drawn.gpus.end());
  }
  return drawn;
}

void check_case(const Drawn& drawn, std::uint32_t least_fold) {
  const Runs runs = run(drawn);
  CHECK(test::difference(runs.folded, runs.all) == "");
  CHECK(runs.folded.audit == "passed");
  CHECK(runs.folded.ranks >= least_fold * runs.folded.classes);
}

const char* const kFatTree = R"({"kind": "fat_tree", "hosts_per_leaf": 2, "spines": 2})";

}  // namespace

TEST_CASE("a job with a slow device is the same folded") {
  check_case({cluster_text(16, kFatTree, R"([{"gpu": 5, "factor": 0.8}])"),
              job_text(8, 2, 8, 4, ""),
              "balanced",
              128,
              {}},
             4);
}

TEST_CASE("a job with a degraded link is the same folded") {
  check_case({cluster_text(16, kFatTree, R"([{"link": "leaf0-spine0", "factor": 0.3}])"),
              job_text(8, 2, 8, 4, ""),
              "balanced",
              128,
              {}},
             4);
}

TEST_CASE("a job whose link degrades in the middle of the step is the same folded") {
  check_case({cluster_text(16, kFatTree,
                           R"([{"link": "leaf0-spine0", "factor": 0.3, "at": "3 ms", "until": "9 ms"}])"),
              job_text(8, 2, 8, 4, ""),
              "balanced",
              128,
              {}},
             4);
}

TEST_CASE("pairs of which half stay on a leaf and half cross two are the same folded") {
  // Leaves of two hosts: 0 1, 2 3, 4 5, 6 7. Pipeline pairs 0-1 and 2-3 stay on their leaf, 4-6 and 5-7
  // cross two; every leaf holds as many ends.
  std::vector<std::uint32_t> gpus;
  for (const std::uint32_t host : {0U, 2U, 4U, 5U, 1U, 3U, 6U, 7U}) {
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      gpus.push_back(8 * host + gpu);
    }
  }
  check_case({cluster_text(8, kFatTree, "[]"), job_text(8, 2, 4, 4, ""), "balanced", 64, gpus}, 4);
}

TEST_CASE("groups that straddle leaves of three hosts unevenly are the same folded") {
  check_case({cluster_text(16, R"({"kind": "fat_tree", "hosts_per_leaf": 3, "spines": 2})", "[]"),
              job_text(8, 4, 4, 4, ""),
              "balanced",
              128,
              {}},
             4);
}

TEST_CASE("a storage system shared by all ranks of a class is the same folded") {
  check_case({cluster_text(16, kFatTree, "[]"),
              job_text(8, 2, 8, 4, R"(, "checkpoint": true)"),
              "balanced",
              128,
              {}},
             16);
}

TEST_CASE("hashed ECMP is the same folded") {
  check_case({cluster_text(16, kFatTree, "[]"), job_text(8, 2, 8, 4, ""), "ecmp", 128, {}}, 1);
}

TEST_CASE("five hundred and twelve ranks fold to their pipeline stages") {
  check_case({cluster_text(64, R"({"kind": "rail_optimized", "hosts_per_unit": 8, "spines": 4})", "[]"),
              job_text(8, 4, 16, 4, ""),
              "balanced",
              512,
              {}},
             128);
}

TEST_CASE("any job is the same with steady states counted and simulated") {
  int counting = 0;
  CHECK(rc::check("counted = simulated", [&]() {
    Drawn drawn = draw();
    drawn.ranks = std::min(drawn.ranks, 64U);  // the first 64 GPUs; dp follows
    drawn.gpus.clear();
    const auto rounds = *rc::gen::inRange<std::uint32_t>(12, 60);
    const std::size_t at = drawn.job.find("\"global_batch\": ");
    const std::size_t digits = at + std::string("\"global_batch\": ").size();
    drawn.job.replace(digits, drawn.job.find_first_not_of("0123456789", digits) - digits,
                      std::to_string(rounds * 64));
    RC_LOG() << drawn.cluster << "\n"
             << drawn.job << "\n"
             << drawn.routing << " ranks " << drawn.ranks << "\n";
    const Prepared prepared(drawn);
    replay::ExecutorOptions options;
    options.record_resources = true;
    const replay::Timeline counted = prepared.run(options);
    options.steady_state = false;
    const replay::Timeline simulated = prepared.run(options);
    RC_ASSERT(test::difference(counted, simulated) == "");
    counting += counted.skipped_iterations > 0 ? 1 : 0;
  }));
  CHECK(counting >= 10);
}

TEST_CASE("any job is the same folded and unfolded") {
  int cases = 0;
  int folding = 0;
  CHECK(rc::check("folded = unfolded", [&]() {
    const Drawn drawn = draw();
    RC_LOG() << drawn.cluster << "\n"
             << drawn.job << "\n"
             << drawn.routing << " ranks " << drawn.ranks << "\n";
    const Runs runs = run(drawn);
    RC_ASSERT(test::difference(runs.folded, runs.all) == "");
    RC_ASSERT(runs.folded.audit == "passed");
    ++cases;
    folding += runs.folded.ranks >= 4 * runs.folded.classes ? 1 : 0;
  }));
  CHECK(cases >= 20);
  CHECK(folding >= 15);
}
