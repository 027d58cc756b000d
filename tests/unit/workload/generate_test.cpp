#include "workload/generate.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <rapidcheck.h>

#include "base/fingerprint.hpp"
#include "config/data_path.hpp"
#include "job_fixture.hpp"
#include "program_player.hpp"
#include "support/catch.hpp"
#include "workload/flops.hpp"
#include "workload/pipeline_schedule.hpp"

using namespace stepcast;
using namespace stepcast::workload;
using program::OpKind;
using program::Programs;
using stepcast::workload::testing::Gpt;
using stepcast::workload::testing::job_of;
using stepcast::workload::testing::ProgramPlayer;
using stepcast::workload::testing::round_device;
using stepcast::workload::testing::text_of;

namespace {

struct Case {
  std::string parallel;
  std::uint32_t ranks;
  std::string more;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"{}", 1, ""},
      {"{}", 4, ""},
      {R"({"tp": 2})", 4, ""},
      {R"({"tp": 2})", 2, R"(, "overlap": {"tp": true}, "recompute": "full")"},
      {R"({"tp": 4, "sequence_parallel": true})", 4, R"(, "attention": "unfused", "recompute": "selective")"},
      {R"({"tp": 2, "sequence_parallel": true})", 4, R"(, "recompute": "full", "overlap": {"tp": true})"},
      {R"({"pp": 4})", 4, ""},
      {R"({"pp": 4})", 8, R"(, "overlap": {"grad_reduce": false, "p2p": true})"},
      {R"({"pp": 4, "schedule": "gpipe"})", 8, R"(, "bucket": "1 MB")"},
      {R"({"pp": 2, "virtual_stages": 4})", 4, R"(, "overlap": {"param_gather": true}, "bucket": "1 MB")"},
      {R"({"pp": 4, "virtual_stages": 2})", 8, R"(, "overlap": {"p2p": true, "param_gather": true})"},
      {R"({"tp": 2, "pp": 4, "virtual_stages": 2, "sequence_parallel": true})", 16,
       R"(, "checkpoint": true)"},
      {R"({"tp": 2, "pp": 2, "stage_layers": [5, 3], "distributed_optimizer": false})", 8, ""},
  };
  return all;
}

Job job_for(const Case& each, std::uint64_t batch = 16) {
  Gpt gpt;
  gpt.parallel = each.parallel;
  gpt.more = each.more;
  gpt.global_batch = batch;
  return job_of(text_of(gpt), each.ranks);
}

/// Sum over ranks and executions of what `value` says of an operation.
template <class Value>
double total(const Programs& programs, Value value) {
  double sum = 0;
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    const program::Program& program = programs.programs[programs.program_of[rank]];
    const std::vector<std::uint64_t> counts = program::execution_counts(program);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum += static_cast<double>(counts[i]) * value(program, program.operations[i]);
    }
  }
  return sum;
}

double kernel_flops(const Programs& programs, compute::KernelKind kind) {
  return total(programs, [kind](const program::Program& program, const program::Operation& operation) {
    double flops = 0;
    if (operation.kind == OpKind::kCompute) {
      const program::KernelSequence& sequence = program.sequences[operation.target];
      for (std::uint32_t k = 0; k < sequence.count; ++k) {
        const compute::Kernel& kernel = program.kernels[sequence.first + k];
        flops += kernel.kind == kind ? kernel.flops : 0;
      }
    }
    return flops;
  });
}

double count_collectives(const Programs& programs, program::Dimension dimension, collective::Kind kind) {
  return total(programs, [=](const program::Program& program, const program::Operation& operation) {
    return operation.kind == OpKind::kCollective && program.collectives[operation.detail].kind == kind &&
                   program.labels[operation.label].dimension == dimension
               ? 1.0
               : 0.0;
  });
}

double collective_bytes(const Programs& programs, program::Dimension dimension, collective::Kind kind) {
  return total(programs, [=](const program::Program& program, const program::Operation& operation) {
    return operation.kind == OpKind::kCollective && program.collectives[operation.detail].kind == kind &&
                   program.labels[operation.label].dimension == dimension
               ? static_cast<double>(operation.bytes)
               : 0.0;
  });
}

std::size_t largest_program(const Programs& programs) {
  std::size_t most = 0;
  for (const program::Program& program : programs.programs) {
    most = std::max(most, program.operations.size());
  }
  return most;
}

}  // namespace

TEST_CASE("generated programs pass the checks of every program") {
  for (const Case& each : cases()) {
    CAPTURE(each.parallel, each.more);
    const Programs programs = generate(job_for(each), round_device());
    CHECK(programs.ranks == each.ranks);
    CHECK_NOTHROW(program::check(programs));
  }
}

TEST_CASE("generated programs end, with messages that need both sides") {
  for (const Case& each : cases()) {
    CAPTURE(each.parallel, each.more);
    const Programs programs = generate(job_for(each), round_device());
    ProgramPlayer player(programs, [](const auto&, const auto&) { return 1; });
    CHECK(player.run() > 0);
  }
}

TEST_CASE("any plan ends, whatever its kernels take") {
  // Blocking sends and receives one ahead must never wait in a circle, in warm-up, steady state or end.
  CHECK(rc::check([] {
    const auto pp = *rc::gen::inRange<std::uint32_t>(1, 6);
    const auto v = pp > 1 ? *rc::gen::inRange<std::uint32_t>(1, 4) : 1;
    const auto tp = *rc::gen::element<std::uint32_t>(1, 2);
    const auto rounds = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const bool gpipe = v == 1 && *rc::gen::arbitrary<bool>();
    Gpt gpt;
    gpt.layers = pp * v * *rc::gen::inRange<std::uint32_t>(1, 3);
    gpt.global_batch = v > 1 ? std::uint64_t{pp} * rounds : rounds * 2;
    gpt.parallel = "{\"tp\": " + std::to_string(tp) + ", \"pp\": " + std::to_string(pp) +
                   ", \"virtual_stages\": " + std::to_string(v) + (gpipe ? ", \"schedule\": \"gpipe\"" : "") +
                   (tp > 1 && *rc::gen::arbitrary<bool>() ? ", \"sequence_parallel\": true}" : "}");
    gpt.more = std::string(", \"overlap\": {\"p2p\": ") + (*rc::gen::arbitrary<bool>() ? "true" : "false") +
               ", \"tp\": " + (*rc::gen::arbitrary<bool>() ? "true" : "false") + "}" +
               (*rc::gen::arbitrary<bool>() ? ", \"recompute\": \"full\"" : "");
    const Programs programs = generate(job_of(text_of(gpt), tp * pp), round_device());
    program::check(programs);
    ProgramPlayer player(programs, [seed](const program::Program&, const program::Operation& operation) {
      return static_cast<std::int64_t>(mix(seed, operation.target) % 1000);
    });
    RC_ASSERT(player.run() > 0);
  }));
}

TEST_CASE("the pipeline of a program takes the time of its schedule") {
  // Without communication time: forward work f per stage and micro-batch, backward b, other kernels 0.
  // A layer is one operation without tensor parallelism: f = 2 layers x 1, b = 2 layers x 2.
  // 1F1B and GPipe: (m + p - 1)(f + b); interleaved, v = 2: m (f + b) + (p - 1)(f + b)/v. m = 16, p = 4.
  const auto time_of = [](const std::string& parallel, const std::string& more) {
    const Programs programs = generate(job_for({parallel, 4, more}), round_device());
    return ProgramPlayer(programs,
                         [](const program::Program& program, const program::Operation& operation) {
                           const std::string& name = program.labels[operation.label].name;
                           return name == "layer forward" ? 1 : name == "layer backward" ? 2 : 0;
                         })
        .run();
  };
  for (const std::string more : {R"(, "overlap": {"p2p": true})", R"(, "overlap": {"p2p": false})"}) {
    CAPTURE(more);
    CHECK(time_of(R"({"pp": 4})", more) == 19 * 6);
    CHECK(time_of(R"({"pp": 4, "schedule": "gpipe"})", more) == 19 * 6);
  }
  CHECK(time_of(R"({"pp": 4, "virtual_stages": 2})", R"(, "overlap": {"p2p": true})") == 16 * 6 + 3 * 3);
}

TEST_CASE("kernels do the FLOPs of the job") {
  for (const Case& each : cases()) {
    CAPTURE(each.parallel, each.more);
    const Job job = job_for(each);  // the vocabulary, 1024, needs no padding up to tp 8
    const Programs programs = generate(job, round_device());
    const double tokens = 16.0 * 128;
    const double layer = 2 * 12.0 * 256 * 256;  // forward of the matrices of one layer and token
    const double repeats = job.recompute == Recompute::kFull ? 4 : 3;
    const double matrices = tokens * (8 * layer * repeats + 3 * 2.0 * 256 * 1024);
    CHECK(kernel_flops(programs, compute::KernelKind::kGemm) == Approx(matrices).epsilon(1e-12));
    if (job.attention == Attention::kFlash) {
      // Causal: 2 s h per token and layer forward; the fused backward has 5 products for 4 of the model.
      const double scores = tokens * 8 * 2.0 * 128 * 256;
      const double forward = kernel_flops(programs, compute::KernelKind::kFlashForward);
      const double backward = kernel_flops(programs, compute::KernelKind::kFlashBackward);
      CHECK(forward == Approx(scores * (repeats - 2)).epsilon(1e-12));
      CHECK(backward == Approx(2.5 * scores).epsilon(1e-12));
      CHECK(matrices + forward + backward * 2 / 2.5 == Approx(hardware_flops_per_step(job)).epsilon(1e-12));
    } else {
      // Unfused: the full S x S, 4 s h; once more when selective. Two forward and four backward products.
      const double scores = tokens * 8 * 4.0 * 128 * 256;
      CHECK(kernel_flops(programs, compute::KernelKind::kBatchedGemm) == Approx(4 * scores).epsilon(1e-12));
    }
  }
}

TEST_CASE("messages of the pipeline follow its formula") {
  // Each of m micro-batches crosses p v - 1 boundaries twice, on every tensor-parallel rank, with
  // 2 b s h / tp bytes. dp replicas share the micro-batches: m in all = 16.
  for (const Case& each : cases()) {
    CAPTURE(each.parallel, each.more);
    const Job job = job_for(each);
    const Programs programs = generate(job, round_device());
    const double crossings = 2.0 * 16 * (job.plan.pp * job.plan.virtual_stages - 1);
    const auto is_send = [](const program::Program&, const program::Operation& operation) {
      return operation.kind == OpKind::kSend ? 1.0 : 0.0;
    };
    const auto bytes = [](const program::Program&, const program::Operation& operation) {
      return operation.kind == OpKind::kSend ? static_cast<double>(operation.bytes) : 0.0;
    };
    CHECK(total(programs, is_send) == crossings * job.plan.tp);
    CHECK(total(programs, bytes) == crossings * 2 * 128 * 256);
  }
}

TEST_CASE("tensor-parallel collectives follow their formula") {
  using collective::Kind;
  using program::Dimension;
  // tp 2 without sequence parallelism, 8 layers, 8 micro-batches per replica, 4 ranks: all-reduces 2 forward
  // and 2 backward per layer, 1 after the embedding, 2 small ones of the loss, 1 of the head's input
  // gradient.
  const Programs plain = generate(job_for({R"({"tp": 2})", 4, ""}), round_device());
  CHECK(count_collectives(plain, Dimension::kTp, Kind::kAllReduce) == 4.0 * 8 * (8 * 4 + 1 + 2 + 1));
  // Sequence parallelism: per layer 2 gathers and 2 scatters forward, 2 + 2 (inputs again) and 2 backward;
  // embedding 1 scatter and 1 gather of its gradient; head 1 gather forward, 1 backward, 1 scatter.
  const Programs split =
      generate(job_for({R"({"tp": 4, "sequence_parallel": true})", 4, ""}), round_device());
  CHECK(count_collectives(split, Dimension::kTp, Kind::kAllGather) == 4.0 * 16 * (8 * 6 + 1 + 2));
  CHECK(count_collectives(split, Dimension::kTp, Kind::kReduceScatter) == 4.0 * 16 * (8 * 4 + 1 + 1));
  CHECK(count_collectives(split, Dimension::kTp, Kind::kAllReduce) == 4.0 * 16 * 2);
  // Full recompute repeats the forward of the layers with its collectives.
  const Programs full = generate(
      job_for({R"({"tp": 4, "sequence_parallel": true})", 4, R"(, "recompute": "full")"}), round_device());
  CHECK(count_collectives(full, Dimension::kTp, Kind::kAllGather) == 4.0 * 16 * (8 * 8 + 1 + 2));
  // Pipelines without sequence parallelism send 1/tp and gather: each boundary, both directions.
  const Programs pipeline = generate(job_for({R"({"tp": 2, "pp": 2})", 4, ""}), round_device());
  CHECK(count_collectives(pipeline, Dimension::kTp, Kind::kAllGather) == 2.0 * 16 * 2);
}

TEST_CASE("gradients are reduced and parameters gathered once, whole") {
  using collective::Kind;
  using program::Dimension;
  // Local parameters without tp and pp: 8 (12 h^2 + 13 h) + (1024 + 128 + 2) h.
  const double parameters = 8 * (12.0 * 256 * 256 + 13.0 * 256) + (1024.0 + 128 + 2) * 256;
  for (const std::string more :
       {"", R"(, "bucket": "1 MB")", R"(, "overlap": {"grad_reduce": false}, "bucket": "3 MB")",
        R"(, "overlap": {"param_gather": true}, "bucket": "1 B")"}) {
    CAPTURE(more);
    const Programs programs = generate(job_for({"{}", 4, more}), round_device());
    CHECK(collective_bytes(programs, Dimension::kDp, Kind::kReduceScatter) == 4 * 4 * parameters);
    CHECK(collective_bytes(programs, Dimension::kDp, Kind::kAllGather) == 4 * 2 * parameters);
  }
  // One bucket holds everything at 160 MB; 1 MB buckets hold one layer (789,760 elements, 3.16 MB) each,
  // and the embedding (294,912 elements) is the last; the head's norm (512) fills up with the first layer.
  const auto reductions = [](const std::string& more) {
    return count_collectives(generate(job_for({"{}", 4, more}), round_device()), Dimension::kDp,
                             Kind::kReduceScatter);
  };
  CHECK(reductions("") == 4 * 1);
  CHECK(reductions(R"(, "bucket": "1 MB")") == 4 * 9);
  // Without a distributed optimizer gradients are all-reduced and nothing is gathered.
  const Programs plain = generate(job_for({R"({"distributed_optimizer": false})", 4, ""}), round_device());
  CHECK(collective_bytes(plain, Dimension::kDp, Kind::kAllReduce) == 4 * 4 * parameters);
  CHECK(count_collectives(plain, Dimension::kDp, Kind::kAllGather) == 0);
  // Tied embeddings of a pipeline: first and last stage all-reduce 1024 h gradients.
  const Programs tied = generate(job_for({R"({"pp": 4})", 8, ""}), round_device());
  CHECK(count_collectives(tied, Dimension::kPp, Kind::kAllReduce) == 2 * 2);
  CHECK(collective_bytes(tied, Dimension::kPp, Kind::kAllReduce) == 2 * 2 * 4 * 1024.0 * 256);
}

TEST_CASE("optimizer and checkpoint handle each parameter once") {
  const Job job = job_for({"{}", 4, R"(, "checkpoint": true)"});
  const Programs programs = generate(job, round_device());
  const double parameters = parameter_count(job);
  const double written = total(programs, [](const program::Program&, const program::Operation& operation) {
    return operation.kind == OpKind::kStorage ? static_cast<double>(operation.bytes) : 0.0;
  });
  CHECK(written == 14 * parameters);
  const double updated = total(programs, [](const program::Program& program, const program::Operation& op) {
    double bytes = 0;
    if (op.kind == OpKind::kCompute && program.labels[op.label].phase == program::Phase::kOptimizer) {
      bytes = static_cast<double>(program.kernels[program.sequences[op.target].first].bytes);
    }
    return bytes;
  });
  CHECK(updated == 32 * parameters);
}

TEST_CASE("ranks are numbered tensor parallel first, then data, then pipeline") {
  // tp 2, dp 2, pp 2: rank = tp + 2 (dp + 2 pp).
  const Programs programs = generate(job_for({R"({"tp": 2, "pp": 2})", 8, ""}), round_device());
  REQUIRE(programs.programs.size() == 2);
  CHECK(programs.program_of == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  const auto value = [&](std::uint32_t rank, const std::string& name) {
    const auto& slots = programs.programs[programs.program_of[rank]].slots;
    const auto found =
        std::find_if(slots.begin(), slots.end(), [&](const auto& slot) { return slot.name == name; });
    REQUIRE(found != slots.end());
    return programs.slot_values[rank][static_cast<std::size_t>(found - slots.begin())];
  };
  const auto members = [&](std::uint32_t rank, const std::string& name) {
    std::vector<std::uint32_t> ranks;
    for (const RankId member : programs.groups[GroupId{value(rank, name)}].ranks()) {
      ranks.push_back(member.index());
    }
    return ranks;
  };
  CHECK(members(5, "tp") == std::vector<std::uint32_t>{4, 5});
  CHECK(members(5, "dp") == std::vector<std::uint32_t>{5, 7});
  CHECK(members(5, "embedding") == std::vector<std::uint32_t>{1, 5});
  CHECK(value(5, "previous stage") == 1);
  CHECK(value(1, "next stage") == 5);
}

TEST_CASE("the number of operations does not grow with micro-batches") {
  for (const Case& each : cases()) {
    CAPTURE(each.parallel, each.more);
    const std::size_t some = largest_program(generate(job_for(each, 256), round_device()));
    const std::size_t many = largest_program(generate(job_for(each, 4096), round_device()));
    CHECK(some == many);
  }
}

TEST_CASE("labels count micro-batches through the rounds of a repeat") {
  // 1F1B on the last stage: forward and backward of each micro-batch in turn, 0 to 15.
  const Programs programs = generate(job_for({R"({"pp": 4})", 4, ""}), round_device());
  const program::Program& last = programs.programs[3];
  std::map<std::int32_t, std::uint32_t> seen;
  for (std::size_t i = 0; i < last.operations.size(); ++i) {
    if (last.operations[i].kind == OpKind::kRepeat && last.labels.size() > 0) {
      // The outermost loop over tasks: all its labels advance by one per round.
      const auto& body = last.operations[i + 1];
      if (body.kind == OpKind::kRecv) {
        const program::Label& label = last.labels[body.label];
        CHECK(label.micro_batch_stride == 1);
        for (std::int64_t round = 0; round < last.operations[i].bytes; ++round) {
          ++seen[label.micro_batch + static_cast<std::int32_t>(round) * label.micro_batch_stride];
        }
      }
    } else if (last.operations[i].kind == OpKind::kRecv &&
               program::enclosing_loops(last)[i] == program::Operation::kNone) {
      ++seen[last.labels[last.operations[i].label].micro_batch];
    }
  }
  CHECK(seen.size() == 16);
}

TEST_CASE("every shipped job reads, resolves and generates") {
  const hardware::Accelerator device = round_device();
  const std::map<std::string, std::uint32_t> ranks = {
      {"megatron-22b", 8}, {"megatron-175b", 64}, {"megatron-530b", 280}, {"megatron-1t", 512},
      {"llama3-8b", 16},   {"llama3-70b", 64},    {"llama3-405b", 1024},  {"bloom-176b", 384}};
  for (const std::string& name : config::shipped_names("workloads")) {
    CAPTURE(name);
    const config::DataFile file = config::find_data("workloads", name);
    config::Diagnostics diagnostics;
    const config::Document document = config::Document::load(file.path, diagnostics, file.shown);
    Job job = read_job(document, diagnostics);
    diagnostics.throw_if_any();
    const auto known = ranks.find(name);
    const std::uint32_t count = known != ranks.end() ? known->second : job.plan.tp * job.plan.pp;
    resolve(job, count, document, diagnostics);
    CHECK(job.name == name);
    CHECK(generate(job, device).ranks == count);
  }
  for (const auto& [name, count] : ranks) {
    CHECK_NOTHROW(config::find_data("workloads", name));
  }
}
