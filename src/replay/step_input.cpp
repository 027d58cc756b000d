#include "replay/step_input.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "collective/nccl/settings.hpp"
#include "config/data_path.hpp"
#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "placement/placement.hpp"

namespace stepcast::replay {
namespace {

const std::vector<std::string>& cluster_keys() {
  static const std::vector<std::string> keys{"host",   "hosts", "fabric", "storage",
                                             "faults", "sharp", "nccl",   "queue_pairs"};
  return keys;
}

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> keys{"model",        "sequence",  "parallel",   "micro_batch",
                                             "global_batch", "precision", "recompute",  "attention",
                                             "overlap",      "bucket",    "grad_dtype", "dropout",
                                             "checkpoint",   "name",      "description"};
  return keys;
}

bool contains(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Splits "/a/b=value" and returns the first key; throws when it has not that form.
struct Setting {
  std::string pointer;
  std::string value;
  std::string first_key;
};

Setting split(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.empty() || text[0] != '/' || equals == std::string::npos) {
    throw InputError(fmt::format(
        "--set {}: not of the form /pointer=value; write for example --set /micro_batch=2", text));
  }
  Setting setting{text.substr(0, equals), text.substr(equals + 1), {}};
  setting.first_key = setting.pointer.substr(1, setting.pointer.find('/', 1) - 1);
  return setting;
}

/// True when a setting changes the cluster in more than its number of hosts.
bool apply(const std::vector<std::string>& settings, config::Document& cluster, config::Document* job) {
  bool changed = false;
  for (const std::string& text : settings) {
    const Setting setting = split(text);
    if (job != nullptr && contains(job_keys(), setting.first_key)) {
      job->set(setting.pointer, setting.value);
    } else if (contains(cluster_keys(), setting.first_key)) {
      const config::Node host = cluster.root().get("host");
      if (setting.first_key == "host" && setting.pointer != "/host" && host.is_text()) {
        cluster.set("/host",
                    fmt::format("{{\"base\": \"{}\"}}", host.text()));  // a named host becomes one to change
      }
      cluster.set(setting.pointer, setting.value);
      changed = changed || setting.first_key != "hosts";
    } else {
      std::vector<std::string> known = cluster_keys();
      if (job != nullptr) {
        known.insert(known.end(), job_keys().begin(), job_keys().end());
      }
      throw InputError(fmt::format("--set {}: unknown key \"{}\"; {}", text, setting.first_key,
                                   suggest(setting.first_key, known)));
    }
  }
  return changed;
}

/// Adds what --nccl says to what the cluster says, and checks both.
void apply_nccl(const std::vector<std::string>& given, topology::Cluster& cluster) {
  for (const std::string& text : given) {
    for (topology::NcclVariable& variable : collective::nccl::read_variables(text)) {
      if (variable.name == "version") {
        cluster.nccl.version = variable.value;
        cluster.nccl.version_place = variable.place;
      } else {
        cluster.nccl.variables.push_back(std::move(variable));
      }
    }
  }
  const collective::nccl::Settings settings = collective::nccl::settings_of(cluster.nccl);
  if (settings.queue_pairs > 0) {
    cluster.queue_pairs = settings.queue_pairs;
  }
}

[[noreturn]] void refuse_ranks(std::string_view flag,
                               const std::string& ranks,
                               std::size_t count,
                               const std::string& name,
                               std::int64_t gpus) {
  throw InputError(fmt::format("{} {}: {} ranks but the cluster \"{}\" has {} GPUs; use at most {}", flag,
                               ranks, count, name, gpus, gpus));
}

std::vector<std::uint32_t> listed_ranks(std::string_view flag, const std::string& ranks) {
  config::Diagnostics diagnostics;
  std::vector<std::uint32_t> listed = placement::parse_rank_list(ranks, flag, diagnostics);
  diagnostics.throw_if_any();
  return listed;
}

/// Refuses a --ranks text that is wrong in itself or asks for more GPUs than the file declares, before a
/// large fabric is built.
void check_ranks_early(const std::string& ranks,
                       const config::Document& document,
                       const hardware::Catalog& catalog) {
  if (ranks.empty()) {
    return;
  }
  const std::vector<std::uint32_t> listed = listed_ranks("--ranks", ranks);
  const auto gpus = topology::declared_gpus(document, catalog);
  if (gpus && listed.size() > static_cast<std::size_t>(*gpus)) {
    refuse_ranks("--ranks", ranks, listed.size(), document.root().get("name").text(), *gpus);
  }
}

}  // namespace

std::vector<GpuId> RankChoice::group() const {
  std::vector<GpuId> group;
  group.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    group.emplace_back(gpus.empty() ? rank : gpus[rank]);
  }
  return group;
}

RankChoice choose_ranks(const topology::Cluster& cluster, const std::string& ranks, std::string_view flag) {
  const std::uint32_t gpus = cluster.topology.gpu_count();
  RankChoice choice;
  if (ranks.empty()) {
    choice.ranks = gpus;
    return choice;
  }
  const std::vector<std::uint32_t> listed = listed_ranks(flag, ranks);
  choice.ranks = static_cast<std::uint32_t>(listed.size());
  if (choice.ranks > gpus) {
    refuse_ranks(flag, ranks, choice.ranks, cluster.name, gpus);
  }
  if (placement::is_count(ranks)) {
    return choice;
  }
  const auto highest = std::max_element(listed.begin(), listed.end());
  if (highest != listed.end() && *highest >= gpus) {
    throw InputError(
        fmt::format("{} {}: GPU {} does not exist, the cluster \"{}\" has GPUs 0 to {}; list others", flag,
                    ranks, *highest, cluster.name, gpus - 1));
  }
  choice.gpus = listed;
  return choice;
}

Uncertainty step_uncertainty(const StepInput& input) {
  const std::string& accelerator = input.cluster.host.accelerator.name;
  const workload::Job& job = input.job;
  if (!input.cluster.faults.empty() || input.cluster_changed) {
    return {0, "not validated: no measured step of a cluster with faults or changed hardware"};
  }
  config::Diagnostics diagnostics;
  const std::string shown = "validation/bands.json";
  const config::Document document =
      config::Document::load(config::data_root() + "/" + shown, diagnostics, shown);
  const config::Node root = document.root();
  root.allow_only({"schema_version", "bands"});
  Uncertainty found{0, fmt::format("not validated: no measured step of this kind on {} yet", accelerator)};
  for (const config::Node& band : root.require("bands").items()) {
    band.allow_only({"accelerator", "attention", "most_replicas", "schedules", "relative", "basis"});
    const std::vector<std::string> kinds{"unfused", "flash"};
    const bool attention =
        band.require("attention").one_of(kinds) == (job.attention == workload::Attention::kFlash ? 1U : 0U);
    const bool replicas = job.plan.dp <= band.require("most_replicas").integer(1, 1'000'000'000);
    bool schedule = false;
    for (const config::Node& name : band.require("schedules").items()) {
      schedule = name.text() == job.plan.schedule || schedule;
    }
    const double relative = band.require("relative").number(0, 1);
    if (band.require("accelerator").text() == accelerator && attention && replicas && schedule) {
      found = {relative, band.require("basis").text()};
    }
  }
  diagnostics.throw_if_any();
  return found;
}

topology::Cluster load_cluster(const std::string& name,
                               const std::vector<std::string>& settings,
                               const std::string& ranks,
                               const std::vector<std::string>& nccl) {
  config::Diagnostics diagnostics;
  const config::DataFile file = config::find_data("topologies", name);
  config::Document document = config::Document::load(file.path, diagnostics, file.shown);
  static_cast<void>(apply(settings, document, nullptr));
  const hardware::Catalog catalog = hardware::Catalog::shipped();
  check_ranks_early(ranks, document, catalog);
  topology::Cluster cluster = topology::read_cluster(document, catalog, diagnostics);
  apply_nccl(nccl, cluster);
  return cluster;
}

StepInput load_step_input(const std::string& cluster_name,
                          const std::string& job_name,
                          const std::vector<std::string>& settings,
                          const std::string& ranks,
                          const std::vector<std::string>& nccl) {
  const config::DataFile cluster_file = config::find_data("topologies", cluster_name);
  const config::DataFile job_file = config::find_data("workloads", job_name);
  config::Diagnostics cluster_diagnostics;
  config::Diagnostics job_diagnostics;
  config::Document cluster_document =
      config::Document::load(cluster_file.path, cluster_diagnostics, cluster_file.shown);
  config::Document job_document = config::Document::load(job_file.path, job_diagnostics, job_file.shown);
  const bool changed = apply(settings, cluster_document, &job_document);

  const hardware::Catalog catalog = hardware::Catalog::shipped();
  check_ranks_early(ranks, cluster_document, catalog);

  // Both files are read to the end before the first error is reported.
  std::string problems;
  workload::Job job;
  std::optional<topology::Cluster> cluster;
  try {
    cluster = topology::read_cluster(cluster_document, catalog, cluster_diagnostics);
    apply_nccl(nccl, *cluster);
  } catch (const InputError& error) {
    problems = error.what();
  }
  try {
    job = workload::read_job(job_document, job_diagnostics);
  } catch (const InputError& error) {
    problems += (problems.empty() ? "" : "\n") + std::string(error.what());
  }
  if (!problems.empty()) {
    throw InputError(problems);
  }
  RankChoice choice = choose_ranks(*cluster, ranks);
  workload::resolve(job, choice.ranks, job_document, job_diagnostics);
  return {std::move(*cluster), std::move(job), choice.ranks, std::move(choice.gpus), changed};
}

}  // namespace stepcast::replay
