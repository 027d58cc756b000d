#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"
#include "config/node.hpp"

namespace stepcast::workload {

/// Dense decoder transformer.
struct Model {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t ffn_hidden = 0;  ///< width of one matrix
  bool gated_mlp = false;        ///< SwiGLU: three matrices
  std::uint32_t vocab = 0;
  bool tied_embeddings = true;
  bool biases = true;             ///< GPT: linear layers have biases, LayerNorm two vectors
  bool learned_positions = true;  ///< GPT: position embeddings of the sequence length
  friend bool operator==(const Model&, const Model&) = default;
};

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
enum class Attention : std::uint8_t { kUnfused, kFlash };

/// Parallel plan. Rank order (Megatron): tp fastest, then dp, then pp.
struct Plan {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  std::uint32_t dp = 0;              ///< 0 until resolved: ranks / (tp * pp)
  std::uint32_t virtual_stages = 1;  ///< v: model chunks per stage
  std::string schedule = "1f1b";     ///< name of a pipeline schedule
  bool sequence_parallel = false;
  bool distributed_optimizer = true;        ///< ZeRO-1
  std::vector<std::uint32_t> stage_layers;  ///< layers by stage (virtual_stages = 1), explicit or even
};

/// A checked job.
struct Job {
  std::string name;
  std::string description;
  config::Place place;  ///< of its model in the file, for errors found later
  Model model;
  Plan plan;
  std::uint32_t sequence = 0;
  std::uint32_t micro_batch = 1;
  std::uint64_t global_batch = 0;
  DataType precision = DataType::kBf16;
  Recompute recompute = Recompute::kNone;
  Attention attention = Attention::kFlash;
  bool overlap_grad_reduce = true;    ///< bucketed reduction under the last backward
  bool overlap_param_gather = false;  ///< parameter all-gather under the first forward
  bool overlap_p2p = false;           ///< pipeline sends do not block the next chunk
  bool overlap_tp = false;            ///< input-gradient reduction under the weight-gradient GEMM
  Bytes bucket;                       ///< gradient bucket size
  DataType grad_dtype = DataType::kFp32;
  double dropout = 0;  ///< > 0: masks are written and read
  /// Checkpoint written at the end of the step to storage 0 ("none" = 0 bytes).
  bool checkpoint = false;
};

/// Reads a job document (keys: ../../workloads/README.md). Structural checks that need no cluster
/// happen here (heads by tp, layers by stages, interleaving); `resolve` does the rest.
/// `model` may be an object, the path of a file that holds one, or {"hugging_face": "path/config.json"};
/// a Hugging Face config is recognised by "model_type", "hidden_size" or "n_embd". Paths are relative to the
/// job file. Findings are recorded; with any, the job must not be used.
[[nodiscard]] Job read_job(const config::Document& document, config::Diagnostics& diagnostics);

/// Fixes dp for `ranks` ranks and checks what depends on it: tp x pp x dp = ranks, global batch
/// divisible by dp x micro-batch (names the nearest legal --ranks), enough micro-batches to interleave.
/// `document` gives places. Throws InputError with all findings.
void resolve(Job& job,
             std::uint32_t ranks,
             const config::Document& document,
             config::Diagnostics& diagnostics);

/// Micro-batches per data-parallel replica.
[[nodiscard]] std::uint64_t micro_batches(const Job& job);

/// Vocabulary padded to a multiple of 128 x tp (Megatron).
[[nodiscard]] std::uint64_t padded_vocab(const Job& job);

}  // namespace stepcast::workload
