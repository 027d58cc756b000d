#include "workload/memory.hpp"

#include <cmath>

#include "job_fixture.hpp"
#include "support/catch.hpp"

using namespace stepcast::workload;
using stepcast::workload::testing::Gpt;
using stepcast::workload::testing::job_of;
using stepcast::workload::testing::text_of;

namespace {

constexpr double kGib = 1073741824.0;

struct Figure1 {
  std::uint32_t layers, hidden, heads, pp, v, micro_batch;
  std::uint64_t batch;
  double states, none, sequence_selective;  // GiB
};

Job figure_job(const Figure1& row, bool sequence_parallel, const std::string& recompute) {
  Gpt gpt;
  gpt.layers = row.layers;
  gpt.hidden = row.hidden;
  gpt.heads = row.heads;
  gpt.sequence = 2048;
  gpt.vocab = 51200;
  gpt.micro_batch = row.micro_batch;
  gpt.global_batch = row.batch;
  gpt.parallel = "{\"tp\": 8, \"pp\": " + std::to_string(row.pp) +
                 ", \"virtual_stages\": " + std::to_string(row.v) +
                 ", \"sequence_parallel\": " + (sequence_parallel ? "true" : "false") + "}";
  gpt.more = ", \"dropout\": 0.1, \"attention\": \"unfused\", \"recompute\": \"" + recompute + "\"";
  return job_of(text_of(gpt), 8 * row.pp);
}

}  // namespace

TEST_CASE("first-stage memory of arXiv 2205.05198 figure 1, to every printed digit") {
  // For example 175B: states 18 * 12 * 96 * 12288^2 / 64; none (TP alone): s b h (10 + 24/8 + 5*96*2048/
  // (12288*8)) = 23 s b h per layer, 96/8 layers, 8 (1 + 7/24) micro-batches: 66.84375 GiB;
  // sequence parallel and selective: 34/8 s b h per layer.
  const Figure1 rows[] = {{48, 6144, 64, 1, 1, 4, 4, 45.5625, 59.25, 9.5625},
                          {96, 12288, 96, 8, 3, 1, 64, 45.5625, 66.84375, 12.3516},
                          {105, 20480, 128, 35, 3, 1, 280, 31.6406, 114.0234, 23.0762},
                          {128, 25600, 160, 64, 1, 1, 512, 32.9590, 131.25, 26.5625}};
  for (const Figure1& row : rows) {
    CAPTURE(row.layers);
    const Memory none = memory(figure_job(row, false, "none"));
    const Memory selective = memory(figure_job(row, true, "selective"));
    CHECK(std::abs(none.layers_only_states / kGib - row.states) < 0.00005);
    CHECK(std::abs(none.layers_only_activations / kGib - row.none) < 0.00005);
    CHECK(std::abs(selective.layers_only_activations / kGib - row.sequence_selective) < 0.00005);
  }
}

TEST_CASE("relative activations of arXiv 2205.05198 figure 7 (175B)") {
  const Figure1 row = {96, 12288, 96, 8, 3, 1, 64, 0, 0, 0};
  const double none = activation_bytes_per_layer(figure_job(row, false, "none"));
  const auto share = [&](bool sequence_parallel, const std::string& recompute) {
    return 100 * activation_bytes_per_layer(figure_job(row, sequence_parallel, recompute)) / none;
  };
  CHECK(std::abs(share(true, "none") - 62.04) < 0.1);
  CHECK(std::abs(share(false, "selective") - 56.53) < 0.1);
  CHECK(std::abs(share(true, "selective") - 18.49) < 0.1);
  CHECK(std::abs(share(false, "full") - 8.71) < 0.1);
}

TEST_CASE("flash attention keeps no scores") {
  Gpt gpt;  // s b h = 128 * 256; a s/h = 8 * 128 / 256 = 4
  gpt.more = ", \"dropout\": 0.1";
  CHECK(activation_bytes_per_layer(job_of(text_of(gpt), 1)) == 128.0 * 256 * 34);
  gpt.more = ", \"dropout\": 0.1, \"attention\": \"unfused\"";
  CHECK(activation_bytes_per_layer(job_of(text_of(gpt), 1)) == 128.0 * 256 * (34 + 5 * 4));
  // Without dropout: two masks of one byte less, and only the softmax output of the scores.
  gpt.more = ", \"attention\": \"unfused\"";
  CHECK(activation_bytes_per_layer(job_of(text_of(gpt), 1)) == 128.0 * 256 * (32 + 2 * 4));
}

TEST_CASE("GQA and gated MLPs keep the tensors that they have") {
  // T = 128: plain 4 * 2 h; Q, K, V and output 2 (2 q + 2 kv) with q = 256, kv = 64; MLP gate, up, product.
  const Job job = job_of(R"({"model": {"layers": 8, "hidden": 256, "heads": 8, "kv_heads": 2,
      "ffn_hidden": 512, "gated_mlp": true, "vocab": 1024, "biases": false}, "sequence": 128,
      "global_batch": 16})",
                         1);
  CHECK(activation_bytes_per_layer(job) == 128.0 * (8 * 256 + 2 * (2 * 256 + 2 * 64) + 2 * 3 * 512));
}

TEST_CASE("GPipe keeps all micro-batches, 1F1B as many as stages follow") {
  Gpt gpt;
  gpt.parallel = "{\"pp\": 4, \"schedule\": \"gpipe\"}";
  const Memory all = memory(job_of(text_of(gpt), 4));
  gpt.parallel = "{\"pp\": 4}";
  const Memory few = memory(job_of(text_of(gpt), 4));
  REQUIRE(all.stages.size() == 4);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    CHECK(all.stages[stage].in_flight == 16);
    CHECK(few.stages[stage].in_flight == 4 - stage);
  }
  CHECK(all.layers_only_activations == 4 * few.layers_only_activations);
  CHECK(few.worst_stage == 0);
}

TEST_CASE("a distributed optimizer is shared by the data-parallel ranks, weights are not") {
  Gpt gpt;
  gpt.parallel = "{\"dp\": 4}";
  const StageMemory shared = memory(job_of(text_of(gpt), 4)).stages[0];
  gpt.parallel = "{\"dp\": 4, \"distributed_optimizer\": false}";
  const StageMemory whole = memory(job_of(text_of(gpt), 4)).stages[0];
  // 12 h^2 + 13 h per layer, 8 layers; words 1024 h and positions 128 h, final norm 2 h.
  const double parameters = 8 * (12.0 * 256 * 256 + 13.0 * 256) + (1024.0 + 128 + 2) * 256;
  CHECK(whole.weights == 2 * parameters);
  CHECK(whole.gradients == 4 * parameters);
  CHECK(whole.optimizer == 12 * parameters);
  CHECK(shared.optimizer == 3 * parameters);
  CHECK(shared.weights == whole.weights);
  // The last stage also holds fp32 logits, and the inputs of final norm and head.
  const double layers = 8 * 128.0 * 256 * 32;
  CHECK(whole.activations == layers + 2 * 2 * 128.0 * 256 + 4 * 128.0 * 1024);
  CHECK(whole.peak == whole.weights + whole.gradients + whole.optimizer + whole.activations);
}
