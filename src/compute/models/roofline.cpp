// Roofline with shape effects: each kernel takes the longer of its arithmetic and its traffic.
//
// Scope:        dense GEMMs (bf16, fp16, fp8, fp32), unfused and flash attention, element-wise and
//               optimizer kernels of transformer training, one kernel at a time on one GPU.
// Assumes:      clocks of sustained training are in the efficiencies; launches run ahead of the GPU.
// Not covered:  grouped GEMMs of experts, sparsity, block-scaled fp4/fp8 formats, power differences
//               between parts of equal nameplate (give such a part its own catalogue entry).
// Source:       forms of NVIDIA "Matrix Multiplication Background" (tile and wave quantisation) and the
//               roofline of Williams et al., CACM 52(4), 2009; constants by device in the catalogue.
// Validated by: tests/unit/compute/roofline_test.cpp (by hand); validation/ (measured steps).

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "compute/model.hpp"

namespace stepcast::compute {

namespace {

/// Output tile of a thread block and its rate relative to the largest one (fitted on 697 GEMM shapes
/// profiled on A100 and B200: the smaller tile reuses less and runs at 0.85).
struct Tile {
  double rows;
  double columns;
  double rate;
};
constexpr std::array<Tile, 2> kTiles = {Tile{256, 128, 1.0}, Tile{128, 128, 0.85}};

/// Tensor cores want rows of 128 bytes: 64 elements of 16 bits.
constexpr std::int64_t kAlignment = 64;

/// Loads of fp8 take as long per element pair as the math shrinks: saturation needs twice the depth
/// (fitted on H100 and B200 steps).
constexpr double kFp8DepthFactor = 2;

/// Batched GEMMs whose head dimension is not a multiple of 8 leave the tensor-core path
/// (fitted on A100 steps with head dimension 108 and 149).
constexpr std::int64_t kHeadAlignment = 8;
constexpr double kMisalignedHeadFactor = 0.4;

/// Flash attention reaches t / (t + c) of its rate with t query tiles per SM (fitted on a B200 sweep
/// of 4 to 128 heads and on H100 steps: 1.5 to 2.4 forward, a quarter of it backward).
constexpr double kFlashHalfTilesForward = 2.0;
constexpr double kFlashHalfTilesBackward = 0.5;

constexpr double kLongestSeconds = 9.0e6;

struct Cost {
  double seconds = 0;
  CostClass cost_class = CostClass::kMemory;
};

double memory_seconds(const Kernel& kernel, const hardware::Accelerator& device) {
  return static_cast<double>(kernel.bytes) /
         (device.hbm_bandwidth.bytes_per_second() * device.memory_efficiency);
}

/// Share of the tile slots that hold work, for the better tile.
double wave_efficiency(const Kernel& kernel, const hardware::Accelerator& device) {
  const auto rows = static_cast<double>(kernel.m);
  const auto columns = static_cast<double>(kernel.n);
  const auto sms = static_cast<double>(device.sm_count);
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns);
    const double slots = sms * std::ceil(tiles / sms);
    best = std::max(best, tile.rate * rows * columns / (tile.rows * tile.columns * slots));
  }
  return best;
}

/// Peak and efficiency of a GEMM's type on a device.
struct Rate {
  double peak = 0;
  double efficiency = 0;
  double k_half = 0;
};

Rate rate_of(DataType dtype, const hardware::Accelerator& device) {
  switch (dtype) {
    case DataType::kFp16:
    case DataType::kBf16:
      return {device.peak_fp16.flops_per_second(), device.gemm_efficiency, device.gemm_k_half};
    case DataType::kFp8:
      return {device.peak_fp8.flops_per_second(), device.gemm_efficiency_fp8,
              kFp8DepthFactor * device.gemm_k_half};
    case DataType::kFp32:
      return {device.peak_fp32.flops_per_second(), device.gemm_efficiency, device.gemm_k_half};
    default: return {};
  }
}

Cost gemm_cost(const Kernel& kernel, const hardware::Accelerator& device) {
  const Rate rate = rate_of(kernel.dtype, device);
  if (rate.peak <= 0 || rate.efficiency <= 0) {
    throw UnsupportedError(
        fmt::format("accelerator {} has no {} matrix rate; use precision bf16, or give it "
                    "a peak and an efficiency for {}",
                    device.name, name_of(kernel.dtype), name_of(kernel.dtype)));
  }
  const double weight = device.gemm_wave_weight;
  const auto depth = static_cast<double>(kernel.k);
  double quality = (1 - weight + weight * wave_efficiency(kernel, device)) * depth / (depth + rate.k_half);
  if (kernel.n % kAlignment != 0 || kernel.k % kAlignment != 0) {
    quality *= device.gemm_misaligned_factor;
  }
  const double math = kernel.flops / (rate.peak * rate.efficiency * quality);
  const double traffic = memory_seconds(kernel, device);
  return math >= traffic ? Cost{math, CostClass::kGemm} : Cost{traffic, CostClass::kMemory};
}

Cost batched_gemm_cost(const Kernel& kernel, const hardware::Accelerator& device) {
  const bool aligned = kernel.n % kHeadAlignment == 0 && kernel.k % kHeadAlignment == 0;
  const double efficiency = device.unfused_attention_efficiency * (aligned ? 1 : kMisalignedHeadFactor);
  return {kernel.flops / (device.peak_fp16.flops_per_second() * efficiency), CostClass::kAttention};
}

Cost flash_cost(const Kernel& kernel, const hardware::Accelerator& device) {
  const bool forward = kernel.kind == KernelKind::kFlashForward;
  double efficiency = device.attention_forward_efficiency;
  if (!forward) {
    efficiency *= device.attention_backward_ratio;
  }
  if (kernel.tiles > 0) {
    const double per_sm = static_cast<double>(kernel.tiles) / static_cast<double>(device.sm_count);
    efficiency *= per_sm / (per_sm + (forward ? kFlashHalfTilesForward : kFlashHalfTilesBackward));
  }
  const double math = kernel.flops / (device.peak_fp16.flops_per_second() * efficiency);
  const double traffic = memory_seconds(kernel, device);
  return math >= traffic ? Cost{math, CostClass::kAttention} : Cost{traffic, CostClass::kMemory};
}

Cost cost_of(const Kernel& kernel, const hardware::Accelerator& device) {
  switch (kernel.kind) {
    case KernelKind::kGemm: return gemm_cost(kernel, device);
    case KernelKind::kBatchedGemm: return batched_gemm_cost(kernel, device);
    case KernelKind::kFlashForward:
    case KernelKind::kFlashBackward: return flash_cost(kernel, device);
    case KernelKind::kElementwise:
    case KernelKind::kOptimizer: return {memory_seconds(kernel, device), CostClass::kMemory};
    case KernelKind::kFixed: break;
  }
  return {static_cast<double>(kernel.bytes) * 1e-12, CostClass::kFixed};
}

class Roofline final : public Model {
 public:
  [[nodiscard]] Work kernel(const Kernel& kernel, const hardware::Accelerator& device) const override {
    STEPCAST_CHECK(device.sm_count > 0, "accelerator {} without SMs", device.name);
    const Cost cost = cost_of(kernel, device);
    if (!(cost.seconds < kLongestSeconds)) {
      throw UnsupportedError(
          fmt::format("one kernel would run for {:.3g} s on {}, beyond the simulated range "
                      "of 104 days; make it smaller (of a job: the sequence, the micro-batch or the model)",
                      cost.seconds, device.name));
    }
    Work work;
    work.alone = kernel.kind == KernelKind::kFixed ? Duration::from_ps(kernel.bytes)
                                                   : duration_from_seconds(cost.seconds);
    work.by_class[static_cast<std::size_t>(cost.cost_class)] = work.alone;
    work.flops = kernel.flops;
    work.hbm_bytes = kernel.kind == KernelKind::kFixed ? 0 : static_cast<double>(kernel.bytes);
    return work;
  }
};

}  // namespace

ModelEntry roofline_model() {
  return {"roofline", "longer of arithmetic and traffic, with wave, depth and alignment effects", {}, [] {
            return std::unique_ptr<Model>(std::make_unique<Roofline>());
          }};
}

}  // namespace stepcast::compute
