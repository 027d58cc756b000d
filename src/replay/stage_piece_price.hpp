#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "program/program.hpp"
#include "replay/compiled.hpp"

// Internal to replay/: one task of a stage (workload::StagePiece), priced, and how it is evaluated.
namespace stepcast::replay {

/// A piece with the duration of every operation. What it waits for from other stages are its message
/// in, its message out, and the all-reduce of tied embeddings: at most one of each.
struct PricedPiece {
  struct Operation {
    enum class Kind : std::uint8_t { kLasts, kReceive, kSend, kEmbedding, kRepeat };
    Kind kind = Kind::kLasts;
    std::uint16_t stream = 0;
    std::uint32_t first_dependency = 0;
    std::uint32_t dependency_count = 0;
    std::uint32_t body = 0;        ///< of kRepeat: operations in the body
    std::uint32_t count = 0;       ///< of kRepeat
    std::int64_t duration_ps = 0;  ///< of kLasts
  };

  // What the piece depends on and what others see of it: the columns and rows of its max-plus matrix.
  enum Input : std::uint8_t {
    kComputeFree,  ///< when the streams are free at the start of the piece
    kTensorFree,
    kDataFree,
    kReceived,       ///< end of its message in; of the end of the step: of the last task's chain
    kSent,           ///< end of its message out
    kGathersBegin,   ///< when the early parameter gathers of its chunk begin
    kEmbeddingDone,  ///< end of the embedding all-reduce
    kInputs
  };
  enum Output : std::uint8_t {
    kPosted,          ///< the next message of its direction can be received
    kSendReady,       ///< its message out can be sent
    kEmbeddingReady,  ///< arrives at the embedding all-reduce
    kComputeThen,     ///< when the streams are free after the piece
    kTensorThen,
    kDataThen,
    kTaskDone,     ///< end of the chain, which the end of the step follows
    kEnd,          ///< the last operation has ended
    kGathersDone,  ///< early parameter gathers of its chunk have ended
    kOutputs
  };
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 4;  ///< no dependence
  using Row = std::array<std::int64_t, kInputs>;
  /// A row without its kNever entries.
  struct Terms {
    std::array<std::uint8_t, kInputs> input{};
    std::array<std::int64_t, kInputs> constant{};
    std::uint32_t count = 0;
  };

  std::vector<Operation> operations;
  std::vector<std::uint32_t> dependencies;
  std::uint32_t task_begin = 0;
  std::uint32_t done = 0;
  std::uint32_t receive = kNone;
  std::uint32_t send = kNone;
  std::uint32_t embedding = kNone;
  std::uint32_t streams = 0;
  std::uint16_t receive_stream = 0;
  bool forward = true;
  bool posts = false;  ///< the next message of its direction waits for the start of this task
  bool ends_step = false;
  bool needs_sent = false;  ///< something in the piece waits for its message out
  std::int64_t message_bytes = 0;
  collective::Request embedding_request;
  std::array<Terms, kOutputs> matrix{};

  // For reports; empty where only the matrix is asked for.
  program::Program program;
  CompiledProgram compiled;
};

/// Walks a piece in program order, which is an order of time on every stream. `Algebra` says what a time
/// is: a number, a number with its history, or a function of the inputs. It has `Time`, `none()`,
/// `later(time, operation)` (the operation runs from `time`), `join(time, time)` (the later one).
template <class Algebra>
class PieceWalk {
 public:
  using Time = typename Algebra::Time;

  PieceWalk(const PricedPiece& piece, Algebra& algebra)
      : piece_(&piece),
        algebra_(&algebra),
        free_(piece.streams, algebra.none()),
        end_(piece.operations.size(), algebra.none()) {}

  /// Runs everything up to the message out, or up to the embedding all-reduce, or to the end.
  void begin(
      const Time& compute, const Time& tensor, const Time& data, const Time& gathers, const Time& received) {
    free_[kCompute] = compute;
    free_[kTensor] = tensor;
    free_[kData] = gathers;
    run(0, piece_->task_begin);
    gathered_ = free_[kData];
    free_[kData] = data;
    received_ = received;
    run(piece_->task_begin, std::min(stop(piece_->send), stop(piece_->embedding)));
  }
  /// REQUIRES: begin, and the piece sends.
  void sent(const Time& end) {
    finish(piece_->send, end);
    run(piece_->send + 1, stop(piece_->embedding));
  }
  /// REQUIRES: begin, sent if the piece sends, and it has an embedding all-reduce.
  void embedded(const Time& end) {
    finish(piece_->embedding, end);
    run(piece_->embedding + 1, size());
  }

  [[nodiscard]] const Time& posted() const { return free_[piece_->receive_stream]; }
  [[nodiscard]] Time send_ready() const { return dependencies(piece_->send); }
  [[nodiscard]] Time embedding_ready() const {
    return algebra_->join(dependencies(piece_->embedding),
                          free_[piece_->operations[piece_->embedding].stream]);
  }
  [[nodiscard]] const Time& compute() const { return free_[kCompute]; }
  [[nodiscard]] const Time& tensor() const { return free_[kTensor]; }
  [[nodiscard]] const Time& data() const { return free_[kData]; }
  [[nodiscard]] const Time& gathered() const { return gathered_; }
  [[nodiscard]] const Time& task_done() const { return end_[piece_->done]; }
  [[nodiscard]] Time end() const {
    Time last = algebra_->none();
    for (const Time& time : free_) {
      last = algebra_->join(last, time);
    }
    return last;
  }

 private:
  static constexpr std::size_t kCompute = 0;  // streams in the order of workload::StreamId
  static constexpr std::size_t kTensor = 1;
  static constexpr std::size_t kData = 2;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(piece_->operations.size()); }
  [[nodiscard]] std::uint32_t stop(std::uint32_t operation) const {
    return operation == kNone ? size() : operation;
  }

  [[nodiscard]] Time dependencies(std::uint32_t index) const {
    const PricedPiece::Operation& op = piece_->operations[index];
    Time start = algebra_->none();
    for (std::uint32_t i = 0; i < op.dependency_count; ++i) {
      start = algebra_->join(start, end_[piece_->dependencies[op.first_dependency + i]]);
    }
    return start;
  }

  void finish(std::uint32_t index, const Time& end) {
    end_[index] = end;
    free_[piece_->operations[index].stream] = end;
  }

  void run(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t index = first; index < last; ++index) {
      const PricedPiece::Operation& op = piece_->operations[index];
      switch (op.kind) {
        case PricedPiece::Operation::Kind::kReceive: finish(index, received_); break;
        case PricedPiece::Operation::Kind::kRepeat:
          for (std::uint32_t round = 0; round < op.count; ++round) {
            run(index + 1, index + 1 + op.body);
          }
          index += op.body;
          break;
        default:
          finish(index,
                 algebra_->later(algebra_->join(free_[op.stream], dependencies(index)), *piece_, index));
      }
    }
  }

  const PricedPiece* piece_;
  Algebra* algebra_;
  std::vector<Time> free_;  // by stream
  std::vector<Time> end_;   // by operation: of its last run
  Time received_{};
  Time gathered_{};
};

/// Fills the matrix of a piece whose operations have durations: each output as a maximum over inputs
/// plus constants, which is exact. Linear in the operations that run.
void fill_matrix(PricedPiece& piece);

}  // namespace stepcast::replay
