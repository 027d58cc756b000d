#include "workload/job.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "base/suggestion.hpp"
#include "workload/model_reader.hpp"
#include "workload/pipeline_schedule.hpp"

namespace stepcast::workload {

namespace {

constexpr std::int64_t kMostRanksPerDimension = 1 << 20;
constexpr std::int64_t kLongestSequence = 1 << 24;
constexpr std::int64_t kLargestMicroBatch = 1 << 12;
constexpr std::int64_t kLargestGlobalBatch = 1'000'000'000;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 28;  // of one micro-batch

/// The member, or the object itself: where to point when a default is at fault.
config::Node at(const config::Node& object, std::string_view key) {
  const config::Node member = object.is_object() ? object.get(key) : config::Node();
  return member.present() ? member : object;
}

std::uint32_t positive(const config::Node& node, std::int64_t upper) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(1, node.integer(1, upper)));
}

void read_flag(const config::Node& node, bool& value) {
  if (node.present()) {
    value = node.boolean();
  }
}

void read_schedule(const config::Node& node, Plan& plan) {
  if (!node.present()) {
    if (plan.virtual_stages > 1) {
      plan.schedule = "interleaved";
    }
    return;
  }
  plan.schedule = node.text();
  if (find_pipeline_schedule(plan.schedule) != nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    names.emplace_back(schedule.name);
  }
  node.error(fmt::format("unknown pipeline schedule \"{}\"", plan.schedule), suggest(plan.schedule, names));
}

Plan read_plan(const config::Node& node) {
  Plan plan;
  if (!node.present()) {
    return plan;
  }
  node.allow_only({"tp", "pp", "dp", "virtual_stages", "schedule", "sequence_parallel",
                   "distributed_optimizer", "stage_layers"});
  const auto size = [&](std::string_view key, std::uint32_t& value) {
    if (node.get(key).present()) {
      value = positive(node.get(key), kMostRanksPerDimension);
    }
  };
  size("tp", plan.tp);
  size("pp", plan.pp);
  size("dp", plan.dp);
  size("virtual_stages", plan.virtual_stages);
  read_flag(node.get("sequence_parallel"), plan.sequence_parallel);
  read_flag(node.get("distributed_optimizer"), plan.distributed_optimizer);
  read_schedule(node.get("schedule"), plan);
  if (const config::Node layers = node.get("stage_layers"); layers.present()) {
    for (const config::Node& item : layers.items()) {
      plan.stage_layers.push_back(positive(item, kMostRanksPerDimension));
    }
    if (layers.is_array() && plan.stage_layers.empty()) {
      layers.error("no stage", "list one number of layers per stage");
    }
  }
  return plan;
}

/// "6 or 8": the divisors of `n` next to `x`, for a remedy.
std::string divisors_near(std::uint64_t n, std::uint64_t x) {
  std::uint64_t below = std::min(x, n);
  while (below > 1 && n % below != 0) {
    --below;
  }
  std::uint64_t above = std::max<std::uint64_t>(x, 1);
  while (above < n && n % above != 0) {
    ++above;
  }
  return above <= n && above > below ? fmt::format("{} or {}", below, above) : fmt::format("{}", below);
}

void check_tensor_parallel(const Job& job, const config::Node& parallel) {
  const Plan& plan = job.plan;
  const config::Node where = at(parallel, "tp");
  const auto divides = [&](std::uint64_t value, std::string_view what) {
    if (value % plan.tp != 0) {
      where.error(fmt::format("{} {} are not divisible by tp {}", value, what, plan.tp),
                  fmt::format("use tp {}", divisors_near(value, plan.tp)));
      return false;
    }
    return true;
  };
  // One number to change: the first reason is enough.
  const bool fits = divides(job.model.heads, "heads") && divides(job.model.kv_heads, "kv_heads") &&
                    divides(job.model.ffn_hidden, "ffn_hidden columns");
  if (plan.sequence_parallel) {
    if (plan.tp == 1) {
      at(parallel, "sequence_parallel")
          .error("sequence_parallel needs tp > 1", "set it to false, or use tensor parallelism");
    } else if (fits && job.sequence % plan.tp != 0) {
      where.error(fmt::format("a sequence of {} tokens is not divisible by tp {}", job.sequence, plan.tp),
                  "with sequence_parallel each rank holds sequence / tp tokens; change one of the two");
    }
  }
}

void check_stage_layers(const Job& job, const config::Node& where) {
  const Plan& plan = job.plan;
  const std::uint64_t sum =
      std::accumulate(plan.stage_layers.begin(), plan.stage_layers.end(), std::uint64_t{0});
  if (plan.virtual_stages > 1) {
    where.error("stage_layers needs virtual_stages 1", "leave it out: chunks have equal layers");
  } else if (plan.stage_layers.size() != plan.pp) {
    where.error(fmt::format("{} stages listed, but pp is {}", plan.stage_layers.size(), plan.pp),
                "list one number of layers per stage");
  } else if (sum != job.model.layers) {
    where.error(fmt::format("the stages hold {} layers, but the model has {}", sum, job.model.layers),
                "the numbers must add up to the layers of the model");
  }
}

void check_pipeline(const Job& job, const config::Node& parallel) {
  const Plan& plan = job.plan;
  const std::uint64_t chunks = std::uint64_t{plan.pp} * plan.virtual_stages;
  if (!plan.stage_layers.empty()) {
    check_stage_layers(job, parallel.get("stage_layers"));
    if (plan.virtual_stages > 1) {
      return;  // what else is wrong with virtual_stages would only repeat it
    }
  } else if (job.model.layers % chunks != 0) {
    const bool by_chunk = plan.virtual_stages > 1;
    at(parallel, "pp")
        .error(by_chunk ? fmt::format("{} layers are not divisible by pp x virtual_stages = {} x {}",
                                      job.model.layers, plan.pp, plan.virtual_stages)
                        : fmt::format("{} layers are not divisible by pp {}", job.model.layers, plan.pp),
               by_chunk ? fmt::format("use {} chunks in all, or virtual_stages 1 with stage_layers",
                                      divisors_near(job.model.layers, chunks))
                        : fmt::format("use pp {}, or give stage_layers",
                                      divisors_near(job.model.layers, plan.pp)));
  }
  const PipelineSchedule* schedule = find_pipeline_schedule(plan.schedule);
  if (schedule == nullptr) {
    return;
  }
  if (plan.virtual_stages > 1 && !schedule->interleaves) {
    at(parallel, "virtual_stages")
        .error(fmt::format("schedule \"{}\" has one chunk per stage, but virtual_stages is {}", plan.schedule,
                           plan.virtual_stages),
               "use schedule \"interleaved\", or virtual_stages 1");
  } else if (plan.virtual_stages > 1 && plan.pp == 1) {
    at(parallel, "virtual_stages").error("virtual_stages needs pp > 1", "use pp > 1, or virtual_stages 1");
  } else if (plan.virtual_stages == 1 && schedule->interleaves) {
    at(parallel, "schedule")
        .error(fmt::format("schedule \"{}\" needs virtual_stages > 1", plan.schedule),
               "give virtual_stages, or use schedule \"1f1b\"");
  }
}

void read_overlap(const config::Node& node, Job& job) {
  if (!node.present()) {
    return;
  }
  node.allow_only({"grad_reduce", "param_gather", "p2p", "tp"});
  read_flag(node.get("grad_reduce"), job.overlap_grad_reduce);
  read_flag(node.get("param_gather"), job.overlap_param_gather);
  read_flag(node.get("p2p"), job.overlap_p2p);
  read_flag(node.get("tp"), job.overlap_tp);
}

void read_precision(const config::Node& root, Job& job) {
  if (const config::Node node = root.get("precision"); node.present()) {
    constexpr DataType kTypes[] = {DataType::kBf16, DataType::kFp16, DataType::kFp8};
    job.precision = kTypes[node.one_of({"bf16", "fp16", "fp8"})];
  }
  if (const config::Node node = root.get("grad_dtype"); node.present()) {
    constexpr DataType kTypes[] = {DataType::kFp32, DataType::kBf16, DataType::kFp16};
    job.grad_dtype = kTypes[node.one_of({"fp32", "bf16", "fp16"})];
  }
  if (const config::Node node = root.get("recompute"); node.present()) {
    constexpr Recompute kPolicies[] = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
    job.recompute = kPolicies[node.one_of({"none", "selective", "full"})];
  }
  if (const config::Node node = root.get("attention"); node.present()) {
    constexpr Attention kKinds[] = {Attention::kFlash, Attention::kUnfused};
    job.attention = kKinds[node.one_of({"flash", "unfused"})];
  }
  if (const config::Node node = root.get("dropout"); node.present()) {
    job.dropout = node.number(0, 1);
  }
}

/// Default gradient bucket: 40 million parameters in fp32 (Megatron-LM's DistributedDataParallel).
constexpr std::int64_t kDefaultBucket = 40'000'000 * 4;

}  // namespace

Job read_job(const config::Document& document, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  const config::Node root = document.root();
  Job job;
  if (!root.is_object()) {
    root.error("a job is an object", "see workloads/README.md for its keys");
    return job;
  }
  root.allow_only({"name", "description", "model", "sequence", "parallel", "micro_batch", "global_batch",
                   "precision", "recompute", "attention", "overlap", "bucket", "grad_dtype", "dropout",
                   "checkpoint"});
  if (const config::Node model = root.require("model"); model.present()) {
    job.model = read_model(model, root.place().file);
    job.place = model.place();
  }
  job.name = root.get("name").present() ? root.get("name").name() : job.model.name;
  if (root.get("description").present()) {
    job.description = root.get("description").text();
  }
  job.sequence = positive(root.require("sequence"), kLongestSequence);
  const config::Node parallel = root.get("parallel");
  job.plan = read_plan(parallel);
  if (root.get("micro_batch").present()) {
    job.micro_batch = positive(root.get("micro_batch"), kLargestMicroBatch);
  }
  job.global_batch = positive(root.require("global_batch"), kLargestGlobalBatch);
  read_precision(root, job);
  read_overlap(root.get("overlap"), job);
  job.bucket = Bytes(kDefaultBucket);
  if (const config::Node bucket = root.get("bucket"); bucket.present()) {
    job.bucket = bucket.bytes();
    if (job.bucket == Bytes()) {
      bucket.error("a bucket of 0 B",
                   "give at least 1 B: what is below one layer's gradients means one layer");
      job.bucket = Bytes(1);
    }
  }
  read_flag(root.get("checkpoint"), job.checkpoint);
  if (diagnostics.size() != before) {
    return job;  // cross-checks on fallback values would only repeat the same mistake
  }
  if (std::int64_t{job.sequence} * job.micro_batch > kMostTokens) {
    root.get("sequence")
        .error("a micro-batch of more than 268435456 tokens", "reduce micro_batch or sequence");
  }
  const config::Node where = parallel.present() ? parallel : root;
  check_tensor_parallel(job, where);
  check_pipeline(job, where);
  return job;
}

std::uint64_t micro_batches(const Job& job) {
  return job.global_batch / (std::uint64_t{job.plan.dp} * job.micro_batch);
}

std::uint64_t padded_vocab(const Job& job) {
  const std::uint64_t multiple = std::uint64_t{128} * job.plan.tp;
  return (job.model.vocab + multiple - 1) / multiple * multiple;
}

}  // namespace stepcast::workload
