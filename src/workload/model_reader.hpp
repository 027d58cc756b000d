#pragma once

#include "config/node.hpp"
#include "workload/job.hpp"

namespace stepcast::workload {

/// Reads the `model` of a job: our own object, a Hugging Face config, or the path of a file with
/// either (relative to `job_file`, the name the job document was loaded by). Findings are recorded.
[[nodiscard]] Model read_model(const config::Node& node, const std::string& job_file);

}  // namespace stepcast::workload
