#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "replay/executor.hpp"
#include "replay/pipeline_walk.hpp"

// Internal to replay/: the two ways in which PipelineWalk runs the pieces of stages.
namespace stepcast::replay {

/// A later time. Throws InputError beyond the range of simulated time.
inline std::int64_t plus(std::int64_t time, std::int64_t wait) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(time, wait, &sum)) {
    throw InputError(
        "the step would last longer than 106 days, beyond the range of simulated time; use fewer "
        "micro-batches "
        "or more ranks");
  }
  return sum;
}

/// Runs pieces by their matrices: times are numbers.
class FastEngine {
 public:
  using Time = std::int64_t;
  static constexpr bool kShifts = true;

  FastEngine(std::size_t stages, bool tensor) : tensor_(tensor), stages_(stages) {}

  [[nodiscard]] static Time zero() { return 0; }
  [[nodiscard]] static Time join(Time a, Time b) { return std::max(a, b); }

  void begin(std::uint32_t stage, const PricedPiece& /*piece*/, Time received) {
    stages_[stage].input[PricedPiece::kReceived] = received;
  }
  [[nodiscard]] Time posted(std::uint32_t stage, const PricedPiece& piece) const {
    return output(stage, piece, PricedPiece::kPosted);
  }
  [[nodiscard]] Time send_ready(std::uint32_t stage, const PricedPiece& piece) const {
    return output(stage, piece, PricedPiece::kSendReady);
  }
  void sent(std::uint32_t stage, const PricedPiece& /*piece*/, Time end) {
    stages_[stage].input[PricedPiece::kSent] = end;
  }
  [[nodiscard]] Time embedding_ready(std::uint32_t stage, const PricedPiece& piece) const {
    return output(stage, piece, PricedPiece::kEmbeddingReady);
  }
  void embedded(std::uint32_t stage, const PricedPiece& /*piece*/, Time start, std::int64_t duration) {
    stages_[stage].input[PricedPiece::kEmbeddingDone] = plus(start, duration);
  }
  [[nodiscard]] Time task_done(std::uint32_t stage) const { return stages_[stage].task_done; }
  void finish(std::uint32_t stage, const PricedPiece& piece, bool last_task) {
    const Time compute = output(stage, piece, PricedPiece::kComputeThen);
    const Time tensor = tensor_ ? output(stage, piece, PricedPiece::kTensorThen) : 0;
    const Time data = output(stage, piece, PricedPiece::kDataThen);
    Stage& state = stages_[stage];
    if (last_task) {
      state.task_done = output(stage, piece, PricedPiece::kTaskDone);
    }
    if (piece.ends_step) {
      state.end = output(stage, piece, PricedPiece::kEnd);
    }
    if (piece.task_begin > 0) {
      state.input[PricedPiece::kGathersBegin] = output(stage, piece, PricedPiece::kGathersDone);
      // Gathers run from the start of the step: behind them the stream is free.
      state.input[PricedPiece::kDataFree] = std::max(data, state.input[PricedPiece::kGathersBegin]);
    } else {
      state.input[PricedPiece::kDataFree] = data;
    }
    state.input[PricedPiece::kComputeFree] = compute;
    state.input[PricedPiece::kTensorFree] = tensor;
  }
  [[nodiscard]] std::pair<Time, Time> message(std::uint32_t /*sender*/,
                                              std::uint32_t /*receiver*/,
                                              Time start,
                                              const PricedPlan::Message& price) const {
    return {plus(start, price.sender_ps), plus(start, price.receiver_ps)};
  }
  /// Times of a stage that a steady state shifts. The dp stream rests while tasks repeat.
  template <class Visit>
  void visit(std::uint32_t stage, bool received, Visit visit) {
    auto& input = stages_[stage].input;
    visit(input[PricedPiece::kComputeFree]);
    if (tensor_) {
      visit(input[PricedPiece::kTensorFree]);
    }
    if (received) {
      visit(input[PricedPiece::kReceived]);
    }
  }

  [[nodiscard]] Time end(std::uint32_t stage) const { return stages_[stage].end; }

 private:
  struct Stage {
    std::array<Time, PricedPiece::kInputs> input{};
    Time task_done = 0;
    Time end = 0;
  };

  [[nodiscard]] Time output(std::uint32_t stage, const PricedPiece& piece, PricedPiece::Output which) const {
    const PricedPiece::Terms& terms = piece.matrix[which];
    const auto& input = stages_[stage].input;
    Time latest = 0;
    for (std::uint32_t i = 0; i < terms.count; ++i) {
      latest = std::max(latest, plus(input[terms.input[i]], terms.constant[i]));
    }
    return latest;
  }

  bool tensor_;
  std::vector<Stage> stages_;
};

/// A time with what the longest chain of operations to it is made of.
struct Traced {
  std::int64_t ps = 0;
  std::array<std::int64_t, kPathParts> path{};
};

/// An interval in which an activity of a stage is in progress.
struct Busy {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Activity activity = Activity::kOther;
};

/// Runs pieces operation by operation, and keeps what a report needs: of `focus`, the stage whose time is
/// broken down, everything; of the others when they compute.
class TracedEngine {
 public:
  using Time = Traced;
  static constexpr bool kShifts = false;

  TracedEngine(std::size_t stages, std::uint32_t focus, std::uint64_t multiplicity)
      : focus_(focus), multiplicity_(multiplicity), stages_(stages), walks_(stages), busy_(stages) {}

  [[nodiscard]] static Time zero() { return {}; }
  [[nodiscard]] static Time none() { return {}; }
  [[nodiscard]] static const Time& join(const Time& a, const Time& b) { return b.ps > a.ps ? b : a; }

  /// The algebra of PieceWalk: `time` is when the operation starts.
  Time later(Time time, const PricedPiece& piece, std::uint32_t index) {
    const std::int64_t begin = time.ps;
    const std::int64_t duration = piece.operations[index].duration_ps;
    const CompiledOperation& op = piece.compiled.operations[index];
    time.ps = plus(time.ps, duration);
    if (op.work != kNone) {
      const auto& parts = piece.compiled.works[op.work];
      for (std::size_t part = 0; part < compute::kCostClasses; ++part) {
        time.path[part] += parts[part];
      }
      time.path[static_cast<std::size_t>(PathPart::kOther)] += duration - op.duration_ps;  // a slow device
    } else {
      time.path[static_cast<std::size_t>(op.part)] += duration;
    }
    record(stage_, begin, time.ps, op.activity, index);
    return time;
  }

  void begin(std::uint32_t stage, const PricedPiece& piece, const Time& received) {
    stage_ = stage;
    Stage& state = stages_[stage];
    walks_[stage].emplace(piece, *this);
    walks_[stage]->begin(state.compute, state.tensor, state.data, state.gathers, received);
  }
  [[nodiscard]] Time posted(std::uint32_t stage, const PricedPiece& /*piece*/) const {
    return walks_[stage]->posted();
  }
  [[nodiscard]] Time send_ready(std::uint32_t stage, const PricedPiece& /*piece*/) const {
    return walks_[stage]->send_ready();
  }
  void sent(std::uint32_t stage, const PricedPiece& /*piece*/, const Time& end) {
    stage_ = stage;
    walks_[stage]->sent(end);
  }
  [[nodiscard]] Time embedding_ready(std::uint32_t stage, const PricedPiece& /*piece*/) const {
    return walks_[stage]->embedding_ready();
  }
  void embedded(std::uint32_t stage, const PricedPiece& piece, const Time& start, std::int64_t duration) {
    stage_ = stage;
    record(stage, start.ps, plus(start.ps, duration), Activity::kExposedPp, piece.embedding);
    walks_[stage]->embedded(on_wire(start, duration));
  }
  [[nodiscard]] Time task_done(std::uint32_t stage) const { return stages_[stage].task_done; }
  void finish(std::uint32_t stage, const PricedPiece& piece, bool /*last_task*/) {
    Stage& state = stages_[stage];
    const PieceWalk<TracedEngine>& walk = *walks_[stage];
    state.compute = walk.compute();
    state.tensor = walk.tensor();
    state.data = walk.data();
    if (piece.task_begin > 0) {
      state.gathers = walk.gathered();
      state.data = join(state.data, state.gathers);
    }
    state.task_done = walk.task_done();
    state.end = walk.end();
  }
  [[nodiscard]] std::pair<Time, Time> message(std::uint32_t sender,
                                              std::uint32_t receiver,
                                              const Time& start,
                                              const PricedPlan::Message& price) {
    record(sender, start.ps, plus(start.ps, price.sender_ps), Activity::kExposedPp, kNone);
    record(receiver, start.ps, plus(start.ps, price.receiver_ps), Activity::kExposedPp, kNone - 1);
    return {on_wire(start, price.sender_ps), on_wire(start, price.receiver_ps)};
  }

  [[nodiscard]] const Time& end(std::uint32_t stage) const { return stages_[stage].end; }
  [[nodiscard]] const std::vector<Busy>& busy(std::uint32_t stage) const { return busy_[stage]; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_.value(); }

 private:
  struct Stage {
    Time compute;
    Time tensor;
    Time data;
    Time gathers;
    Time task_done;
    Time end;
  };

  [[nodiscard]] static Time on_wire(Time time, std::int64_t duration) {
    time.ps = plus(time.ps, duration);
    time.path[static_cast<std::size_t>(PathPart::kPp)] += duration;
    return time;
  }

  void record(
      std::uint32_t stage, std::int64_t begin, std::int64_t end, Activity activity, std::uint32_t operation) {
    ++operations_;
    const std::uint64_t hash = mix(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
    fingerprint_.add(mix(hash, (std::uint64_t{stage} << 32U) | operation), multiplicity_);
    const bool computes = activity == Activity::kCompute || activity == Activity::kOptimizer;
    if (begin == end || (stage != focus_ && !computes)) {
      return;
    }
    std::vector<Busy>& busy = busy_[stage];
    if (!busy.empty() && busy.back().end == begin && busy.back().activity == activity) {
      busy.back().end = end;
    } else {
      busy.push_back({begin, end, activity});
    }
  }

  std::uint32_t focus_;
  std::uint64_t multiplicity_;
  std::uint32_t stage_ = 0;  // whose piece runs
  std::vector<Stage> stages_;
  std::vector<std::optional<PieceWalk<TracedEngine>>> walks_;
  std::vector<std::vector<Busy>> busy_;
  Fingerprint fingerprint_;
  std::uint64_t operations_ = 0;
};

}  // namespace stepcast::replay
