#include "workload/layer_kernels.hpp"

#include <cmath>

namespace stepcast::workload {

namespace {

using compute::Kernel;
using compute::KernelKind;

constexpr double kElementBytes = 2;
constexpr double kBackwardPasses = 2;  // an element-wise backward moves twice its forward

// Traffic of fused element-wise kernels, fitted on measured steps with the other constants at their
// priors: GELU reads one and writes one tensor plus half a pass of padding; SwiGLU reads two.
constexpr double kGeluPasses = 2.5;
constexpr double kSwigluPasses = 3.5;
constexpr double kRotaryPasses = 2;  // read and write of Q, K and V (rotation or transpose)

// Bytes per score of unfused attention (fitted on A100 steps): scale, mask and softmax 10, dropout 5
// (read 2, mask 1, write 2); the backward moves 9 and 5.
constexpr double kSoftmaxBytes = 10;
constexpr double kSoftmaxBackwardBytes = 9;
constexpr double kScoreDropoutBytes = 5;

// The dropout beside each residual, and after the embedding, writes its mask and reads it in the backward.
// Unfused attention: elementwise_passes was fitted on its steps, all with dropout, and contains the masks.
constexpr double kMaskBytes = 1;

constexpr double kFp8CastBytes = 3;  // read 2, write 1 per element of an fp8 product's operand

constexpr double kFlashBackwardProducts = 2.5;  // five products where the forward has two
constexpr std::int64_t kFlashTileRows = 128;

// Embedding: gather and write 2 + 2; gradient: read 2, read and write the fp32 sum 8.
constexpr double kEmbeddingBytes = 4;
constexpr double kEmbeddingBackwardBytes = 10;

// The loss touches each logit for the fp32 copy with its maximum, for the exponentials, and for the
// gradient: shares of loss_bytes_per_logit (16 = 6 + 6 + 4).
constexpr double kLossCopyShare = 0.375;
constexpr double kLossSumShare = 0.375;
constexpr double kLossGradientShare = 0.25;

void append(Kernels& out, const Kernels& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

LayerKernels::LayerKernels(const Job& job, const hardware::Accelerator& device)
    : job_(job), device_(device), shape_(layer_shape(job)) {}

Kernel LayerKernels::pass(double passes) const {
  return compute::elementwise(passes * static_cast<double>(shape_.plain_tokens) *
                              static_cast<double>(shape_.hidden) * kElementBytes);
}

double LayerKernels::dropout_passes() const {
  return job_.dropout > 0 && job_.attention == Attention::kFlash ? kMaskBytes / kElementBytes : 0;
}

void LayerKernels::cast(std::int64_t columns, Kernels& out) const {
  if (job_.precision == DataType::kFp8) {
    out.push_back(compute::elementwise(kFp8CastBytes * static_cast<double>(shape_.tokens) *
                                       static_cast<double>(columns)));
  }
}

void LayerKernels::forward_product(std::int64_t n, std::int64_t k, Kernels& out) const {
  cast(k, out);
  out.push_back(compute::gemm(shape_.tokens, n, k, job_.precision));
}

void LayerKernels::input_gradient(std::int64_t n, std::int64_t k, Kernels& out) const {
  cast(n, out);
  out.push_back(compute::gemm(shape_.tokens, k, n, job_.precision));
}

void LayerKernels::weight_gradient(std::int64_t n, std::int64_t k, Kernels& out) const {
  out.push_back(compute::gemm(n, k, shape_.tokens, job_.precision));
}

Kernel LayerKernels::flash(bool forward) const {
  const auto tokens = static_cast<double>(shape_.tokens);
  const auto query = static_cast<double>(shape_.query);
  // Q, K, V in and the output out; the backward reads them and the gradient and writes three gradients.
  const double tensors = static_cast<double>(2 * shape_.query + 2 * shape_.key);
  Kernel kernel;
  kernel.kind = forward ? KernelKind::kFlashForward : KernelKind::kFlashBackward;
  kernel.flops = 2 * tokens * static_cast<double>(shape_.sequence) * query;
  kernel.flops *= forward ? 1 : kFlashBackwardProducts;
  kernel.bytes = compute::kernel_bytes(tokens * tensors * kElementBytes * (forward ? 1 : 2));
  kernel.tiles =
      shape_.heads * shape_.micro_batch * ((shape_.sequence + kFlashTileRows - 1) / kFlashTileRows);
  return kernel;
}

void LayerKernels::attention_core(Kernels& out) const {
  if (job_.attention == Attention::kFlash) {
    out.push_back(flash(true));
    return;
  }
  const std::int64_t batch = shape_.micro_batch * shape_.heads;
  const std::int64_t s = shape_.sequence;
  const double scores = static_cast<double>(batch) * static_cast<double>(s) * static_cast<double>(s);
  out.push_back(compute::batched_gemm(batch, s, s, shape_.head_dim, DataType::kBf16));
  out.push_back(compute::elementwise(scores * kSoftmaxBytes));
  if (job_.dropout > 0) {
    out.push_back(compute::elementwise(scores * kScoreDropoutBytes));
  }
  out.push_back(compute::batched_gemm(batch, s, shape_.head_dim, s, DataType::kBf16));
}

void LayerKernels::attention_core_backward(Kernels& out) const {
  if (job_.attention == Attention::kFlash) {
    out.push_back(flash(false));
    return;
  }
  const std::int64_t batch = shape_.micro_batch * shape_.heads;
  const std::int64_t s = shape_.sequence;
  const std::int64_t d = shape_.head_dim;
  const double scores = static_cast<double>(batch) * static_cast<double>(s) * static_cast<double>(s);
  out.push_back(compute::batched_gemm(batch, s, s, d, DataType::kBf16));  // by the probabilities
  out.push_back(compute::batched_gemm(batch, s, d, s, DataType::kBf16));  // by V
  if (job_.dropout > 0) {
    out.push_back(compute::elementwise(scores * kScoreDropoutBytes));
  }
  out.push_back(compute::elementwise(scores * kSoftmaxBackwardBytes));
  out.push_back(compute::batched_gemm(batch, s, d, s, DataType::kBf16));  // by Q
  out.push_back(compute::batched_gemm(batch, s, d, s, DataType::kBf16));  // by K
}

Kernels LayerKernels::norm() const {
  const double each = device_.elementwise_passes / 4;  // two norms, two residuals
  return {pass(each), pass(each + dropout_passes())};
}

Kernels LayerKernels::residual() const {
  return norm();
}

Kernels LayerKernels::norm_backward() const {
  const double each = kBackwardPasses * device_.elementwise_passes / 4;
  return {pass(each), pass(each + dropout_passes())};
}

Kernels LayerKernels::residual_backward() const {
  return norm_backward();
}

Kernels LayerKernels::attention() const {
  Kernels out;
  forward_product(shape_.query + 2 * shape_.key, shape_.hidden, out);
  out.push_back(compute::elementwise(kRotaryPasses * static_cast<double>(shape_.tokens) *
                                     static_cast<double>(shape_.query + 2 * shape_.key) * kElementBytes));
  attention_core(out);
  forward_product(shape_.hidden, shape_.query, out);
  return out;
}

Kernels LayerKernels::attention_backward() const {
  Kernels out;
  if (job_.recompute == Recompute::kSelective && job_.attention == Attention::kUnfused) {
    attention_core(out);
  }
  input_gradient(shape_.hidden, shape_.query, out);
  weight_gradient(shape_.hidden, shape_.query, out);
  attention_core_backward(out);
  out.push_back(compute::elementwise(kBackwardPasses * kRotaryPasses * static_cast<double>(shape_.tokens) *
                                     static_cast<double>(shape_.query + 2 * shape_.key) * kElementBytes));
  input_gradient(shape_.query + 2 * shape_.key, shape_.hidden, out);
  return out;
}

Kernels LayerKernels::attention_weight() const {
  Kernels out;
  weight_gradient(shape_.query + 2 * shape_.key, shape_.hidden, out);
  return out;
}

namespace {

/// Bytes of the activation function's forward.
double activation_bytes(const LayerShape& shape) {
  const double passes = shape.ffn_in == shape.ffn ? kGeluPasses : kSwigluPasses;
  return passes * static_cast<double>(shape.tokens) * static_cast<double>(shape.ffn) * kElementBytes;
}

}  // namespace

Kernels LayerKernels::mlp() const {
  Kernels out;
  forward_product(shape_.ffn_in, shape_.hidden, out);
  out.push_back(compute::elementwise(activation_bytes(shape_)));
  forward_product(shape_.hidden, shape_.ffn, out);
  return out;
}

Kernels LayerKernels::mlp_backward() const {
  Kernels out;
  input_gradient(shape_.hidden, shape_.ffn, out);
  weight_gradient(shape_.hidden, shape_.ffn, out);
  out.push_back(compute::elementwise(kBackwardPasses * activation_bytes(shape_)));
  input_gradient(shape_.ffn_in, shape_.hidden, out);
  return out;
}

Kernels LayerKernels::mlp_weight() const {
  Kernels out;
  weight_gradient(shape_.ffn_in, shape_.hidden, out);
  return out;
}

Kernels LayerKernels::embedding() const {
  const double elements = static_cast<double>(shape_.tokens) * static_cast<double>(shape_.hidden);
  return {compute::elementwise(kEmbeddingBytes * elements)};
}

Kernels LayerKernels::embedding_backward() const {
  const double elements = static_cast<double>(shape_.tokens) * static_cast<double>(shape_.hidden);
  return {compute::elementwise(kEmbeddingBackwardBytes * elements)};
}

Kernels LayerKernels::final_norm() const {
  return norm();
}

Kernels LayerKernels::final_norm_backward() const {
  return norm_backward();
}

Kernel LayerKernels::loss_bytes(double share) const {
  return compute::elementwise(share * device_.loss_bytes_per_logit * static_cast<double>(shape_.tokens) *
                              static_cast<double>(shape_.vocab));
}

Kernels LayerKernels::logits() const {
  Kernels out = {compute::gemm(shape_.tokens, shape_.vocab, shape_.hidden, DataType::kBf16)};
  append(out, {loss_bytes(kLossCopyShare)});
  return out;
}

Kernels LayerKernels::loss() const {
  return {loss_bytes(kLossSumShare)};
}

Kernels LayerKernels::logits_backward() const {
  return {loss_bytes(kLossGradientShare),
          compute::gemm(shape_.tokens, shape_.hidden, shape_.vocab, DataType::kBf16)};
}

Kernels LayerKernels::logits_weight() const {
  return {compute::gemm(shape_.vocab, shape_.hidden, shape_.tokens, DataType::kBf16)};
}

Kernels LayerKernels::optimizer(double parameters) const {
  Kernel update;
  update.kind = KernelKind::kOptimizer;
  update.dtype = DataType::kFp32;
  update.bytes = compute::kernel_bytes(device_.optimizer_bytes_per_parameter * parameters);
  Kernel fixed;
  fixed.kind = KernelKind::kFixed;
  fixed.bytes = device_.step_overhead.ps();
  return {update, fixed};
}

}  // namespace stepcast::workload
