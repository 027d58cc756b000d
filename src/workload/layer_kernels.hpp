#pragma once

#include <vector>

#include "compute/kernel.hpp"
#include "hardware/catalog.hpp"
#include "workload/shapes.hpp"

namespace stepcast::workload {

using Kernels = std::vector<compute::Kernel>;

/// Kernels of one GPU for one micro-batch, cut where tensor parallelism communicates. Internal to
/// workload/. Counts of bytes are in README.md of this folder.
class LayerKernels {
 public:
  LayerKernels(const Job& job, const hardware::Accelerator& device);

  // Forward of one layer, in order.
  [[nodiscard]] Kernels norm() const;       ///< residual of the layer before, first norm
  [[nodiscard]] Kernels attention() const;  ///< QKV, attention, projection
  [[nodiscard]] Kernels residual() const;   ///< residual, second norm
  [[nodiscard]] Kernels mlp() const;

  // Backward. Each half ends with the weight gradient of its column-parallel product, which needs the
  // gathered input and is apart for that reason.
  [[nodiscard]] Kernels mlp_backward() const;
  [[nodiscard]] Kernels mlp_weight() const;
  [[nodiscard]] Kernels residual_backward() const;
  [[nodiscard]] Kernels attention_backward() const;  ///< repeats the attention core when selective
  [[nodiscard]] Kernels attention_weight() const;
  [[nodiscard]] Kernels norm_backward() const;

  // Ends of the model.
  [[nodiscard]] Kernels embedding() const;
  [[nodiscard]] Kernels embedding_backward() const;
  [[nodiscard]] Kernels final_norm() const;  ///< residual of the last layer, final norm
  [[nodiscard]] Kernels final_norm_backward() const;
  [[nodiscard]] Kernels logits() const;  ///< head product, fp32 copy and maximum
  [[nodiscard]] Kernels loss() const;    ///< exponentials and their sum
  [[nodiscard]] Kernels logits_backward() const;
  [[nodiscard]] Kernels logits_weight() const;

  /// Optimizer update of `parameters` local elements, and the fixed part of a step.
  [[nodiscard]] Kernels optimizer(double parameters) const;

 private:
  void forward_product(std::int64_t n, std::int64_t k, Kernels& out) const;
  void input_gradient(std::int64_t n, std::int64_t k, Kernels& out) const;
  void weight_gradient(std::int64_t n, std::int64_t k, Kernels& out) const;
  void cast(std::int64_t columns, Kernels& out) const;
  void attention_core(Kernels& out) const;
  void attention_core_backward(Kernels& out) const;
  [[nodiscard]] compute::Kernel pass(double passes) const;
  /// The mask of a dropout beside a residual, in passes.
  [[nodiscard]] double dropout_passes() const;
  [[nodiscard]] compute::Kernel flash(bool forward) const;
  [[nodiscard]] compute::Kernel loss_bytes(double share) const;

  const Job& job_;
  const hardware::Accelerator& device_;
  LayerShape shape_;
};

}  // namespace stepcast::workload
