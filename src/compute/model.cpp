#include "compute/model.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"

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

namespace {

/// Of one operation: what duration_from_seconds takes, so that every sum stays in range.
constexpr Duration kLongest = Duration::from_ps(9'000'000'000'000'000'000);

}  // namespace

Work Model::sequence(std::span<const Kernel> kernels, const hardware::Accelerator& device) const {
  Work total;
  if (!kernels.empty()) {
    total.sm_share = 0;
  }
  std::int64_t launches = 0;
  for (const Kernel& each : kernels) {
    if (each.bytes == kTooManyBytes && each.kind != KernelKind::kFixed) {
      throw UnsupportedError(
          "one kernel moves more than 9e18 bytes; make it smaller (of a job: the sequence, the micro-batch "
          "or "
          "the model)");
    }
    const Work work = kernel(each, device);
    if (work.alone > kLongest - total.alone) {
      throw UnsupportedError(fmt::format(
          "{} kernels back to back run for more than {:.0f} days on {}, beyond the range of "
          "simulated time; shorten them, or spread them over several operations (of a job: reduce the "
          "sequence, the micro-batch or the model)",
          kernels.size(), kLongest.seconds() / 86400, device.name));
    }
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
  const Int128 enqueue = Int128{launches} * device.launch_per_kernel.ps();
  if (enqueue > kLongest.ps()) {
    throw UnsupportedError(
        fmt::format("the launches of {} kernels take more than {:.0f} days on {}, beyond the range of "
                    "simulated time; spread them over several operations, or lower launch_per_kernel",
                    launches, kLongest.seconds() / 86400, device.name));
  }
  const Duration host = Duration::from_ps(static_cast<std::int64_t>(enqueue));
  if (host > total.alone) {
    total.by_class[static_cast<std::size_t>(CostClass::kLaunch)] += host - total.alone;
    total.alone = host;
  }
  return total;
}

}  // namespace stepcast::compute
