#pragma once

#include <cstdint>

#include "hardware/catalog.hpp"
#include "program/program.hpp"
#include "workload/task_runs.hpp"

namespace stepcast::workload {

/// A part of a stage's program as a program of its own, written by the code that writes the whole: for
/// those who price a part once and know how often it runs. It has the streams of StreamId. Messages and
/// the all-reduce of tied embeddings are never in a repeat, and there is at most one of each.
struct StagePiece {
  program::Program program;
  /// Operations before it are the early parameter gathers of a chunk, which stand on the dp stream from
  /// the start of the step, behind those of the chunks before.
  std::uint32_t begin = 0;
  /// Of a task: the operation that ends its chain, which the end of the step follows. Of the end of the
  /// step: a wait that stands for that operation.
  std::uint32_t done = 0;
};

/// One task (from stage_tasks). Depends on the stage only through the layers of its chunks and whether it
/// is the first or the last one. A forward does not depend on `recompute` and `overlap_tp`; only tasks that
/// gather or reduce depend on `bucket`, `grad_dtype` and `distributed_optimizer`. REQUIRES: a resolved job.
[[nodiscard]] StagePiece task_piece(const Job& job,
                                    const hardware::Accelerator& device,
                                    std::uint32_t stage,
                                    const StageTask& task);

/// What follows a stage's last task: reductions, optimizer, parameters, checkpoint. Depends on the sequence
/// through learned positions alone, not on micro-batches and on what a layer computes.
[[nodiscard]] StagePiece end_piece(const Job& job, const hardware::Accelerator& device, std::uint32_t stage);

/// The stream on which a piece receives its message.
[[nodiscard]] std::uint16_t receive_stream(bool forward);

}  // namespace stepcast::workload
