#include "program/native_parts.hpp"

#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "program/findings.hpp"

namespace stepcast::program {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSmall = std::numeric_limits<std::int32_t>::max();

// Members of a JSON object on one line.
class Members {
 public:
  void add(std::string_view key, std::string_view json) {
    text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", key, json);
  }
  void add_unless(std::string_view key, std::int64_t value, std::int64_t absent) {
    if (value != absent) {
      add(key, std::to_string(value));
    }
  }
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace

std::int64_t read_integer(const config::Node& node,
                          std::int64_t lower,
                          std::int64_t upper,
                          std::int64_t absent) {
  return node.present() ? node.integer(lower, upper) : absent;
}

Label read_label(const config::Node& node) {
  Label label;
  if (node.is_text()) {
    label.name = node.name();
    return label;
  }
  node.allow_only({"name", "dimension", "phase", "layer", "micro_batch", "micro_batch_stride", "chunk"});
  label.name = node.get("name").name();
  label.dimension = read_enum(node.get("dimension"), Dimension::kPp, Dimension::kNone);
  label.phase = read_enum(node.get("phase"), Phase::kCheckpoint, Phase::kNone);
  const auto index = [&](std::string_view key, std::int64_t lower, std::int64_t absent) {
    return static_cast<std::int32_t>(read_integer(node.get(key), lower, kMostSmall, absent));
  };
  label.layer = index("layer", 0, -1);
  label.micro_batch = index("micro_batch", 0, -1);
  label.micro_batch_stride = index("micro_batch_stride", -kMostSmall, 0);
  label.chunk = index("chunk", 0, -1);
  return label;
}

std::string label_json(const Label& label) {
  Members members;
  members.add("name", json_text(label.name));
  if (label.dimension != Dimension::kNone) {
    members.add("dimension", json_text(name_of(label.dimension)));
  }
  if (label.phase != Phase::kNone) {
    members.add("phase", json_text(name_of(label.phase)));
  }
  members.add_unless("layer", label.layer, -1);
  members.add_unless("micro_batch", label.micro_batch, -1);
  members.add_unless("micro_batch_stride", label.micro_batch_stride, 0);
  members.add_unless("chunk", label.chunk, -1);
  return members.object();
}

namespace {

// A GEMM by shape. Its operands must be countable in bytes, whatever the element type.
compute::Kernel read_product(const config::Node& node, bool batched, DataType dtype) {
  constexpr double kMostElements = 1e18;  // x 8 bytes stays below 2^63
  const auto size = [&](std::string_view key) {
    const config::Node size_node = node.require(key);
    return size_node.present() ? size_node.integer(1, kMostSmall) : 1;
  };
  const std::int64_t batch = batched ? size("batch") : 1;
  const std::int64_t m = size("m");
  const std::int64_t n = size("n");
  const std::int64_t k = size("k");
  const auto product = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  if (static_cast<double>(batch) * (product(m, k) + product(k, n) + product(m, n)) > kMostElements) {
    node.error("operands of more than 1e18 elements", "give smaller sizes");
    return compute::gemm(1, 1, 1, dtype);
  }
  return batched ? compute::batched_gemm(batch, m, n, k, dtype) : compute::gemm(m, n, k, dtype);
}

}  // namespace

compute::Kernel read_kernel(const config::Node& node) {
  const config::Node kind_node = node.require("kind");
  const auto kind =
      static_cast<compute::KernelKind>(kind_node.present() ? kind_node.one_of(kernel_names()) : 0);
  const config::Node dtype_node = node.get("dtype");
  const DataType dtype = dtype_node.present() ? dtype_node.dtype() : DataType::kBf16;
  const auto bytes = [&] {
    const config::Node bytes_node = node.require("bytes");
    return bytes_node.present() ? bytes_node.bytes().count() : 0;
  };
  compute::Kernel kernel;
  switch (kind) {
    case compute::KernelKind::kGemm:
      node.allow_only({"kind", "m", "n", "k", "dtype", "flops", "bytes"});
      kernel = read_product(node, false, dtype);
      break;
    case compute::KernelKind::kBatchedGemm:
      node.allow_only({"kind", "batch", "m", "n", "k", "dtype", "flops", "bytes"});
      kernel = read_product(node, true, dtype);
      break;
    case compute::KernelKind::kFlashForward:
    case compute::KernelKind::kFlashBackward:
      node.allow_only({"kind", "flops", "bytes", "tiles", "dtype"});
      (void)node.require("flops");
      kernel.tiles = read_integer(node.get("tiles"), 0, kMost, 0);
      break;
    case compute::KernelKind::kElementwise:
    case compute::KernelKind::kOptimizer:
      node.allow_only({"kind", "bytes", "dtype", "flops"});
      kernel.bytes = bytes();
      break;
    case compute::KernelKind::kFixed: {
      node.allow_only({"kind", "duration", "dtype"});
      const config::Node duration = node.require("duration");
      kernel.bytes = duration.present() ? duration.duration().ps() : 0;
      break;
    }
  }
  kernel.kind = kind;
  kernel.dtype = dtype;
  if (const config::Node flops = node.get("flops"); flops.present()) {
    kernel.flops = flops.number(0, 1e24);
  }
  if (const config::Node given = node.get("bytes"); given.present() && kind != compute::KernelKind::kFixed) {
    kernel.bytes = given.bytes().count();
  }
  return kernel;
}

std::string kernel_json(const compute::Kernel& kernel) {
  Members members;
  members.add("kind", json_text(kernel_name(kernel.kind)));
  compute::Kernel plain;  // what the reader makes without "flops" and "bytes"
  switch (kernel.kind) {
    case compute::KernelKind::kBatchedGemm:
      members.add("batch", std::to_string(kernel.batch));
      plain = compute::batched_gemm(kernel.batch, kernel.m, kernel.n, kernel.k, kernel.dtype);
      break;
    case compute::KernelKind::kGemm: plain = compute::gemm(kernel.m, kernel.n, kernel.k, kernel.dtype); break;
    case compute::KernelKind::kFixed:
      members.add("duration", json_text(exact_text(Duration::from_ps(kernel.bytes))));
      plain.bytes = kernel.bytes;
      break;
    case compute::KernelKind::kElementwise:
    case compute::KernelKind::kOptimizer: plain.bytes = -1; break;  // always written
    case compute::KernelKind::kFlashForward:
    case compute::KernelKind::kFlashBackward: plain.flops = -1; break;
  }
  if (plain.m > 0) {
    members.add("m", std::to_string(kernel.m));
    members.add("n", std::to_string(kernel.n));
    members.add("k", std::to_string(kernel.k));
  }
  members.add("dtype", json_text(name_of(kernel.dtype)));
  if (kernel.flops != plain.flops) {
    members.add("flops", fmt::format("{}", kernel.flops));
  }
  if (kernel.bytes != plain.bytes) {
    members.add("bytes", json_text(exact_text(Bytes(kernel.bytes))));
  }
  members.add_unless("tiles", kernel.tiles, 0);
  return members.object();
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stepcast::program
