#include <fmt/core.h>

#include "workload/stage_program.hpp"

namespace stepcast::workload {

using collective::Kind;
using program::Dimension;

namespace {

constexpr double kElementBytes = 2;
constexpr double kLossBytes = 4;  // fp32 maximum, or sum, per token

Kernels joined(Kernels first, const Kernels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

LayerWriter::LayerWriter(const Job& job,
                         const hardware::Accelerator& device,
                         const StageSlots& slots,
                         ProgramBuilder& builder)
    : job_(job), slots_(slots), builder_(builder), shape_(layer_shape(job)), kernels_(job, device) {}

/// A collective of the tensor-parallel group on the activations of a micro-batch.
std::uint32_t LayerWriter::tensor_collective(std::string_view label, Kind kind, Link link) {
  const double bytes =
      static_cast<double>(shape_.tokens) * static_cast<double>(shape_.hidden) * kElementBytes;
  return builder_.collective(label, Dimension::kTp, StreamId::kTp, slots_.tp, kind, bytes, DataType::kBf16,
                             link);
}

void LayerWriter::reduce_output(std::string_view label) {
  if (split()) {
    tensor_collective(fmt::format("{} {}", label, sequence_parallel() ? "reduce-scatter" : "all-reduce"),
                      sequence_parallel() ? Kind::kReduceScatter : Kind::kAllReduce);
  }
}

void LayerWriter::layer_forward(std::string_view label) {
  const std::string attention = fmt::format("attention {}", label);
  const std::string mlp = fmt::format("mlp {}", label);
  if (!split()) {
    builder_.compute(fmt::format("layer {}", label), joined(joined(kernels_.norm(), kernels_.attention()),
                                                            joined(kernels_.residual(), kernels_.mlp())));
  } else if (!sequence_parallel()) {
    builder_.compute(attention, joined(kernels_.norm(), kernels_.attention()));
    reduce_output(attention);
    builder_.compute(mlp, joined(kernels_.residual(), kernels_.mlp()));
    reduce_output(mlp);
  } else {
    builder_.compute(fmt::format("norm {}", label), kernels_.norm());
    tensor_collective(attention + " all-gather", Kind::kAllGather);
    builder_.compute(attention, kernels_.attention());
    reduce_output(attention);
    builder_.compute(fmt::format("residual {}", label), kernels_.residual());
    tensor_collective(mlp + " all-gather", Kind::kAllGather);
    builder_.compute(mlp, kernels_.mlp());
    reduce_output(mlp);
  }
}

/// Backward of attention or MLP with tensor parallelism: gradients of everything but the weight of the
/// column-parallel product, that weight, and the reduction of the input's gradient. With sequence
/// parallelism the weight needs the input once more, gathered beside the first part.
void LayerWriter::half_backward(std::string_view label, const Kernels& body, const Kernels& weight) {
  std::uint32_t input = program::Operation::kNone;
  if (sequence_parallel()) {
    tensor_collective(fmt::format("{} gradient all-gather", label), Kind::kAllGather);
    input = tensor_collective(fmt::format("{} input all-gather", label), Kind::kAllGather, Link::kSide);
  }
  if (!sequence_parallel() && !job_.overlap_tp) {
    builder_.compute(label, joined(body, weight));
    reduce_output(label);
    return;
  }
  builder_.compute(label, body);
  if (!job_.overlap_tp) {
    builder_.after(input);
    builder_.compute(fmt::format("{} weight", label), weight);
    reduce_output(label);
    return;
  }
  // The reduction only needs the first part; what follows is on the compute stream, behind the weight.
  const std::uint32_t first_part = builder_.last();
  builder_.after(input);
  builder_.compute(fmt::format("{} weight", label), weight);
  builder_.start_chain();
  builder_.after(first_part);
  reduce_output(label);
}

void LayerWriter::layer_backward() {
  if (!split()) {
    builder_.compute("layer backward",
                     joined(joined(joined(kernels_.mlp_backward(), kernels_.mlp_weight()),
                                   joined(kernels_.residual_backward(), kernels_.attention_backward())),
                            joined(kernels_.attention_weight(), kernels_.norm_backward())));
    return;
  }
  half_backward("mlp backward", kernels_.mlp_backward(), kernels_.mlp_weight());
  if (sequence_parallel()) {
    builder_.compute("residual backward", kernels_.residual_backward());
    half_backward("attention backward", kernels_.attention_backward(), kernels_.attention_weight());
  } else {
    half_backward("attention backward", joined(kernels_.residual_backward(), kernels_.attention_backward()),
                  kernels_.attention_weight());
  }
  builder_.compute("norm backward", kernels_.norm_backward());
}

void LayerWriter::forward(std::uint32_t layers, std::uint32_t first) {
  if (layers == 0) {
    return;
  }
  builder_.context().layer = static_cast<std::int32_t>(first);
  builder_.begin_repeat(layers);
  layer_forward("forward");
  builder_.end_chained_repeat();
  builder_.context().layer = -1;
}

void LayerWriter::backward(std::uint32_t layers, std::uint32_t last) {
  if (layers == 0) {
    return;
  }
  builder_.context().layer = static_cast<std::int32_t>(last);
  builder_.begin_repeat(layers);
  if (job_.recompute == Recompute::kFull) {
    layer_forward("recompute");
  }
  layer_backward();
  builder_.end_chained_repeat();
  builder_.context().layer = -1;
}

void LayerWriter::embedding() {
  builder_.compute("embedding forward", kernels_.embedding());
  reduce_output("embedding forward");
}

void LayerWriter::embedding_backward() {
  if (sequence_parallel()) {
    tensor_collective("embedding backward all-gather", Kind::kAllGather);
  }
  builder_.compute("embedding backward", kernels_.embedding_backward());
}

void LayerWriter::head() {
  const auto small = [&](std::string_view label) {
    if (split()) {
      builder_.collective(label, Dimension::kTp, StreamId::kTp, slots_.tp, Kind::kAllReduce,
                          kLossBytes * static_cast<double>(shape_.tokens), DataType::kFp32);
    }
  };
  builder_.compute("final norm forward", kernels_.final_norm());
  if (sequence_parallel()) {
    tensor_collective("head forward all-gather", Kind::kAllGather);
  }
  builder_.compute("head forward", kernels_.logits());
  small("loss maximum all-reduce");
  builder_.compute("loss", kernels_.loss());
  small("loss sum all-reduce");
}

void LayerWriter::head_backward() {
  // The gradient of the logits is local: only the input of the head has to be gathered again.
  const Kernels body = kernels_.logits_backward();
  const Kernels weight = kernels_.logits_weight();
  if (sequence_parallel()) {
    const std::uint32_t input =
        tensor_collective("head backward input all-gather", Kind::kAllGather, Link::kSide);
    builder_.compute("head backward", body);
    builder_.after(input);
    builder_.compute("head backward weight", weight);
  } else {
    builder_.compute("head backward", joined(body, weight));
  }
  reduce_output("head backward");
  builder_.compute("final norm backward", kernels_.final_norm_backward());
}

double LayerWriter::message_bytes() const {
  return static_cast<double>(shape_.tokens) * static_cast<double>(shape_.hidden) * kElementBytes /
         job_.plan.tp;
}

void LayerWriter::assemble_message() {
  if (split() && !sequence_parallel()) {
    tensor_collective("pipeline message all-gather", Kind::kAllGather);
  }
}

}  // namespace stepcast::workload
