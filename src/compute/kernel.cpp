#include "compute/kernel.hpp"

#include <cmath>

namespace stepcast::compute {

namespace {

/// Kernel of one or several equal matrix products; sizes in double, so that no product overflows.
Kernel products(
    KernelKind kind, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(n);
  const auto depth = static_cast<double>(k);
  const auto count = static_cast<double>(batch);
  const double elements = count * (rows * depth + depth * columns + rows * columns);
  Kernel kernel;
  kernel.kind = kind;
  kernel.dtype = dtype;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.batch = batch;
  kernel.flops = 2 * count * rows * columns * depth;
  kernel.bytes = kernel_bytes(elements * static_cast<double>(element_bytes(dtype)));
  return kernel;
}

}  // namespace

std::int64_t kernel_bytes(double bytes) {
  constexpr double kMost = 9.0e18;
  return bytes < kMost ? std::llround(bytes) : kTooManyBytes;
}

Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  return products(KernelKind::kGemm, 1, m, n, k, dtype);
}

Kernel batched_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  return products(KernelKind::kBatchedGemm, batch, m, n, k, dtype);
}

Kernel elementwise(double bytes) {
  Kernel kernel;
  kernel.kind = KernelKind::kElementwise;
  kernel.bytes = kernel_bytes(bytes);
  return kernel;
}

}  // namespace stepcast::compute
