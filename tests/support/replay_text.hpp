#pragma once

#include <string>

#include "config/node.hpp"
#include "program/native_format.hpp"
#include "replay/predict.hpp"
#include "support/clean_cluster.hpp"

namespace stepcast::test {

/// Replays a program given as text on a cluster.
inline replay::Run replay_text(const std::string& program,
                               const topology::Cluster& cluster,
                               const replay::PredictOptions& options = {}) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(program, "program.json", diagnostics);
  return replay::replay(cluster, program::read_programs(document, diagnostics), "program.json", options);
}

/// A shipped example program on the clean cluster.
inline replay::Run replay_example(const std::string& name, const replay::PredictOptions& options = {}) {
  config::Diagnostics diagnostics;
  const config::Document document =
      config::Document::load(std::string(STEPCAST_SOURCE_DIR) + "/workloads/programs/" + name + ".json",
                             diagnostics, name + ".json");
  return replay::replay(clean_cluster(), program::read_programs(document, diagnostics), name, options);
}

inline std::int64_t step_ps(const replay::Run& run) {
  return run.result.timeline.end.ps();
}

inline std::int64_t spent_ps(const replay::Run& run, replay::Activity activity) {
  return run.result.timeline.breakdown[static_cast<std::size_t>(activity)].ps();
}

}  // namespace stepcast::test
