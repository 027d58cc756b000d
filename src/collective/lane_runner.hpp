#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collective/schedule.hpp"

namespace stepcast::collective {

/// "rank 3, thread block 0, step 5 (recv from rank 2)": how a step is named in messages.
[[nodiscard]] std::string describe_step(const Schedule& schedule, std::size_t lane, std::size_t step);

/// A defect in the form of a schedule, or empty: members and channels out of range, two lanes at one
/// end of a message queue, dependencies on steps that do not exist. Checked before anything runs.
[[nodiscard]] std::string form_problem(const Schedule& schedule);

/// Runs the steps of a schedule in a possible order, each as soon as it can go: a send never blocks, a
/// receive waits for its message, a step waits for its `after`. Knows nothing of data or time; the
/// checker moves contributions along, the lowering makes transfers of the messages.
/// Linear in steps. REQUIRES: form_problem(schedule) is empty; the schedule outlives the runner.
class LaneRunner {
 public:
  static constexpr std::size_t kNoMessage = std::numeric_limits<std::size_t>::max();

  /// A step that ran. Messages are numbered from 0 in the order of their sends.
  struct Ran {
    std::size_t lane = 0;
    std::size_t step = 0;
    std::size_t received = kNoMessage;
    std::size_t sent = kNoMessage;
  };

  explicit LaneRunner(const Schedule& schedule);

  /// Runs until nothing can go on or `on_step` returns false.
  void run(const std::function<bool(const Ran&)>& on_step);

  /// Who waits for whom, or empty when every step has run.
  [[nodiscard]] std::string deadlock() const;
  /// A message that nobody has received, or empty.
  [[nodiscard]] std::string unmatched() const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  using QueueKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // sender, receiver, channel

  struct Message {
    std::size_t number = 0;
    std::size_t step = 0;  // of the sending lane
  };
  struct Queue {
    std::size_t sending_lane = kNone;
    std::size_t receiving_lane = kNone;
    std::deque<Message> messages;
  };

  [[nodiscard]] const Step* current(std::size_t lane) const;
  [[nodiscard]] QueueKey in_key(std::size_t lane, const Step& step) const;
  [[nodiscard]] QueueKey out_key(std::size_t lane, const Step& step) const;
  /// A lane whose step this step is to come after and that has not got there, or kNone.
  [[nodiscard]] std::size_t blocked_dependency(const Step& step) const;
  [[nodiscard]] bool message_waits(std::size_t lane, const Step& step) const;
  [[nodiscard]] bool will_send(std::size_t lane, const QueueKey& key) const;
  void make_runnable(std::size_t lane);
  Ran run_step(std::size_t lane);

  const Schedule& schedule_;
  std::map<QueueKey, Queue> queues_;
  std::vector<std::size_t> next_;                  // by lane: first step not yet run
  std::vector<std::vector<std::size_t>> waiters_;  // by lane: lanes that wait for a step of it
  std::deque<std::size_t> runnable_;
  std::vector<bool> queued_;  // by lane: in runnable_
  std::size_t messages_ = 0;
};

}  // namespace stepcast::collective
