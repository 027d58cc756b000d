#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "replay/pipeline_order.hpp"
#include "replay/stage_piece_price.hpp"

// Internal to replay/: the stages of a pipeline run their tasks and meet over messages.
namespace stepcast::replay {

/// What the walk needs of a plan.
struct PricedPlan {
  const PipelineOrder* order = nullptr;
  std::vector<std::vector<const PricedPiece*>> pieces;  ///< by stage and kind
  struct Message {
    std::int64_t sender_ps = 0;
    std::int64_t receiver_ps = 0;
  };
  std::vector<std::array<Message, 2>> messages;  ///< by sending stage; 0 = backward, 1 = forward
  std::int64_t embedding_ps = 0;
};

/// Runs every stage's tasks in order, each as soon as it can. A message starts when both ends are there
/// and the one before it has left and arrived. The order of work is that of a worklist: times come out
/// the same in any order, because every time is a function of times known before.
///
/// `Engine` runs pieces (see FastEngine and TracedEngine in analytic.cpp) and has `Time`, `join`,
/// `begin(stage, piece, received)`, `posted`, `send_ready`, `sent`, `embedding_ready`, `embedded`, `finish`
/// and `message(stage, forward, start, price)` -> both ends.
template <class Engine>
class PipelineWalk {
 public:
  using Time = typename Engine::Time;

  PipelineWalk(const PricedPlan& plan, Engine& engine)
      : plan_(plan), order_(*plan.order), engine_(engine), stages_(order_.stages.size()) {
    channels_.resize(2 * stages_.size());
    for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
      stages_[stage].limit = static_cast<std::uint32_t>(order_.stages[stage].tasks.size());
      for (const bool forward : {false, true}) {
        channel_in(stage, forward).posted.push_back(engine_.zero());
      }
    }
  }

  /// Runs to the end. Throws UnsupportedError when stages wait for each other in a circle.
  void run() {
    if constexpr (Engine::kShifts) {
      skip_steady_state();
    }
    stages_[0].limit = static_cast<std::uint32_t>(order_.stages[0].tasks.size());
    advance_all();
    for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
      if (stages_[stage].position != stages_[stage].limit) {
        throw UnsupportedError(
            "the stages of this schedule wait for each other in a circle; --fidelity flow says where");
      }
    }
  }

  /// Tasks that were walked, not skipped.
  [[nodiscard]] std::uint64_t walked() const { return walked_; }

  /// End of the last message that a stage has sent.
  [[nodiscard]] Time last_sent(std::uint32_t stage) const {
    return engine_.join(channels_[2 * stage].last_sent, channels_[2 * stage + 1].last_sent);
  }

 private:
  enum class Step : std::uint8_t { kNext, kSending, kEmbedding };

  struct Stage {
    std::uint32_t position = 0;  // next task, or the one in progress
    std::uint32_t limit = 0;
    Step step = Step::kNext;
    bool queued = false;
    bool at_embedding = false;
  };

  /// Messages of one stage in one direction, first in, first out at both ends.
  struct Channel {
    std::vector<Time> ready;   // by message: its sender's data is there
    std::vector<Time> posted;  // by message: its receiver is
    std::vector<Time> arrived;
    std::size_t taken = 0;  // by the receiving stage
    std::uint32_t changes = 0;
    Time last_sent{};
  };

  [[nodiscard]] std::uint32_t neighbour(std::uint32_t stage, bool up) const {
    const auto count = static_cast<std::uint32_t>(stages_.size());
    return up ? (stage + 1 == count ? 0 : stage + 1) : (stage == 0 ? count - 1 : stage - 1);
  }
  [[nodiscard]] Channel& channel_out(std::uint32_t stage, bool forward) {
    return channels_[2 * stage + (forward ? 1 : 0)];
  }
  [[nodiscard]] Channel& channel_in(std::uint32_t stage, bool forward) {
    return channel_out(neighbour(stage, !forward), forward);
  }
  /// True when the stage's task in progress is its last: the end of the step follows.
  [[nodiscard]] bool last_task(std::uint32_t stage) const {
    return stages_[stage].position + 2 == order_.stages[stage].tasks.size();
  }
  [[nodiscard]] const PricedPiece& piece_of(std::uint32_t stage) const {
    return *plan_.pieces[stage][order_.stages[stage].tasks[stages_[stage].position]];
  }

  void wake(std::uint32_t stage) {
    if (!stages_[stage].queued) {
      stages_[stage].queued = true;
      work_.push_back(stage);
    }
  }

  void advance_all() {
    for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
      wake(stage);
    }
    while (!work_.empty()) {
      const std::uint32_t stage = work_.back();
      work_.pop_back();
      stages_[stage].queued = false;
      while (advance(stage)) {
      }
    }
  }

  /// Starts what both ends are ready for.
  void settle(std::uint32_t sender, bool forward) {
    Channel& channel = channel_out(sender, forward);
    ++channel.changes;
    bool any = false;
    while (channel.arrived.size() < std::min(channel.ready.size(), channel.posted.size())) {
      const std::size_t next = channel.arrived.size();
      const Time start =
          engine_.join(engine_.join(channel.ready[next], channel.posted[next]), channel.last_sent);
      auto [sent, arrived] =
          engine_.message(sender, neighbour(sender, forward), start, plan_.messages[sender][forward ? 1 : 0]);
      channel.last_sent = std::move(sent);
      channel.arrived.push_back(std::move(arrived));
      any = true;
    }
    if (any) {
      wake(sender);
      wake(neighbour(sender, forward));
    }
  }

  /// One step of a stage; false when it has to wait.
  bool advance(std::uint32_t index) {
    Stage& stage = stages_[index];
    if (stage.position == order_.stages[index].tasks.size()) {
      return false;
    }
    const PricedPiece& piece = piece_of(index);
    switch (stage.step) {
      case Step::kNext: {
        if (stage.position == stage.limit) {
          return false;
        }
        Time received = piece.ends_step ? engine_.task_done(index) : engine_.zero();
        if (!piece.ends_step && piece.receive != kNone) {
          Channel& channel = channel_in(index, piece.forward);
          if (channel.taken == channel.arrived.size()) {
            return false;
          }
          received = channel.arrived[channel.taken++];
          ++channel.changes;
        }
        engine_.begin(index, piece, received);
        if (piece.posts) {
          channel_in(index, piece.forward).posted.push_back(engine_.posted(index, piece));
          settle(neighbour(index, !piece.forward), piece.forward);
        }
        if (piece.send != kNone) {
          channel_out(index, piece.forward).ready.push_back(engine_.send_ready(index, piece));
          settle(index, piece.forward);
        }
        stage.step = Step::kSending;
        return true;
      }
      case Step::kSending:
        if (piece.send != kNone) {
          const Channel& channel = channel_out(index, piece.forward);
          if ((piece.needs_sent || last_task(index)) && channel.arrived.size() < channel.ready.size()) {
            return false;
          }
          engine_.sent(index, piece, channel.last_sent);
        }
        stage.step = Step::kEmbedding;
        return true;
      case Step::kEmbedding:
        if (piece.embedding != kNone && !embedding(index, piece)) {
          return false;
        }
        engine_.finish(index, piece, last_task(index));
        ++walked_;
        ++stage.position;
        stage.step = Step::kNext;
        return true;
    }
    return false;
  }

  /// First and last stage reduce the gradient of what they share; false until both are there.
  bool embedding(std::uint32_t index, const PricedPiece& piece) {
    Stage& stage = stages_[index];
    if (!stage.at_embedding) {
      stage.at_embedding = true;
      const Time ready = engine_.embedding_ready(index, piece);
      embedding_ready_ = embedding_arrivals_++ == 0 ? ready : engine_.join(embedding_ready_, ready);
      wake(0);
      wake(static_cast<std::uint32_t>(stages_.size() - 1));
    }
    if (embedding_arrivals_ < 2) {
      return false;
    }
    engine_.embedded(index, piece, embedding_ready_, plan_.embedding_ps);
    return true;
  }

  // Steady state: with the first stage held at a task, everybody else runs as far as that allows, which
  // is one definite state. When the state one period later is the same but for a shift in time, so are
  // all that follow for as long as the tasks repeat; they are skipped.

  struct Snapshot {
    std::vector<std::int64_t> times;       // by stage, then by channel
    std::vector<std::size_t> begin;        // of each stage's, then each channel's times
    std::vector<std::uint64_t> forms;      // equal where the next events are the same
    std::vector<std::uint32_t> positions;  // by stage
    std::vector<std::uint32_t> changes;    // by channel
  };

  void skip_steady_state() {
    constexpr std::uint32_t kShortest = 8;  // tasks between snapshots: one costs about as much as a task
    const std::uint32_t period = order_.period;
    if (period == 0) {
      return;
    }
    const std::uint32_t stride = period * std::max(1U, kShortest / period);
    const StageOrder& first = order_.stages[0];
    const auto tasks = static_cast<std::uint32_t>(first.tasks.size());
    Snapshot before;
    for (std::uint32_t held = 0; held + 2 * stride < tasks;) {
      if (first.repeats[held] < 2 * stride) {  // nothing to gain from here
        ++held;
        before = {};
        continue;
      }
      stages_[0].limit = held;
      advance_all();
      Snapshot now = snapshot();
      const std::int64_t shift = shift_between(before, now, stride);
      const std::uint32_t rounds = shift > 0 ? rounds_left(stride) : 0;
      if (rounds > 0) {
        skip(before, rounds, stride, shift);
        held += rounds * stride;
        before = {};
      } else {
        before = std::move(now);
      }
      held += stride;
    }
  }

  /// Everything that the future depends on.
  Snapshot snapshot() {
    Snapshot now;
    const auto visit = [&now](std::int64_t& time) { now.times.push_back(time); };
    for (std::uint32_t index = 0; index < stages_.size(); ++index) {
      now.begin.push_back(now.times.size());
      now.positions.push_back(stages_[index].position);
      now.forms.push_back(static_cast<std::uint64_t>(stages_[index].step));
      visit_stage(index, visit);
    }
    for (Channel& channel : channels_) {
      now.begin.push_back(now.times.size());
      now.changes.push_back(channel.changes);
      const std::size_t done = channel.arrived.size();
      now.forms.push_back(channel.ready.size() - done);
      now.forms.push_back(channel.posted.size() - done);
      now.forms.push_back(done - channel.taken);
      for_pending(channel, visit);
    }
    now.begin.push_back(now.times.size());
    return now;
  }

  /// The shift in time that makes `now` of `before`, with every stage `stride` tasks further; 0 = none.
  [[nodiscard]] std::int64_t shift_between(const Snapshot& before,
                                           const Snapshot& now,
                                           std::uint32_t stride) const {
    if (before.forms != now.forms || before.begin != now.begin) {
      return 0;
    }
    const std::int64_t shift = now.times[0] - before.times[0];
    for (std::size_t part = 0; part + 1 < now.begin.size(); ++part) {
      if (part < stages_.size()
              ? now.positions[part] != before.positions[part] + stride
              : now.changes[part - stages_.size()] == before.changes[part - stages_.size()]) {
        if (part < stages_.size()) {
          return 0;
        }
        continue;  // nothing happened there, nor will it
      }
      for (std::size_t i = now.begin[part]; i < now.begin[part + 1]; ++i) {
        if (now.times[i] - before.times[i] != shift) {
          return 0;
        }
      }
    }
    return shift;
  }

  /// How often all stages can run the same `stride` tasks again; the task after them counts, because a
  /// stage may stand in its middle.
  [[nodiscard]] std::uint32_t rounds_left(std::uint32_t stride) const {
    std::uint32_t rounds = ~0U;
    for (std::uint32_t index = 0; index < stages_.size(); ++index) {
      const std::uint32_t from = stages_[index].position - stride;
      const std::uint32_t alike = order_.stages[index].repeats[from] + order_.period;
      rounds = std::min(rounds, alike < 2 * stride + 1 ? 0 : (alike - 1 - stride) / stride);
    }
    return rounds;
  }

  void skip(const Snapshot& before, std::uint32_t rounds, std::uint32_t stride, std::int64_t shift) {
    const auto move = [by = rounds * shift](std::int64_t& time) { time += by; };
    for (std::uint32_t index = 0; index < stages_.size(); ++index) {
      visit_stage(index, move);
      stages_[index].position += rounds * stride;
    }
    for (std::size_t index = 0; index < channels_.size(); ++index) {
      if (channels_[index].changes != before.changes[index]) {
        for_pending(channels_[index], move);
      }
    }
  }

  template <class Visit>
  void visit_stage(std::uint32_t index, Visit visit) {
    const Stage& stage = stages_[index];
    const bool in_progress = stage.step != Step::kNext;
    engine_.visit(index, in_progress && piece_of(index).receive != kNone, visit);
  }

  template <class Visit>
  void for_pending(Channel& channel, Visit visit) {
    const std::size_t done = channel.arrived.size();
    for (std::size_t i = done; i < channel.ready.size(); ++i) {
      visit(channel.ready[i]);
    }
    for (std::size_t i = done; i < channel.posted.size(); ++i) {
      visit(channel.posted[i]);
    }
    for (std::size_t i = channel.taken; i < done; ++i) {
      visit(channel.arrived[i]);
    }
    visit(channel.last_sent);
  }

  const PricedPlan& plan_;
  const PipelineOrder& order_;
  Engine& engine_;
  std::vector<Stage> stages_;
  std::vector<Channel> channels_;  // by sending stage and direction
  std::vector<std::uint32_t> work_;
  std::uint64_t walked_ = 0;
  std::uint32_t embedding_arrivals_ = 0;
  Time embedding_ready_{};
};

}  // namespace stepcast::replay
