#include "workload/model_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/data_path.hpp"
#include "config/quote.hpp"

namespace stepcast::workload {

namespace {

constexpr std::int64_t kMostLayers = 100'000;
constexpr std::int64_t kWidest = 1 << 22;
constexpr std::int64_t kMostHeads = 1 << 16;
constexpr std::int64_t kLargestVocabulary = 1 << 28;

std::uint32_t count(const config::Node& node, std::int64_t upper) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(1, node.integer(1, upper)));
}

/// An optional count with a default.
std::uint32_t count_or(const config::Node& node, std::int64_t upper, std::uint32_t fallback) {
  return node.present() && !node.is_null() ? count(node, upper) : fallback;
}

/// hidden / heads, with an error at `where` when that is not whole. Errors beyond `before` mean that the
/// numbers are fallbacks: comparing them would say nothing new.
std::uint32_t even_head_dim(const Model& model, const config::Node& where, std::size_t before) {
  if (where.diagnostics().size() == before && model.hidden % model.heads != 0) {
    where.error(fmt::format("{} hidden columns are not divisible by {} heads", model.hidden, model.heads),
                "give head_dim, or another number of heads");
  }
  return std::max(1U, model.hidden / model.heads);
}

void check_kv_heads(const Model& model, const config::Node& where, std::size_t before) {
  if (where.present() && where.diagnostics().size() == before && model.heads % model.kv_heads != 0) {
    where.error(fmt::format("{} heads are not divisible by {} kv_heads", model.heads, model.kv_heads),
                "each key/value head serves the same number of query heads");
  }
}

Model read_own(const config::Node& node) {
  const std::size_t before = node.diagnostics().size();
  node.allow_only({"name", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "gated_mlp",
                   "vocab", "tied_embeddings", "biases", "learned_positions"});
  Model model;
  if (node.get("name").present()) {
    model.name = node.get("name").name();
  }
  model.layers = count(node.require("layers"), kMostLayers);
  model.hidden = count(node.require("hidden"), kWidest);
  model.heads = count(node.require("heads"), kMostHeads);
  model.vocab = count(node.require("vocab"), kLargestVocabulary);
  model.kv_heads = count_or(node.get("kv_heads"), kMostHeads, model.heads);
  model.head_dim = node.get("head_dim").present() ? count(node.get("head_dim"), kWidest)
                                                  : even_head_dim(model, node.get("heads"), before);
  model.ffn_hidden = count_or(node.get("ffn_hidden"), kWidest, 4 * model.hidden);
  const auto flag = [&](std::string_view key, bool& value) {
    if (node.get(key).present()) {
      value = node.get(key).boolean();
    }
  };
  flag("gated_mlp", model.gated_mlp);
  flag("tied_embeddings", model.tied_embeddings);
  flag("biases", model.biases);
  flag("learned_positions", model.learned_positions);
  check_kv_heads(model, node.get("kv_heads"), before);
  return model;
}

/// What the architecture of a Hugging Face model_type implies and its config does not say.
struct Family {
  std::string_view type;
  bool gated;
  bool biases;
  bool learned_positions;
  bool tied;
};
// Defaults of the model classes in the transformers library (configuration_<type>.py, modeling_<type>.py).
constexpr std::array<Family, 13> kFamilies = {
    Family{"gpt2", false, true, true, true},       Family{"gpt_neo", false, true, true, true},
    Family{"gpt_neox", false, true, false, false}, Family{"gpt_bigcode", false, true, true, true},
    Family{"opt", false, true, true, true},        Family{"bloom", false, true, false, true},
    Family{"llama", true, false, false, false},    Family{"mistral", true, false, false, false},
    Family{"qwen2", true, false, false, false},    Family{"qwen3", true, false, false, false},
    Family{"gemma", true, false, false, true},     Family{"gemma2", true, false, false, true},
    Family{"phi3", true, false, false, false},
};

/// The family that "model_type" names. One that is not listed may not be a decoder at all, or have other
/// parts than the config says: refused, not guessed.
Family family_of(const config::Node& node) {
  const config::Node type = node.require("model_type");
  if (!type.present()) {
    return kFamilies.front();
  }
  const std::string name = type.text();
  std::vector<std::string> known;
  for (const Family& family : kFamilies) {
    if (family.type == name) {
      return family;
    }
    known.emplace_back(family.type);
  }
  if (type.is_text()) {
    type.unsupported(
        fmt::format("model type {} is not modelled", config::in_quotes(name)),
        fmt::format("known dense decoders: {}; or describe the model by layers, hidden, heads ... "
                    "(workloads/README.md)",
                    fmt::join(known, ", ")));
  }
  return kFamilies.front();
}

/// First present member of several spellings.
config::Node first_of(const config::Node& node, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const config::Node member = node.get(key); member.present() && !member.is_null()) {
      return member;
    }
  }
  return {};
}

/// First present member; when none is there, the error names the first spelling.
config::Node need(const config::Node& node, std::initializer_list<std::string_view> keys) {
  const config::Node found = first_of(node, keys);
  return found.present() ? found : node.require(*keys.begin());
}

/// Other keys of a Hugging Face config (dropout, tokens, library version ...) do not matter here.
Model read_hugging_face(const config::Node& node) {
  if (const config::Node experts = first_of(node, {"num_local_experts", "n_routed_experts", "num_experts"});
      experts.present()) {
    experts.unsupported("mixture-of-experts models are not modelled", "use a dense model");
  }
  const std::size_t before = node.diagnostics().size();
  const Family family = family_of(node);
  Model model;
  if (const config::Node name = first_of(node, {"_name_or_path", "model_type"}); name.present()) {
    model.name = name.name();
  }
  model.layers = count(need(node, {"num_hidden_layers", "n_layer", "num_layers"}), kMostLayers);
  model.hidden = count(need(node, {"hidden_size", "n_embd"}), kWidest);
  const config::Node heads = need(node, {"num_attention_heads", "n_head", "num_heads"});
  model.heads = count(heads, kMostHeads);
  model.vocab = count(need(node, {"vocab_size"}), kLargestVocabulary);
  const config::Node kv_heads = first_of(node, {"num_key_value_heads"});
  model.kv_heads = count_or(kv_heads, kMostHeads, model.heads);
  const config::Node head_dim = first_of(node, {"head_dim"});
  model.head_dim = head_dim.present() ? count(head_dim, kWidest) : even_head_dim(model, heads, before);
  model.ffn_hidden = count_or(first_of(node, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}),
                              kWidest, 4 * model.hidden);
  model.gated_mlp = family.gated;
  model.biases = family.biases;
  model.learned_positions = family.learned_positions;
  const config::Node tied = node.get("tie_word_embeddings");
  model.tied_embeddings = tied.present() ? tied.boolean() : family.tied;
  check_kv_heads(model, kv_heads, before);
  return model;
}

Model read_object(const config::Node& node) {
  const bool hugging_face =
      node.get("model_type").present() || node.get("hidden_size").present() || node.get("n_embd").present();
  return hugging_face ? read_hugging_face(node) : read_own(node);
}

/// The file that `node` names, beside the job file or, for shipped jobs, under the data root.
Model read_file(const config::Node& node, const std::string& job_file) {
  namespace fs = std::filesystem;
  const std::string text = node.text();
  const fs::path relative = fs::path(job_file).parent_path() / text;
  std::error_code ignored;
  fs::path found = relative;
  if (!fs::is_regular_file(found, ignored)) {
    found = fs::path(config::data_root()) / relative;
  }
  if (text.empty() || !fs::is_regular_file(found, ignored)) {
    node.error(fmt::format("no file \"{}\"", text),
               fmt::format("paths are relative to the job file: {}", relative.string()));
    return {};
  }
  const config::Document document =
      config::Document::load(found.string(), node.diagnostics(), relative.string());
  if (!document.root().is_object()) {
    document.root().error("a model is an object", "write {\"layers\": ..., \"hidden\": ...}");
    return {};
  }
  Model model = read_object(document.root());
  if (model.name.empty()) {
    model.name = fs::path(text).stem().string();
  }
  return model;
}

}  // namespace

Model read_model(const config::Node& node, const std::string& job_file) {
  if (node.is_text()) {
    return read_file(node, job_file);
  }
  if (!node.is_object()) {
    node.error("a model is an object or the path of a file",
               "write {\"layers\": ..., \"hidden\": ...} or {\"hugging_face\": \"config.json\"}");
    return {};
  }
  if (node.get("hugging_face").present()) {
    node.allow_only({"hugging_face"});
    return read_file(node.get("hugging_face"), job_file);
  }
  return read_object(node);
}

}  // namespace stepcast::workload
