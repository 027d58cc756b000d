#include "app/registries.hpp"

#include <fmt/format.h>

#include "collective/collective.hpp"
#include "collective/nccl/settings.hpp"
#include "compute/model.hpp"
#include "config/data_path.hpp"
#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "network/model.hpp"
#include "report/validation_writer.hpp"
#include "report/writer.hpp"
#include "routing/router.hpp"
#include "topology/builder.hpp"
#include "workload/pipeline_schedule.hpp"

namespace stepcast::app {
namespace {

template <class Range>
Registry registry(std::string kind, std::string summary, const Range& range) {
  Registry out{std::move(kind), std::move(summary), {}};
  for (const auto& entry : range) {
    std::span<const config::Option> options;
    if constexpr (requires { entry.options; }) {
      options = entry.options;
    }
    out.entries.push_back({std::string(entry.name), std::string(entry.summary), options});
    if constexpr (requires { entry.scope; }) {
      out.entries.back().notes = {{"scope", std::string(entry.scope)},
                                  {"source", std::string(entry.source)},
                                  {"limits", std::string(entry.limits)}};
    }
  }
  return out;
}

/// Shipped files with the `description` that each carries.
Registry shipped(std::string kind, std::string summary, std::string_view folder) {
  Registry out{std::move(kind), std::move(summary), {}};
  for (const std::string& name : config::shipped_names(folder)) {
    config::Diagnostics diagnostics;
    const config::DataFile file = config::find_data(folder, name);
    const config::Document document = config::Document::load(file.path, diagnostics, file.shown);
    const config::Node description = document.root().get("description");
    out.entries.push_back({name, description.present() ? description.text() : std::string(), {}});
  }
  return out;
}

}  // namespace

std::vector<Registry> registries() {
  std::vector<Registry> all;
  all.push_back(shipped("clusters", "shipped clusters", "topologies"));
  all.push_back(shipped("jobs", "shipped jobs", "workloads"));
  all.push_back(shipped("suites", "shipped validation suites", "validation/suites"));
  all.push_back(
      registry("topologies", "fabric builders: /fabric/kind of a cluster file", topology::builders()));
  all.push_back(registry("routing", "path policies: --routing", routing::policies()));
  all.push_back(registry("fidelities", "network models: --fidelity", network::models()));
  all.push_back(registry("algorithms", "collective algorithms: --algo", collective::algorithms()));
  Registry variables{"nccl_variables", "variables of NCCL: --nccl, /nccl of a cluster file", {}};
  for (const collective::nccl::Variable& variable : collective::nccl::variables()) {
    variables.entries.push_back({std::string(variable.name),
                                 variable.effective ? std::string(variable.summary)
                                                    : fmt::format("no effect here: {}", variable.summary),
                                 {}});
    if (!variable.values.empty()) {
      variables.entries.back().notes.emplace_back("values", variable.values);
    }
  }
  all.push_back(std::move(variables));
  all.push_back(registry("schedules", "pipeline schedules: /parallel/schedule of a job file",
                         workload::pipeline_schedules()));
  all.push_back(registry("compute", "compute models", compute::models()));
  all.push_back(
      registry("formats", "forms of a result: --format of predict and replay", report::result_writers()));
  all.push_back(registry("validation-formats", "forms of a validation: --format of validate",
                         report::validation_writers()));
  const hardware::Catalog catalog = hardware::Catalog::shipped();
  Registry hosts{"hosts", "host kinds of the catalogue: /host of a cluster file", {}};
  for (const std::string& name : catalog.host_names()) {
    hosts.entries.push_back({name, "", {}});
  }
  all.push_back(std::move(hosts));
  Registry accelerators{"accelerators", "accelerators of the catalogue", {}};
  for (const std::string& name : catalog.accelerator_names()) {
    accelerators.entries.push_back({name, "", {}});
  }
  all.push_back(std::move(accelerators));
  return all;
}

}  // namespace stepcast::app
