#include "workload/flops.hpp"

#include <cmath>

#include "job_fixture.hpp"
#include "support/catch.hpp"

using namespace stepcast::workload;
using stepcast::workload::testing::Gpt;
using stepcast::workload::testing::job_of;
using stepcast::workload::testing::text_of;

namespace {

/// The GPT models of arXiv 2205.05198 (sequence 2,048, vocabulary 51,200) on one replica.
struct Published {
  std::uint32_t layers, hidden, heads;
  std::uint64_t batch;
  std::uint32_t pp;
  double seconds;  // table 5, sequence parallelism and selective recompute
  double gpus;
  double mfu;  // per cent
};

Job published(const Published& row) {
  Gpt gpt;
  gpt.layers = row.layers;
  gpt.hidden = row.hidden;
  gpt.heads = row.heads;
  gpt.sequence = 2048;
  gpt.vocab = 51200;
  gpt.global_batch = row.batch;
  gpt.parallel = "{\"tp\": 8, \"pp\": " + std::to_string(row.pp) + "}";
  return job_of(text_of(gpt), 8 * row.pp);
}

}  // namespace

TEST_CASE("GPT FLOPs equal 72 B L s h^2 (1 + s/6h + V/12hL)") {
  // 175B, B = 64: 72 * 64 * 96 * 2048 * 12288^2 * (1 + 2048/73728 + 51200/14155776)
  //             = 1.36796e17 * (1 + 0.0277778 + 0.0036169) = 1.41091e17.
  const Job job = published({96, 12288, 96, 64, 8, 0, 0, 0});
  const double b = 64, l = 96, s = 2048, h = 12288, v = 51200;
  const double expected = 72 * b * l * s * h * h * (1 + s / (6 * h) + v / (12 * h * l));
  CHECK(std::abs(model_flops_per_step(job, false) / expected - 1) < 1e-12);
  CHECK(model_flops_per_step(job, false) == Approx(1.411e17).epsilon(0.001));
  // The causal count halves the attention term only.
  const double causal = 72 * b * l * s * h * h * (1 + s / (12 * h) + v / (12 * h * l));
  CHECK(std::abs(model_flops_per_step(job, true) / causal - 1) < 1e-12);
}

TEST_CASE("published MFUs follow from published step times with full attention") {
  // arXiv 2205.05198 table 5, A100 at 312 TFLOP/s: 41.5, 51.4, 56.0, 56.3 %. The first is 41.7 % from
  // its time of 1.10 s, which is printed with three digits.
  const Published rows[] = {{48, 6144, 64, 4, 1, 1.10, 8, 41.7},
                            {96, 12288, 96, 64, 8, 13.75, 64, 51.4},
                            {105, 20480, 128, 280, 35, 37.83, 280, 56.0},
                            {128, 25600, 160, 512, 64, 71.49, 512, 56.3}};
  for (const Published& row : rows) {
    CAPTURE(row.layers);
    const double mfu = model_flops_per_step(published(row), false) / (row.seconds * row.gpus * 312e12) * 100;
    CHECK(std::abs(mfu - row.mfu) < 0.2);
  }
}

TEST_CASE("recompute adds what it repeats") {
  Gpt gpt;  // 8 layers, h 256, s 128, V 1024, B 16
  gpt.more = ", \"recompute\": \"full\"";
  const Job full = job_of(text_of(gpt), 1);
  // One more forward of the layers: (24 h^2 + 2 s h) per token and layer, causal; not the head.
  const double forward = 16.0 * 128 * 8 * (24.0 * 256 * 256 + 2.0 * 128 * 256);
  CHECK(hardware_flops_per_step(full) == Approx(model_flops_per_step(full, true) + forward).epsilon(1e-12));
  gpt.more = ", \"recompute\": \"selective\", \"attention\": \"unfused\"";
  const Job selective = job_of(text_of(gpt), 1);
  const double scores = 16.0 * 128 * 8 * 2.0 * 128 * 256;
  CHECK(hardware_flops_per_step(selective) - model_flops_per_step(selective, true) ==
        Approx(scores).epsilon(1e-9));
  gpt.more = ", \"recompute\": \"selective\"";  // flash repeats nothing of its own
  const Job flash = job_of(text_of(gpt), 1);
  CHECK(hardware_flops_per_step(flash) == model_flops_per_step(flash, true));
}

TEST_CASE("parameters of published models") {
  // Llama 3 8B: 2 * 128256 * 4096 + 32 * (4096 * (4096 + 2 * 1024) + 4096^2 + 3 * 4096 * 14336 + 2 * 4096)
  //           + 4096 = 8,030,261,248 (the published count).
  const Job llama = job_of(R"({"model": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8,
      "ffn_hidden": 14336, "gated_mlp": true, "vocab": 128256, "tied_embeddings": false, "biases": false,
      "learned_positions": false}, "sequence": 8192, "global_batch": 1})",
                           1);
  CHECK(parameter_count(llama) == 8'030'261'248.0);
  // GPT-2 small: 124,439,808 with 1,024 positions and a vocabulary of 50,257 (the published checkpoint).
  Gpt gpt;
  gpt.layers = 12;
  gpt.hidden = 768;
  gpt.heads = 12;
  gpt.sequence = 1024;
  gpt.vocab = 50257;
  CHECK(parameter_count(job_of(text_of(gpt), 1)) == 124'439'808.0);
}

TEST_CASE("GQA and gated MLPs are counted by their matrices") {
  // Per token and layer: QKV 4096 x 6144, projection 4096 x 4096, MLP 3 x 4096 x 14336, twice each;
  // attention 4 s (q) full. Head 2 x 4096 x 128256. Three times for forward and backward.
  const Job llama = job_of(R"({"model": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8,
      "ffn_hidden": 14336, "gated_mlp": true, "vocab": 128256, "tied_embeddings": false, "biases": false,
      "learned_positions": false}, "sequence": 8192, "global_batch": 1})",
                           1);
  const double matrices = 4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336;
  const double expected = 3 * 8192 * (32 * (2 * matrices + 4.0 * 8192 * 4096) + 2 * 4096.0 * 128256);
  CHECK(model_flops_per_step(llama, false) == Approx(expected).epsilon(1e-12));
}
