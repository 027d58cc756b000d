#include "workload/stage_program.hpp"

#include <fmt/core.h>

#include "workload/stage_pieces.hpp"

namespace stepcast::workload {

using collective::Kind;
using program::Dimension;
using program::EdgeKind;
using program::Operation;
using program::Phase;

namespace {

constexpr double kParameterBytes = 2;
constexpr double kCheckpointBytes = 14;  // 16-bit weight, fp32 weight and two fp32 moments

/// A message of the pipeline: tags tell directions and chunks of one pair of ranks apart.
std::uint32_t tag_of(bool forward, std::uint32_t destination_chunk) {
  return 2 * destination_chunk + (forward ? 0 : 1);
}

class StageWriter {
 public:
  StageWriter(const Job& job, const hardware::Accelerator& device, std::uint32_t stage, StageSlots& slots)
      : job_(job),
        plan_(job.plan),
        stage_(stage),
        slots_(slots),
        builder_(fmt::format("stage {}", stage)),
        layers_(job, device, slots, builder_) {}

  program::Program write() {
    add_slots();
    if (gathers() && job_.overlap_param_gather) {
      gather_parameters_early();
    }
    const std::vector<StageTask> tasks = stage_tasks(job_, stage_);
    for (const TaskRun& run : find_runs(tasks, plan_)) {
      write_run(tasks, run);
    }
    finish_step();
    return builder_.take();
  }

  StagePiece write_task_piece(const StageTask& task) {
    StagePiece piece;
    add_slots();
    if (task.gathers) {
      gathered_.resize(plan_.virtual_stages);
      gather_chunk(task.task.chunk);
    }
    piece.begin = builder_.size();
    write_task(task, 0);
    piece.done = builder_.last();
    piece.program = builder_.take();
    return piece;
  }

  StagePiece write_end_piece() {
    StagePiece piece;
    add_slots();
    piece.done = builder_.wait("tasks done", StreamId::kRecvBackward);
    finish_step();
    piece.program = builder_.take();
    return piece;
  }

 private:
  [[nodiscard]] bool first_stage() const { return stage_ == 0; }
  [[nodiscard]] bool last_stage() const { return stage_ + 1 == plan_.pp; }
  [[nodiscard]] bool starts_model(std::uint32_t chunk) const { return first_stage() && chunk == 0; }
  [[nodiscard]] bool ends_model(std::uint32_t chunk) const {
    return last_stage() && chunk + 1 == plan_.virtual_stages;
  }
  [[nodiscard]] bool shares_embedding() const {
    return copies_embeddings(job_) && (first_stage() || last_stage());
  }
  [[nodiscard]] bool gathers() const { return plan_.dp > 1 && plan_.distributed_optimizer; }

  void add_slots() {
    using program::SlotKind;
    if (plan_.tp > 1) {
      slots_.tp = builder_.add_slot("tp", SlotKind::kGroup);
    }
    if (plan_.dp > 1) {
      slots_.dp = builder_.add_slot("dp", SlotKind::kGroup);
    }
    const bool wraps = plan_.virtual_stages > 1;
    if (plan_.pp > 1 && (!first_stage() || wraps)) {
      slots_.previous = builder_.add_slot("previous stage", SlotKind::kPeer);
    }
    if (plan_.pp > 1 && (!last_stage() || wraps)) {
      slots_.next = builder_.add_slot("next stage", SlotKind::kPeer);
    }
    if (shares_embedding()) {
      slots_.embedding = builder_.add_slot("embedding", SlotKind::kGroup);
    }
  }

  std::uint32_t gather(const Bucket& bucket) {
    return builder_.collective("parameter all-gather", Dimension::kDp, StreamId::kDp, slots_.dp,
                               Kind::kAllGather, kParameterBytes * bucket.parameters, DataType::kBf16,
                               Link::kSide);
  }

  /// All-gathers of the step before, in the order in which the forward needs them.
  void gather_parameters_early() {
    gathered_.resize(plan_.virtual_stages);
    for (std::uint32_t chunk = 0; chunk < plan_.virtual_stages; ++chunk) {
      gather_chunk(chunk);
    }
  }

  void gather_chunk(std::uint32_t chunk) {
    builder_.context() = {};
    builder_.context().phase = Phase::kForward;
    builder_.context().chunk = static_cast<std::int32_t>(chunk);
    const std::vector<Bucket> parts = buckets(job_, stage_, chunk);
    gathered_[chunk].resize(parts.size());
    for (std::size_t i = parts.size(); i-- > 0;) {
      gathered_[chunk][i] = gather(parts[i]);
    }
  }

  std::uint32_t reduce(const Bucket& bucket) {
    const bool scatter = plan_.distributed_optimizer;
    builder_.after(builder_.last());
    return builder_.collective(scatter ? "gradient reduce-scatter" : "gradient all-reduce", Dimension::kDp,
                               StreamId::kDp, slots_.dp, scatter ? Kind::kReduceScatter : Kind::kAllReduce,
                               static_cast<double>(element_bytes(job_.grad_dtype)) * bucket.parameters,
                               job_.grad_dtype, Link::kSide);
  }

  void write_run(const std::vector<StageTask>& tasks, const TaskRun& run) {
    builder_.begin_repeat(run.count);
    for (std::size_t i = 0; i < run.length; ++i) {
      write_task(tasks[run.first + i], run.strides[i]);
    }
    builder_.end_repeat();
  }

  void write_task(const StageTask& task, std::int32_t micro_batch_stride) {
    Context& context = builder_.context();
    context = {};
    context.phase = task.task.forward ? Phase::kForward : Phase::kBackward;
    context.micro_batch = static_cast<std::int32_t>(task.task.micro_batch);
    context.micro_batch_stride = micro_batch_stride;
    context.chunk = static_cast<std::int32_t>(task.task.chunk);
    builder_.start_chain();
    receive(task.task);
    if (task.posts_receive) {
      // The receive after this one is posted when this task starts: at most one ahead per direction.
      const std::uint32_t start = builder_.wait("start of task", StreamId::kCompute);
      builder_.after(start);
      (void)builder_.wait("post receive",
                          task.task.forward ? StreamId::kRecvForward : StreamId::kRecvBackward, Link::kSide);
    }
    if (task.task.forward) {
      forward(task);
    } else {
      backward(task);
    }
    const bool sent = send(task.task);
    if (sent ? !job_.overlap_p2p : !builder_.chain_on(StreamId::kCompute)) {
      (void)builder_.wait(sent ? "wait for send" : "end of task", StreamId::kCompute);
    }
  }

  void receive(const PipelineTask& task) {
    if (task.forward ? starts_model(task.chunk) : ends_model(task.chunk)) {
      return;
    }
    (void)builder_.receive(task.forward ? "receive activations" : "receive gradients",
                           task.forward ? StreamId::kRecvForward : StreamId::kRecvBackward,
                           task.forward ? slots_.previous : slots_.next, tag_of(task.forward, task.chunk),
                           layers_.message_bytes());
    layers_.assemble_message();
  }

  /// True when the task has something to send. Past the last stage comes the next chunk of the first.
  bool send(const PipelineTask& task) {
    if (task.forward ? ends_model(task.chunk) : starts_model(task.chunk)) {
      return false;
    }
    std::uint32_t chunk = task.chunk;
    if (task.forward && last_stage()) {
      ++chunk;
    } else if (!task.forward && first_stage()) {
      --chunk;
    }
    if (!builder_.chain_on(StreamId::kCompute) && job_.overlap_p2p) {
      (void)builder_.wait("end of task", StreamId::kCompute);
    }
    (void)builder_.send(task.forward ? "send activations" : "send gradients",
                        task.forward ? StreamId::kSendForward : StreamId::kSendBackward,
                        task.forward ? slots_.next : slots_.previous, tag_of(task.forward, chunk),
                        layers_.message_bytes());
    return true;
  }

  void forward(const StageTask& task) {
    const std::uint32_t chunk = task.task.chunk;
    const std::uint32_t first = first_layer(job_, stage_, chunk);
    if (!task.gathers) {
      if (starts_model(chunk)) {
        layers_.embedding();
      }
      layers_.forward(chunk_layers(job_, stage_), first);
      if (ends_model(chunk)) {
        layers_.head();
      }
      return;
    }
    const std::vector<Bucket> parts = buckets(job_, stage_, chunk);
    std::uint32_t layer = first;
    for (std::size_t i = parts.size(); i-- > 0;) {
      builder_.after(gathered_[chunk][i]);
      (void)builder_.wait("wait for parameters", StreamId::kCompute);
      if (parts[i].embedding) {
        layers_.embedding();
      }
      layers_.forward(parts[i].layers, layer);
      layer += parts[i].layers;
      if (parts[i].head) {
        layers_.head();
      }
    }
  }

  void backward(const StageTask& task) {
    const std::uint32_t chunk = task.task.chunk;
    std::uint32_t last = first_layer(job_, stage_, chunk) + chunk_layers(job_, stage_) - 1;
    if (!task.reduces) {
      if (ends_model(chunk)) {
        layers_.head_backward();
      }
      layers_.backward(chunk_layers(job_, stage_), last);
      if (starts_model(chunk)) {
        layers_.embedding_backward();
      }
      return;
    }
    for (const Bucket& bucket : buckets(job_, stage_, chunk)) {
      if (bucket.head) {
        layers_.head_backward();
      }
      layers_.backward(bucket.layers, last);
      last -= bucket.layers;
      if (bucket.embedding) {
        layers_.embedding_backward();
      }
      (void)reduce(bucket);
    }
  }

  /// Reductions that did not overlap, tied embeddings, optimizer, parameters, checkpoint.
  void finish_step() {
    builder_.context() = {};
    builder_.context().phase = Phase::kBackward;
    if (plan_.dp > 1 && !job_.overlap_grad_reduce) {
      for (std::uint32_t chunk = plan_.virtual_stages; chunk-- > 0;) {
        builder_.context().chunk = static_cast<std::int32_t>(chunk);
        for (const Bucket& bucket : buckets(job_, stage_, chunk)) {
          (void)reduce(bucket);
        }
      }
      builder_.context().chunk = -1;
    }
    if (plan_.dp > 1 || shares_embedding()) {  // first in, first out: all reductions have finished
      (void)builder_.wait("gradients reduced", StreamId::kDp);
    }
    if (shares_embedding()) {
      const double words = static_cast<double>(padded_vocab(job_)) / plan_.tp * job_.model.hidden;
      (void)builder_.collective("embedding gradient all-reduce", Dimension::kPp, StreamId::kDp,
                                slots_.embedding, Kind::kAllReduce,
                                static_cast<double>(element_bytes(job_.grad_dtype)) * words, job_.grad_dtype);
    }
    builder_.context().phase = Phase::kOptimizer;
    const double parameters = stage_parameters(job_, stage_);
    const double shard = parameters / (plan_.distributed_optimizer ? plan_.dp : 1);
    const std::uint32_t update = builder_.compute("optimizer", layers_.optimizer(shard));
    if (gathers() && !job_.overlap_param_gather) {
      for (std::uint32_t chunk = 0; chunk < plan_.virtual_stages; ++chunk) {
        builder_.context().chunk = static_cast<std::int32_t>(chunk);
        const std::vector<Bucket> parts = buckets(job_, stage_, chunk);
        for (std::size_t i = parts.size(); i-- > 0;) {
          builder_.after(update);
          (void)gather(parts[i]);
        }
      }
    }
    if (job_.checkpoint) {
      builder_.context() = {};
      builder_.context().phase = Phase::kCheckpoint;
      builder_.after(update);
      (void)builder_.storage_write("checkpoint", kCheckpointBytes * parameters / plan_.dp);
    }
  }

  const Job& job_;
  const Plan& plan_;
  std::uint32_t stage_;
  StageSlots& slots_;
  ProgramBuilder builder_;
  LayerWriter layers_;
  std::vector<std::vector<std::uint32_t>> gathered_;  // by chunk and bucket
};

}  // namespace

StagePiece task_piece(const Job& job,
                      const hardware::Accelerator& device,
                      std::uint32_t stage,
                      const StageTask& task) {
  StageSlots slots;
  return StageWriter(job, device, stage, slots).write_task_piece(task);
}

StagePiece end_piece(const Job& job, const hardware::Accelerator& device, std::uint32_t stage) {
  StageSlots slots;
  return StageWriter(job, device, stage, slots).write_end_piece();
}

std::uint16_t receive_stream(bool forward) {
  return static_cast<std::uint16_t>(forward ? StreamId::kRecvForward : StreamId::kRecvBackward);
}

program::Program stage_program(const Job& job,
                               const hardware::Accelerator& device,
                               std::uint32_t stage,
                               StageSlots& slots) {
  return StageWriter(job, device, stage, slots).write();
}

}  // namespace stepcast::workload
