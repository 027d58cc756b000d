#pragma once

#include "hardware/catalog.hpp"
#include "program/program.hpp"
#include "workload/job.hpp"

namespace stepcast::workload {

/// Programs of one step of a resolved job: one program per pipeline stage, shared by its tp x dp
/// ranks; steady states are `repeat`s, so that the size does not grow with micro-batches.
/// Streams: compute, tp, dp, pp sends and receives per direction, storage.
/// `device` supplies the constants that decide kernel bytes (element-wise passes, loss bytes).
[[nodiscard]] program::Programs generate(const Job& job, const hardware::Accelerator& device);

}  // namespace stepcast::workload
