// Scope:        the whole result, one object, SI units with the unit in the key (design 4.2).
// Assumes:      consumers ignore keys they do not know.
// Not covered:  the timeline itself (see --trace).
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/writer.hpp"

namespace stepcast::report {
namespace {

using Json = nlohmann::ordered_json;

Json links(const replay::Result& result) {
  Json list = Json::array();
  for (const replay::TierUse& tier : result.timeline.tiers) {
    list.push_back(Json{
        {"tier", tier.tier}, {"utilisation", tier.utilisation}, {"bytes", tier.bytes}, {"peak", tier.peak}});
  }
  return list;
}

std::string write(const replay::Result& result) {
  Json out;
  out["schema_version"] = kResultSchemaVersion;
  out["cluster"] = result.cluster;
  out["job"] = result.job;
  out["accelerator"] = result.accelerator;
  out["gpus"] = result.gpus;
  if (!result.plan.empty()) {
    out["plan"] = result.plan;
  }
  out["step_time_s"] = result.step_time_s;
  if (result.training) {
    const replay::TrainingFigures& figures = *result.training;
    out["mfu"] = figures.mfu;
    out["mfu_full_attention"] = figures.mfu_full_attention;
    out["hfu"] = figures.hfu;
    out["mfu_peak_flops"] = figures.mfu_peak_flops;
    out["model_tflops_per_gpu"] = figures.model_tflops_per_gpu;
    out["tokens_per_s"] = figures.tokens_per_s;
    out["tokens_per_s_per_gpu"] = figures.tokens_per_s_per_gpu;
  }
  if (result.memory) {
    const replay::MemoryFigures& figures = *result.memory;
    out["memory_bytes"] =
        Json{{"weights", figures.weights},
             {"gradients", figures.gradients},
             {"optimizer", figures.optimizer},
             {"activations", figures.activations},
             {"peak", figures.peak},
             {"capacity", figures.capacity},
             {"fits", figures.fits},
             {"stage", figures.stage},
             {"layers_only",
              {{"states", figures.layers_only_states}, {"activations", figures.layers_only_activations}}}};
  }
  Json& breakdown = out["breakdown_s"] = Json::object();
  // Order of the keys as documented; the sum is the step time to the picosecond.
  for (const auto activity :
       {replay::Activity::kCompute, replay::Activity::kStorage, replay::Activity::kExposedTp,
        replay::Activity::kExposedCp, replay::Activity::kExposedEp, replay::Activity::kExposedDp,
        replay::Activity::kExposedPp, replay::Activity::kBubble, replay::Activity::kOptimizer,
        replay::Activity::kOther}) {
    breakdown[std::string(replay::name_of(activity))] =
        result.timeline.breakdown[static_cast<std::size_t>(activity)].seconds();
  }
  out["breakdown_rank"] = result.last_rank;
  out["links"] = links(result);
  Json& path = out["critical_path"] = Json::array();
  for (std::size_t part = 0; part < replay::kPathParts; ++part) {
    if (result.timeline.critical_path[part].ps() != 0) {
      path.push_back(Json{{"part", replay::name_of(static_cast<replay::PathPart>(part))},
                          {"seconds", result.timeline.critical_path[part].seconds()}});
    }
  }
  Json& communication = out["communication"] = Json::array();
  for (const replay::CommunicationUse& use : result.timeline.communication) {
    communication.push_back(Json{{"kind", use.kind},
                                 {"dimension", use.dimension},
                                 {"bytes", use.bytes},
                                 {"calls", use.calls},
                                 {"transfer_s", use.transfer_s},
                                 {"wait_s", use.wait_s}});
  }
  out["folding"] = Json{{"ranks", result.timeline.ranks},
                        {"classes", result.timeline.classes},
                        {"audit", result.timeline.audit},
                        {"repeated_iterations", result.timeline.skipped_iterations},
                        {"repeated_period", result.timeline.skipped_period},
                        {"repeated_s", result.timeline.skipped.seconds()}};
  Json& uncertainty = out["uncertainty"] = Json::object();
  if (result.uncertainty.relative > 0) {
    uncertainty["lower_s"] = result.step_time_s * (1 - result.uncertainty.relative);
    uncertainty["upper_s"] = result.step_time_s * (1 + result.uncertainty.relative);
  }
  uncertainty["basis"] = result.uncertainty.basis;
  Json& inputs = out["inputs"] = Json::object();
  for (const auto& [key, value] : result.inputs) {
    inputs[key] = value;
  }
  out["notes"] = result.notes;
  out["operations"] = result.timeline.operations;
  out["fingerprint"] = fmt::format("{:016x}", result.timeline.fingerprint);
  out["version"] = STEPCAST_VERSION;
  return out.dump(2) + "\n";
}

}  // namespace

ResultWriter json_writer() {
  return {"json", "everything, one object (stepcast schema result)", &write};
}

std::string result_schema() {
  const auto number = [](const char* text) { return Json{{"type", "number"}, {"description", text}}; };
  const auto text = [](const char* words) { return Json{{"type", "string"}, {"description", words}}; };
  Json properties;
  properties["schema_version"] = Json{{"const", kResultSchemaVersion}};
  properties["cluster"] = text("name of the cluster");
  properties["job"] = text("name of the job or program");
  properties["accelerator"] = text("accelerator of the cluster");
  properties["gpus"] = number("ranks of the job, one per GPU");
  properties["plan"] = text("parallel plan in one line (jobs only)");
  properties["step_time_s"] = number("one optimizer step, slowest rank");
  properties["mfu"] = number("causal model FLOPs / (step x GPUs x peak), 0..1 (jobs only)");
  properties["mfu_full_attention"] = number("the same with attention over the full S x S");
  properties["hfu"] = number("causal, recomputation counted");
  properties["mfu_peak_flops"] = number("dense peak per GPU used for the three, FLOP/s");
  properties["model_tflops_per_gpu"] = number("causal model TFLOP/s per GPU");
  properties["tokens_per_s"] = number("whole job");
  properties["tokens_per_s_per_gpu"] = number("per GPU");
  properties["memory_bytes"] =
      Json{{"type", "object"},
           {"description",
            "GPU with the highest peak: weights, gradients, optimizer, activations, peak, "
            "capacity, fits, stage; layers_only {states, activations}: the published "
            "convention without embeddings and head, first stage"}};
  properties["breakdown_s"] = Json{
      {"type", "object"},
      {"description",
       "of the rank that finishes last; sums to the step: each instant goes to the first that applies of "
       "optimizer, compute, storage, exposed tp, cp, ep, dp, pp (a transfer of mine in flight), bubble (a "
       "peer "
       "still computing), other"}};
  properties["breakdown_rank"] = number("the rank of breakdown_s");
  properties["links"] = Json{{"type", "array"},
                             {"description",
                              "by link tier: bytes over all links; utilisation of the busiest resource over "
                              "the step; peak = highest "
                              "load/capacity at any time"}};
  properties["critical_path"] =
      Json{{"type", "array"},
           {"description", "parts of the longest chain of operations; seconds sum to the step"}};
  properties["communication"] = Json{
      {"type", "array"},
      {"description",
       "by kind, dimension and bytes of one call, most time in transfer first: calls over all ranks; mean "
       "seconds of a call in transfer and waiting for the other members"}};
  properties["folding"] =
      Json{{"type", "object"},
           {"description",
            "ranks, classes executed, audit; of repetitions of a steady state: iterations, period, seconds"}};
  properties["uncertainty"] = Json{{"type", "object"}, {"description", "lower_s, upper_s when known; basis"}};
  properties["inputs"] = Json{{"type", "object"}, {"description", "every input and default used"}};
  properties["notes"] = Json{{"type", "array"}, {"description", "what was rounded or is near a limit"}};
  properties["operations"] = number("operations executed");
  properties["fingerprint"] = text("64-bit hash of the timeline, hexadecimal");
  properties["version"] = text("version of the product");
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "stepcast result";
  schema["type"] = "object";
  schema["properties"] = properties;
  schema["required"] = {"schema_version", "cluster",     "job",    "step_time_s",
                        "breakdown_s",    "fingerprint", "version"};
  return schema.dump(2) + "\n";
}

}  // namespace stepcast::report
