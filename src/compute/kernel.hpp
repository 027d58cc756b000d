#pragma once

#include <cstdint>
#include <limits>

#include "base/dtype.hpp"

namespace stepcast::compute {

enum class KernelKind : std::uint8_t {
  kGemm,           ///< C[m,n] += A[m,k] B[k,n]
  kBatchedGemm,    ///< unfused attention: `batch` products over the full S x S scores
  kFlashForward,   ///< fused attention forward; flops = causal FLOPs
  kFlashBackward,  ///< fused attention backward; flops = causal FLOPs
  kElementwise,    ///< memory-bound: counted in bytes
  kOptimizer,      ///< memory-bound optimizer update: bytes
  kFixed,          ///< a duration that no device constant changes (ps in `bytes`)
};

/// One GPU kernel by shape. Unused fields are 0.
struct Kernel {
  KernelKind kind = KernelKind::kElementwise;
  DataType dtype = DataType::kBf16;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  double flops = 0;        ///< model FLOPs that the kernel executes (2mnk batch for GEMMs)
  std::int64_t bytes = 0;  ///< HBM traffic: of a memory-bound kernel, or of operands and results
  std::int64_t tiles = 0;  ///< flash: 128-row query tiles (heads x batch x ceil(S/128)); 0 = unknown
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Whole bytes of a kernel; kTooManyBytes when they do not fit, which Model::sequence refuses.
inline constexpr std::int64_t kTooManyBytes = std::numeric_limits<std::int64_t>::max();
[[nodiscard]] std::int64_t kernel_bytes(double bytes);

/// A GEMM with operands of `dtype`: bytes = (mk + kn + mn) elements.
[[nodiscard]] Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype);
[[nodiscard]] Kernel batched_gemm(
    std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype);
[[nodiscard]] Kernel elementwise(double bytes);

}  // namespace stepcast::compute
