#include <cstdlib>
#include <numeric>

#include <rapidcheck.h>

#include "base/error.hpp"
#include "placement/placement.hpp"
#include "replay/analytic.hpp"
#include "replay/collective_run.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"
#include "workload/job.hpp"

using namespace stepcast;

namespace {

struct Drawn {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  std::uint32_t dp = 1;
  std::uint32_t virtual_stages = 1;
  std::uint32_t micro_batches = 1;
  bool checkpoint = false;
  [[nodiscard]] std::uint32_t ranks() const { return tp * pp * dp; }
};

/// A small job of a drawn plan; all other options are drawn here.
workload::Job draw_job(const Drawn& plan) {
  const std::string schedule =
      plan.virtual_stages > 1 ? "interleaved" : *rc::gen::element<std::string>("1f1b", "gpipe");
  const auto layers = plan.pp * plan.virtual_stages * *rc::gen::element(1U, 2U, 3U);
  const bool sequence_parallel = plan.tp > 1 && *rc::gen::arbitrary<bool>();
  const auto recompute = *rc::gen::element<std::string>("none", "selective", "full");
  const auto attention = *rc::gen::element<std::string>("flash", "unfused");
  const bool grad_reduce = *rc::gen::arbitrary<bool>();
  const bool param_gather = *rc::gen::arbitrary<bool>();
  const bool p2p = *rc::gen::arbitrary<bool>();
  const bool tensor = *rc::gen::arbitrary<bool>();
  const bool tied = *rc::gen::arbitrary<bool>();
  const bool optimizer = *rc::gen::arbitrary<bool>();
  const auto bucket = *rc::gen::element<std::string>("1 MiB", "8 MiB", "1 GiB");
  const std::string text = fmt::format(
      R"({{"name": "drawn", "model": {{"layers": {}, "hidden": 512, "heads": 8, "vocab": 1000, "tied_embeddings": {}}},
          "sequence": 256,
          "parallel": {{"tp": {}, "pp": {}, "virtual_stages": {}, "schedule": "{}", "sequence_parallel": {},
                        "distributed_optimizer": {}}},
          "micro_batch": 1, "global_batch": {}, "recompute": "{}", "attention": "{}", "bucket": "{}",
          "checkpoint": {},
          "overlap": {{"grad_reduce": {}, "param_gather": {}, "p2p": {}, "tp": {}}}}})",
      layers, tied, plan.tp, plan.pp, plan.virtual_stages, schedule, sequence_parallel, optimizer,
      plan.micro_batches * plan.dp, recompute, attention, bucket, plan.checkpoint, grad_reduce, param_gather,
      p2p, tensor);
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "drawn.json", diagnostics);
  workload::Job job = workload::read_job(document, diagnostics);
  workload::resolve(job, plan.ranks(), document, diagnostics);
  return job;
}

/// Any plan on the 16 GPUs of the clean cluster.
Drawn draw_plan() {
  Drawn plan;
  plan.tp = *rc::gen::element(1U, 2U, 4U);
  plan.pp = *rc::gen::element(1U, 2U, 4U);
  plan.dp = 16 / (plan.tp * plan.pp) > 1 ? *rc::gen::element(1U, 2U) : 1U;
  plan.virtual_stages = plan.pp > 1 ? *rc::gen::element(1U, 2U) : 1U;
  plan.micro_batches = plan.pp * *rc::gen::inRange<std::uint32_t>(1, 12);
  plan.checkpoint = *rc::gen::arbitrary<bool>();
  return plan;
}

replay::Result predict(const topology::Cluster& cluster,
                       const workload::Job& job,
                       std::uint32_t ranks,
                       const std::string& fidelity,
                       std::vector<std::uint32_t> gpus = {}) {
  replay::PredictOptions options;
  options.fidelity = fidelity;
  options.gpus = std::move(gpus);
  return replay::predict(cluster, job, ranks, options).result;
}

}  // namespace

TEST_CASE("a collective alone on the fabric takes as long in flow as in analytic") {
  const topology::Cluster cluster = test::clean_cluster();
  CHECK(rc::check("flow = analytic", [&]() {
    const routing::Router router(cluster, *rc::gen::element<std::string>("balanced", "ecmp", "dmodk"));
    collective::Request request;
    request.kind = *rc::gen::element(collective::Kind::kAllReduce, collective::Kind::kAllGather,
                                     collective::Kind::kReduceScatter, collective::Kind::kSendRecv);
    // Drawn by magnitude, so that every protocol is met.
    const Bytes bytes(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << *rc::gen::inRange(1, 33)));
    std::vector<GpuId> group;
    for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
      if (*rc::gen::arbitrary<bool>()) {
        group.emplace_back(gpu);
      }
    }
    if (group.empty()) {
      group.emplace_back(0U);
    }
    const std::array<Bytes, 1> sizes{bytes};
    const auto flow = replay::run_collectives(router, request, sizes, group)[0];
    const auto analytic = replay::run_collectives(router, request, sizes, group, {.fidelity = "analytic"})[0];
    RC_ASSERT(std::abs(flow.time.ps() - analytic.time.ps()) <= 1);
    RC_ASSERT(flow.protocol == analytic.protocol);
  }));
}

TEST_CASE("a job whose operations never meet on a link takes as long in flow as in analytic") {
  // Tensor groups stay on NVLink of one host each; what crosses hosts leaves by the GPU's own NIC. Two
  // stages send forward and backward in opposite directions; two replicas only reduce and gather, one
  // after the other. So no two operations ever share a link.
  const topology::Cluster cluster = test::clean_cluster();
  CHECK(rc::check("flow = analytic", [&cluster]() {
    Drawn plan;
    plan.tp = *rc::gen::element(1U, 2U, 4U, 8U);
    const auto other = *rc::gen::element(0, 1, 2);
    plan.pp = other == 1 ? 2 : 1;
    plan.dp = other == 2 ? 2 : 1;
    plan.micro_batches = *rc::gen::inRange<std::uint32_t>(1, 40);
    plan.checkpoint = other == 0 && *rc::gen::arbitrary<bool>();
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
      gpus.push_back(rank % plan.tp + 8 * (rank / plan.tp));
    }
    const workload::Job job = draw_job(plan);
    const replay::Result flow = predict(cluster, job, plan.ranks(), "flow", gpus);
    const replay::Result analytic = predict(cluster, job, plan.ranks(), "analytic", gpus);
    RC_ASSERT(flow.timeline.end == analytic.timeline.end);
    RC_ASSERT(flow.timeline.breakdown == analytic.timeline.breakdown);
    RC_ASSERT(flow.last_rank == analytic.last_rank);
    RC_ASSERT(flow.timeline.operations == analytic.timeline.operations * plan.tp * plan.dp);
    for (std::size_t tier = 0; tier < flow.timeline.tiers.size(); ++tier) {
      const double bytes = flow.timeline.tiers[tier].bytes;
      RC_ASSERT(std::abs(bytes - analytic.timeline.tiers[tier].bytes) <= 1e-9 * bytes);
    }
  }));
}

TEST_CASE("contention only adds: analytic is never above flow where groups are alike") {
  const topology::Cluster cluster = test::clean_cluster();
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  CHECK(rc::check("analytic <= flow", [&]() {
    const Drawn plan = draw_plan();
    const workload::Job job = draw_job(plan);
    replay::AnalyticModel model(router, *compute, placement::packed(cluster.topology, plan.ranks()));
    RC_PRE(model.notes(job).empty());
    const replay::Result flow = predict(cluster, job, plan.ranks(), "flow");
    const replay::AnalyticStep step = model.price(job);
    RC_ASSERT(step.step <= flow.timeline.end.since_start());
    const replay::Timeline explained = model.explain(job);
    RC_ASSERT(explained.end.since_start() == step.step);
    const auto sum = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), Duration{}).ps();
    };
    RC_ASSERT(sum(explained.breakdown) == step.step.ps());
    RC_ASSERT(sum(explained.critical_path) == step.step.ps());
  }));
}

TEST_CASE("a steady state that is skipped ends where the walk of all tasks ends") {
  const topology::Cluster cluster = test::clean_cluster();
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  CHECK(rc::check("skipped = walked", [&]() {
    Drawn plan = draw_plan();
    plan.micro_batches = plan.pp * *rc::gen::inRange<std::uint32_t>(60, 120);
    const workload::Job job = draw_job(plan);
    replay::AnalyticModel model(router, *compute, placement::packed(cluster.topology, plan.ranks()));
    const replay::AnalyticStep step = model.price(job);
    // `explain` walks every operation of every task; it fails when a stage ends elsewhere.
    RC_ASSERT(model.explain(job).end.since_start() == step.step);
    if (job.plan.schedule == "1f1b") {
      RC_ASSERT(step.walked < step.tasks / 2);
    }
  }));
}

TEST_CASE("what a model has priced before changes nothing") {
  const topology::Cluster cluster = test::clean_cluster();
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  CHECK(rc::check("fresh = used", [&]() {
    replay::AnalyticModel used(router, *compute, placement::packed(cluster.topology, 16));
    for (int i = 0; i < 4; ++i) {
      const workload::Job job = draw_job(draw_plan());
      replay::AnalyticModel fresh(router, *compute, placement::packed(cluster.topology, 16));
      RC_ASSERT(used.price(job).finish == fresh.price(job).finish);
    }
  }));
}

TEST_CASE("a fault that begins within the step is refused with a fidelity that has it") {
  const topology::Cluster cluster = test::clean_cluster(R"([{"gpu": 0, "factor": 0.5, "at": "1 ms"}])");
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  CHECK_THROWS_WITH(replay::AnalyticModel(router, *compute, placement::packed(cluster.topology, 2)),
                    "fidelity \"analytic\" has no time at which fault 0 could begin or end; leave out its "
                    "\"at\" and \"until\", or use --fidelity flow");
}

TEST_CASE("a GPU that is slow for the whole step makes its stage as slow as in flow") {
  const topology::Cluster cluster = test::clean_cluster(R"([{"gpu": 1, "factor": 0.5}])");
  CHECK(rc::check("slow GPU", [&cluster]() {
    Drawn plan;
    plan.tp = 2;
    plan.micro_batches = *rc::gen::inRange<std::uint32_t>(1, 10);
    const workload::Job job = draw_job(plan);
    RC_ASSERT(predict(cluster, job, 2, "analytic").timeline.end ==
              predict(cluster, job, 2, "flow").timeline.end);
  }));
}

TEST_CASE("a step of many micro-batches is reported as flow reports it, without being walked whole") {
  const topology::Cluster cluster = test::clean_cluster();
  Drawn plan;
  plan.pp = 2;
  plan.micro_batches = 1501;  // not a whole number of rounds beyond the steps that are walked
  const std::string text = fmt::format(
      R"({{"name": "long", "model": {{"layers": 4, "hidden": 512, "heads": 8, "vocab": 1000}}, "sequence": 256,
          "parallel": {{"pp": 2}}, "micro_batch": 1, "global_batch": {}}})",
      plan.micro_batches);
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "long.json", diagnostics);
  workload::Job job = workload::read_job(document, diagnostics);
  workload::resolve(job, plan.ranks(), document, diagnostics);
  // Two ranks, one message each way at a time: no two operations share a link.
  const replay::Timeline flow = predict(cluster, job, plan.ranks(), "flow").timeline;
  const replay::Timeline analytic = predict(cluster, job, plan.ranks(), "analytic").timeline;
  CHECK(analytic.end == flow.end);
  CHECK(analytic.breakdown == flow.breakdown);
  CHECK(analytic.operations == flow.operations);
  CHECK(analytic.last_class == flow.last_class);
  CHECK(std::accumulate(analytic.critical_path.begin(), analytic.critical_path.end(), Duration{}) ==
        analytic.end.since_start());
}
