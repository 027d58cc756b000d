#pragma once

#include <cstdint>

#include "hardware/catalog.hpp"
#include "program/program.hpp"
#include "workload/task_runs.hpp"

namespace stepcast::workload {

/// The operations of one task of a stage as a program of its own, written by the code that writes the
/// stage's program: for those who price a task once and know how often it runs.
struct StagePiece {
  program::Program program;
  /// Operations before it are the early parameter gathers of the task's chunk (with `task.gathers`),
  /// which stand on the dp stream from the start of the step, behind those of the chunks before.
  std::uint32_t task_begin = 0;
};

/// The piece of `task` (from stage_tasks); with `last` (the stage's last task) the end of the step
/// follows: reductions, optimizer, parameters, checkpoint. The program has the streams of StreamId, at
/// most one receive, at most one send and at most one collective of the embedding group, none of them
/// in a repeat. Depends on the stage only through the layers of its chunks and whether it is the first
/// or the last one. REQUIRES: a resolved job.
[[nodiscard]] StagePiece stage_piece(const Job& job,
                                     const hardware::Accelerator& device,
                                     std::uint32_t stage,
                                     const StageTask& task,
                                     bool last);

/// The stream on which a piece receives its message.
[[nodiscard]] std::uint16_t receive_stream(bool forward);

}  // namespace stepcast::workload
