#pragma once

#include <cstdint>
#include <vector>

#include "hardware/catalog.hpp"
#include "workload/buckets.hpp"
#include "workload/layer_kernels.hpp"
#include "workload/program_builder.hpp"
#include "workload/task_runs.hpp"

namespace stepcast::workload {

/// Slots of a stage's program; kNone where the stage has no such group or peer.
struct StageSlots {
  std::uint32_t tp = program::Operation::kNone;
  std::uint32_t dp = program::Operation::kNone;
  std::uint32_t previous = program::Operation::kNone;
  std::uint32_t next = program::Operation::kNone;
  std::uint32_t embedding = program::Operation::kNone;
};

/// Writes the operations of layers, embedding and head, with their tensor-parallel communication.
/// Internal to workload/; the cuts are drawn in README.md of this folder.
class LayerWriter {
 public:
  LayerWriter(const Job& job,
              const hardware::Accelerator& device,
              const StageSlots& slots,
              ProgramBuilder& builder);

  void forward(std::uint32_t layers, std::uint32_t first);  ///< layers first, first + 1, ...
  void backward(std::uint32_t layers, std::uint32_t last);  ///< layers last, last - 1, ...
  void embedding();
  void embedding_backward();
  void head();
  void head_backward();
  /// Bytes of the activations between two stages that one rank sends.
  [[nodiscard]] double message_bytes() const;
  /// Puts together what the ranks of a tensor-parallel group received in parts (no-op with SP).
  void assemble_message();
  [[nodiscard]] Kernels optimizer(double parameters) const { return kernels_.optimizer(parameters); }

 private:
  [[nodiscard]] bool split() const { return job_.plan.tp > 1; }
  [[nodiscard]] bool sequence_parallel() const { return split() && job_.plan.sequence_parallel; }
  std::uint32_t tensor_collective(std::string_view label, collective::Kind kind, Link link = Link::kChained);
  void reduce_output(std::string_view label);
  void layer_forward(std::string_view label);
  void layer_backward();
  void half_backward(std::string_view label, const Kernels& body, const Kernels& weight);

  const Job& job_;
  const StageSlots& slots_;
  ProgramBuilder& builder_;
  LayerShape shape_;
  LayerKernels kernels_;
};

/// The program of one stage for one step of a resolved job. Adds the slots it needs and reports them.
[[nodiscard]] program::Program stage_program(const Job& job,
                                             const hardware::Accelerator& device,
                                             std::uint32_t stage,
                                             StageSlots& slots);

}  // namespace stepcast::workload
