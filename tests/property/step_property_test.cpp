#include <numeric>

#include <rapidcheck.h>

#include "base/error.hpp"
#include "hardware/catalog.hpp"
#include "replay/predict.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"
#include "workload/job.hpp"

using namespace stepcast;

namespace {

/// A small job drawn from plans, schedules and options; 16 GPUs of the clean cluster at most.
workload::Job draw_job(std::uint32_t& ranks) {
  const auto tp = *rc::gen::element(1U, 2U, 4U);
  const auto pp = *rc::gen::element(1U, 2U, 4U);
  const auto dp = *rc::gen::element(1U, 2U);
  const auto virtual_stages = pp > 1 ? *rc::gen::element(1U, 2U) : 1U;
  const auto micro_batches = pp * *rc::gen::inRange<std::uint32_t>(1, 5);
  ranks = std::min(tp * pp * dp, 16U);
  const std::uint32_t replicas = ranks / (tp * pp) == 0 ? 1 : ranks / (tp * pp);
  const std::string schedule =
      virtual_stages > 1 ? "interleaved" : *rc::gen::element<std::string>("1f1b", "gpipe");
  // Drawn one by one: the order of evaluation of arguments is not defined.
  const auto layers = pp * virtual_stages * *rc::gen::element(1U, 2U, 3U);
  const bool sequence_parallel = tp > 1 && *rc::gen::arbitrary<bool>();
  const auto recompute = *rc::gen::element<std::string>("none", "selective", "full");
  const auto attention = *rc::gen::element<std::string>("flash", "unfused");
  const bool grad_reduce = *rc::gen::arbitrary<bool>();
  const bool param_gather = *rc::gen::arbitrary<bool>();
  const bool p2p = *rc::gen::arbitrary<bool>();
  const std::string text = fmt::format(
      R"({{"name": "drawn", "model": {{"layers": {}, "hidden": 512, "heads": 8, "vocab": 1000}}, "sequence": 256,
          "parallel": {{"tp": {}, "pp": {}, "virtual_stages": {}, "schedule": "{}", "sequence_parallel": {}}},
          "micro_batch": 1, "global_batch": {}, "recompute": "{}", "attention": "{}",
          "overlap": {{"grad_reduce": {}, "param_gather": {}, "p2p": {}}}}})",
      layers, tp, pp, virtual_stages, schedule, sequence_parallel, micro_batches * replicas, recompute,
      attention, grad_reduce, param_gather, p2p);
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "drawn.json", diagnostics);
  workload::Job job = workload::read_job(document, diagnostics);
  workload::resolve(job, ranks, document, diagnostics);
  return job;
}

}  // namespace

TEST_CASE("any plan ends, sums to its step, and never uses more than a link has") {
  const topology::Cluster cluster = test::clean_cluster();
  CHECK(rc::check("laws of a step", [&cluster]() {
    std::uint32_t ranks = 0;
    const workload::Job job = draw_job(ranks);
    const replay::Result result = replay::predict(cluster, job, ranks, {}).result;
    const replay::Timeline& timeline = result.timeline;
    const auto sum = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), Duration{}).ps();
    };
    RC_ASSERT(sum(timeline.breakdown) == timeline.end.ps());
    RC_ASSERT(sum(timeline.critical_path) == timeline.end.ps());
    for (const Duration part : timeline.breakdown) {
      RC_ASSERT(part >= Duration());
    }
    for (const replay::TierUse& tier : timeline.tiers) {
      RC_ASSERT(tier.utilisation <= 1 + 1e-9);  // the step is at least bytes / bandwidth of every link
      RC_ASSERT(tier.peak <= 1 + 1e-9);         // no resource above its capacity
    }
    for (const Duration busy : timeline.busy) {
      RC_ASSERT(busy.ps() <= timeline.end.ps());
    }
    RC_ASSERT(result.training->mfu <= 1);
    RC_ASSERT(result.training->mfu <= result.training->mfu_full_attention);
    const replay::Result again = replay::predict(cluster, job, ranks, {}).result;
    RC_ASSERT(again.timeline.fingerprint == timeline.fingerprint);
  }));
}

TEST_CASE("a slow GPU never makes a step shorter") {
  const topology::Cluster healthy = test::clean_cluster();
  const topology::Cluster slow = test::clean_cluster(R"([{"gpu": 0, "factor": 0.5}])");
  CHECK(rc::check("slow device", [&]() {
    std::uint32_t ranks = 0;
    const workload::Job job = draw_job(ranks);
    const auto before = replay::predict(healthy, job, ranks, {}).result.timeline.end;
    const auto after = replay::predict(slow, job, ranks, {}).result.timeline.end;
    RC_ASSERT(after > before);
  }));
}
