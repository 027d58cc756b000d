#include "workload/job.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "job_fixture.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::workload;
using stepcast::workload::testing::Gpt;
using stepcast::workload::testing::job_of;
using stepcast::workload::testing::problem_of;
using stepcast::workload::testing::text_of;

namespace {

std::string problem_with(const std::string& parallel, std::uint32_t ranks, std::uint64_t batch = 16) {
  Gpt gpt;
  gpt.parallel = parallel;
  gpt.global_batch = batch;
  return problem_of(text_of(gpt), ranks);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a job is read with its defaults") {
  const Job job = job_of(text_of(Gpt()), 4);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.head_dim == 32);
  CHECK(job.model.ffn_hidden == 1024);
  CHECK(job.model.tied_embeddings);
  CHECK(job.plan.dp == 4);
  CHECK(job.plan.schedule == "1f1b");
  CHECK(job.plan.distributed_optimizer);
  CHECK(micro_batches(job) == 4);
  CHECK(job.attention == Attention::kFlash);
  CHECK(job.precision == DataType::kBf16);
  CHECK(job.grad_dtype == DataType::kFp32);
  CHECK(job.bucket == Bytes(160'000'000));
}

TEST_CASE("every key of a job is read") {
  const Job job = job_of(R"({
    "name": "n", "description": "d",
    "model": {"name": "m", "layers": 6, "hidden": 256, "heads": 8, "kv_heads": 4, "head_dim": 64,
              "ffn_hidden": 512, "gated_mlp": true, "vocab": 1000, "tied_embeddings": false, "biases": false,
              "learned_positions": false},
    "sequence": 128,
    "parallel": {"tp": 2, "pp": 2, "dp": 2, "virtual_stages": 1, "schedule": "gpipe",
                 "sequence_parallel": true, "distributed_optimizer": false, "stage_layers": [4, 2]},
    "micro_batch": 2, "global_batch": 8, "precision": "fp8", "recompute": "full", "attention": "unfused",
    "overlap": {"grad_reduce": false, "param_gather": true, "p2p": true, "tp": true},
    "bucket": "25 MiB", "grad_dtype": "bf16", "dropout": 0.1, "checkpoint": true})",
                         8);
  CHECK(job.name == "n");
  CHECK(job.model.name == "m");
  CHECK(job.model.head_dim == 64);
  CHECK(job.model.gated_mlp);
  CHECK(job.plan.stage_layers == std::vector<std::uint32_t>{4, 2});
  CHECK(job.plan.sequence_parallel);
  CHECK_FALSE(job.plan.distributed_optimizer);
  CHECK(micro_batches(job) == 2);
  CHECK(padded_vocab(job) == 1024);  // next multiple of 128 * 2
  CHECK(job.precision == DataType::kFp8);
  CHECK(job.recompute == Recompute::kFull);
  CHECK(job.attention == Attention::kUnfused);
  CHECK_FALSE(job.overlap_grad_reduce);
  CHECK(job.overlap_param_gather);
  CHECK(job.overlap_p2p);
  CHECK(job.overlap_tp);
  CHECK(job.bucket == Bytes(25 << 20));
  CHECK(job.grad_dtype == DataType::kBf16);
  CHECK(job.dropout == 0.1);
  CHECK(job.checkpoint);
}

TEST_CASE("plans that do not fit are refused with a way out") {
  CHECK(
      has(problem_with(R"({"tp": 3})", 3), "/parallel/tp: 8 heads are not divisible by tp 3; use tp 2 or 4"));
  CHECK(has(problem_with(R"({"pp": 3})", 3), "/parallel/pp: 8 layers are not divisible by pp 3"));
  CHECK(has(problem_with(R"({"pp": 3})", 3), "or give stage_layers"));
  CHECK(has(problem_with(R"({"pp": 4, "virtual_stages": 3})", 4), "pp x virtual_stages = 4 x 3"));
  CHECK(has(problem_with(R"({"pp": 2, "stage_layers": [4, 5]})", 2), "hold 9 layers, but the model has 8"));
  CHECK(has(problem_with(R"({"pp": 2, "stage_layers": [4, 2, 2]})", 2), "3 stages listed, but pp is 2"));
  CHECK(has(problem_with(R"({"tp": 2, "pp": 2, "dp": 2})", 4), "2 x 2 x 2 = 8, but there are 4 ranks"));
  CHECK(has(problem_with(R"({"tp": 2, "pp": 2})", 6), "6 ranks are not a multiple of tp x pp = 2 x 2"));
  CHECK(has(problem_with(R"({"schedule": "1f1c"})", 1), "did you mean \"1f1b\"?"));
  CHECK(has(problem_with(R"({"schedule": "1f1b", "pp": 2, "virtual_stages": 2})", 2), "one chunk per stage"));
  CHECK(has(problem_with(R"({"schedule": "interleaved", "pp": 2})", 2), "needs virtual_stages > 1"));
  CHECK(has(problem_with(R"({"virtual_stages": 2})", 1), "virtual_stages needs pp > 1"));
  CHECK(has(problem_with(R"({"sequence_parallel": true})", 1), "sequence_parallel needs tp > 1"));
  CHECK(has(problem_with(R"({"tpp": 2})", 1), "/parallel/tpp"));
}

TEST_CASE("an unequal global batch names the nearest legal number of ranks") {
  // 16 sequences on dp 6: legal dp are 1, 2, 4, 8, 16; 4 and 8 are equally near, the smaller is named.
  CHECK(
      has(problem_with(R"({"tp": 2})", 12), "global_batch 16 is not divisible by dp x micro_batch = 6 x 1"));
  CHECK(has(problem_with(R"({"tp": 2})", 12), "--ranks 8 (dp 4)"));
  // 9 ranks of tp 2: dp would be 4.
  CHECK(has(problem_with(R"({"tp": 2})", 9), "--ranks 8 (dp 4)"));
}

TEST_CASE("interleaving needs whole groups of micro-batches") {
  const std::string plan = R"({"pp": 4, "virtual_stages": 2})";
  CHECK(problem_with(plan, 4, 8).empty());
  CHECK(has(problem_with(plan, 8, 6), "3 micro-batches per replica are too few to interleave 4 stages"));
  CHECK(has(problem_with(plan, 4, 6), "6 micro-batches per replica are not a multiple of pp 4"));
  // 8 sequences on dp 8 leave one micro-batch; dp 2 leaves four.
  CHECK(has(problem_with(plan, 32, 8), "--ranks 8 (dp 2)"));
}

TEST_CASE("tensor parallelism must divide key heads, columns and the sequence") {
  const auto problem = [](const std::string& kv_heads) {
    return problem_of(R"({"model": {"layers": 2, "hidden": 512, "heads": 16, "kv_heads": )" + kv_heads +
                          R"(, "vocab": 100}, "sequence": 100, "global_batch": 8,
                          "parallel": {"tp": 8, "sequence_parallel": true}})",
                      8);
  };
  CHECK(has(problem("2"), "2 kv_heads are not divisible by tp 8; use tp 2"));
  CHECK_FALSE(has(problem("2"), "sequence of 100"));  // the same tp: once is enough
  CHECK(has(problem("8"), "a sequence of 100 tokens is not divisible by tp 8"));
}

TEST_CASE("several mistakes are reported together, with places") {
  const std::string problem = problem_of(R"({"model": {"layers": 2, "hidden": 10, "heads": 3, "vocab": 100},
      "sequence": "long", "global_batch": 0, "precison": "bf16"})",
                                         1);
  CHECK(has(problem, "/model/heads: 10 hidden columns are not divisible by 3 heads"));
  CHECK(has(problem, "/sequence"));
  CHECK(has(problem, "/global_batch"));
  CHECK(has(problem, "did you mean \"precision\"?"));
  CHECK(has(problem_of("[]", 1), "a job is an object"));
  CHECK(has(problem_of(R"({"sequence": 8, "global_batch": 1})", 1), "model"));
}

TEST_CASE("a Hugging Face config is a model") {
  const Job llama = job_of(R"({"model": {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
      "rope_theta": 500000.0, "hidden_act": "silu"}, "sequence": 8192, "global_batch": 8})",
                           8);
  CHECK(llama.model.gated_mlp);
  CHECK_FALSE(llama.model.biases);
  CHECK_FALSE(llama.model.tied_embeddings);
  CHECK_FALSE(llama.model.learned_positions);
  CHECK(llama.model.ffn_hidden == 14336);
  CHECK(llama.model.kv_heads == 8);
  const Job gpt = job_of(R"({"model": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
      "vocab_size": 50257, "n_inner": null}, "sequence": 1024, "global_batch": 8})",
                         8);
  CHECK_FALSE(gpt.model.gated_mlp);
  CHECK(gpt.model.biases);
  CHECK(gpt.model.tied_embeddings);
  CHECK(gpt.model.learned_positions);
  CHECK(gpt.model.ffn_hidden == 3072);
  const std::string experts = problem_of(R"({"model": {"hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 2, "vocab_size": 100, "num_local_experts": 8}, "sequence": 8, "global_batch": 1})",
                                         1);
  CHECK(has(experts, "mixture-of-experts models are not modelled"));
}

TEST_CASE("a model file stands beside its job file") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "stepcast_job_test";
  fs::create_directories(folder);
  std::ofstream(folder / "config.json")
      << R"({"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100})";
  std::ofstream(folder / "job.json")
      << R"({"model": {"hugging_face": "config.json"}, "sequence": 8, "global_batch": 4})";
  std::ofstream(folder / "lost.json") << R"({"model": "gone.json", "sequence": 8, "global_batch": 4})";
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::load((folder / "job.json").string(), diagnostics);
  const Job job = read_job(document, diagnostics);
  CHECK(diagnostics.empty());
  CHECK(job.model.layers == 2);
  CHECK(job.model.heads == 4);
  CHECK(job.model.biases);
  CHECK(job.name == "bloom");
  const config::Document lost = config::Document::load((folder / "lost.json").string(), diagnostics);
  (void)read_job(lost, diagnostics);
  CHECK_THROWS_WITH(diagnostics.throw_if_any(), Catch::Contains("no file \"gone.json\""));
  fs::remove_all(folder);
}
