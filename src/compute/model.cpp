#include "compute/model.hpp"

#include <algorithm>

namespace stepcast::compute {

std::string_view name_of(CostClass cost_class) {
  switch (cost_class) {
    case CostClass::kGemm: return "gemm";
    case CostClass::kAttention: return "attention";
    case CostClass::kMemory: return "memory";
    case CostClass::kLaunch: return "launch";
    case CostClass::kFixed: return "fixed";
  }
  return "fixed";
}

Work Model::sequence(std::span<const Kernel> kernels, const hardware::Accelerator& device) const {
  Work total;
  if (!kernels.empty()) {
    total.sm_share = 0;
  }
  std::int64_t launches = 0;
  for (const Kernel& each : kernels) {
    const Work work = kernel(each, device);
    total.alone += work.alone;
    for (std::size_t i = 0; i < kCostClasses; ++i) {
      total.by_class[i] += work.by_class[i];
    }
    total.flops += work.flops;
    total.hbm_bytes += work.hbm_bytes;
    total.sm_share = std::max(total.sm_share, work.sm_share);
    total.interference = std::max(total.interference, work.interference);
    launches += each.kind == KernelKind::kFixed ? 0 : 1;
  }
  // The host enqueues ahead of the GPU: the slower of the two decides, not their sum.
  const Duration host = launches * device.launch_per_kernel;
  if (host > total.alone) {
    total.by_class[static_cast<std::size_t>(CostClass::kLaunch)] += host - total.alone;
    total.alone = host;
  }
  return total;
}

}  // namespace stepcast::compute
