#include "program/native_keys.hpp"

namespace stepcast::program {

std::string_view kernel_name(compute::KernelKind kind) {
  switch (kind) {
    case compute::KernelKind::kGemm: return "gemm";
    case compute::KernelKind::kBatchedGemm: return "batched_gemm";
    case compute::KernelKind::kFlashForward: return "flash_forward";
    case compute::KernelKind::kFlashBackward: return "flash_backward";
    case compute::KernelKind::kElementwise: return "elementwise";
    case compute::KernelKind::kOptimizer: return "optimizer";
    case compute::KernelKind::kFixed: return "fixed";
  }
  return "unknown";
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(compute::KernelKind::kFixed); ++i) {
    names.emplace_back(kernel_name(static_cast<compute::KernelKind>(i)));
  }
  return names;
}

StreamKind default_stream(OpKind kind) {
  switch (kind) {
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kPut:
    case OpKind::kGet: return StreamKind::kCommunication;
    case OpKind::kCopy:
    case OpKind::kStorage: return StreamKind::kCopy;
    default: return StreamKind::kCompute;
  }
}

bool has_bytes(OpKind kind) {
  switch (kind) {
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kPut:
    case OpKind::kGet:
    case OpKind::kCopy:
    case OpKind::kStorage:
    case OpKind::kLocal:
    case OpKind::kAlloc:
    case OpKind::kFree: return true;
    default: return false;
  }
}

bool may_be_recorded(OpKind kind) {
  return kind == OpKind::kCompute || (has_bytes(kind) && kind != OpKind::kAlloc && kind != OpKind::kFree);
}

}  // namespace stepcast::program
