#include "collective/lane_runner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/check.hpp"

namespace stepcast::collective {
namespace {

std::string peers_of(const Step& step) {
  if (receives(step.action) && sends(step.action)) {
    return fmt::format(" from rank {} to rank {}", step.receive_peer, step.send_peer);
  }
  if (receives(step.action)) {
    return fmt::format(" from rank {}", step.receive_peer);
  }
  if (sends(step.action)) {
    return fmt::format(" to rank {}", step.send_peer);
  }
  return {};
}

std::string step_problem(const Schedule& schedule, const Lane& lane, const Step& step) {
  const auto bad_peer = [&](std::uint32_t peer) {
    return peer >= schedule.members + schedule.switches || peer == lane.rank;
  };
  if (receives(step.action) && bad_peer(step.receive_peer)) {
    return fmt::format("receives from rank {}, which is itself or not a member", step.receive_peer);
  }
  if (sends(step.action) && bad_peer(step.send_peer)) {
    return fmt::format("sends to rank {}, which is itself or not a member", step.send_peer);
  }
  for (const auto& [other, index] : step.after) {
    if (other >= schedule.lanes.size() || schedule.lanes[other].rank != lane.rank ||
        index >= schedule.lanes[other].steps.size()) {
      return fmt::format("waits for step {} of lane {}, which is not a step of this rank", index, other);
    }
  }
  return {};
}

}  // namespace

std::string describe_step(const Schedule& schedule, std::size_t lane, std::size_t step) {
  const Lane& where = schedule.lanes[lane];
  const Step& what = where.steps[step];
  return fmt::format("rank {}, thread block {}, step {} ({}{})", where.rank, where.thread_block, step,
                     name_of(what.action), peers_of(what));
}

std::string form_problem(const Schedule& schedule) {
  if (schedule.members == 0 || schedule.channels == 0) {
    return "a schedule needs at least one member and one channel";
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> senders;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> receivers;
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const Lane& here = schedule.lanes[lane];
    if (here.rank >= schedule.members + schedule.switches || here.channel >= schedule.channels) {
      return fmt::format("lane {} is of rank {} and channel {}, outside {} members and {} channels", lane,
                         here.rank, here.channel, schedule.members, schedule.channels);
    }
    for (std::size_t index = 0; index < here.steps.size(); ++index) {
      const Step& step = here.steps[index];
      if (const std::string problem = step_problem(schedule, here, step); !problem.empty()) {
        return describe_step(schedule, lane, index) + " " + problem;
      }
      if (receives(step.action) &&
          receivers.try_emplace({step.receive_peer, here.rank, here.channel}, lane).first->second != lane) {
        return describe_step(schedule, lane, index) + " takes messages that another lane takes too";
      }
      if (sends(step.action) &&
          senders.try_emplace({here.rank, step.send_peer, here.channel}, lane).first->second != lane) {
        return describe_step(schedule, lane, index) + " sends where another lane sends too";
      }
    }
  }
  return {};
}

LaneRunner::LaneRunner(const Schedule& schedule)
    : schedule_(schedule),
      next_(schedule.lanes.size(), 0),
      waiters_(schedule.lanes.size()),
      queued_(schedule.lanes.size(), false) {
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    for (const Step& step : schedule.lanes[lane].steps) {
      if (receives(step.action)) {
        queues_[in_key(lane, step)].receiving_lane = lane;
      }
      if (sends(step.action)) {
        queues_[out_key(lane, step)].sending_lane = lane;
      }
    }
    make_runnable(lane);
  }
}

void LaneRunner::run(const std::function<bool(const Ran&)>& on_step) {
  while (!runnable_.empty()) {
    const std::size_t lane = runnable_.front();
    runnable_.pop_front();
    queued_[lane] = false;
    for (const Step* step = current(lane); step != nullptr; step = current(lane)) {
      if (const std::size_t other = blocked_dependency(*step); other != kNone) {
        waiters_[other].push_back(lane);
        break;
      }
      if (!message_waits(lane, *step)) {
        break;
      }
      if (!on_step(run_step(lane))) {
        return;
      }
    }
  }
}

std::string LaneRunner::deadlock() const {
  const auto stuck = [&](std::size_t lane) { return current(lane) != nullptr; };
  std::size_t lane = 0;
  while (lane < next_.size() && !stuck(lane)) {
    ++lane;
  }
  if (lane == next_.size()) {
    return {};
  }
  std::string text;
  std::vector<bool> seen(next_.size(), false);
  while (!seen[lane]) {
    seen[lane] = true;
    const Step& step = *current(lane);
    text += describe_step(schedule_, lane, next_[lane]) + " waits for ";
    std::size_t other = blocked_dependency(step);
    if (other == kNone) {
      const QueueKey key = in_key(lane, step);
      const std::size_t sender = queues_.at(key).sending_lane;
      if (sender == kNone || !will_send(sender, key)) {
        return text + fmt::format("a message that rank {} never sends", step.receive_peer);
      }
      other = sender;
    }
    lane = other;
  }
  return text + fmt::format("{}: a circle", describe_step(schedule_, lane, next_[lane]));
}

std::string LaneRunner::unmatched() const {
  for (const auto& [key, queue] : queues_) {
    if (!queue.messages.empty()) {
      return fmt::format("{} sends a message that rank {} never receives",
                         describe_step(schedule_, queue.sending_lane, queue.messages.front().step),
                         std::get<1>(key));
    }
  }
  return {};
}

const Step* LaneRunner::current(std::size_t lane) const {
  const std::vector<Step>& steps = schedule_.lanes[lane].steps;
  return next_[lane] < steps.size() ? &steps[next_[lane]] : nullptr;
}

LaneRunner::QueueKey LaneRunner::in_key(std::size_t lane, const Step& step) const {
  return {step.receive_peer, schedule_.lanes[lane].rank, schedule_.lanes[lane].channel};
}

LaneRunner::QueueKey LaneRunner::out_key(std::size_t lane, const Step& step) const {
  return {schedule_.lanes[lane].rank, step.send_peer, schedule_.lanes[lane].channel};
}

std::size_t LaneRunner::blocked_dependency(const Step& step) const {
  for (const auto& [lane, index] : step.after) {
    if (next_[lane] <= index) {
      return lane;
    }
  }
  return kNone;
}

bool LaneRunner::message_waits(std::size_t lane, const Step& step) const {
  return !receives(step.action) || !queues_.at(in_key(lane, step)).messages.empty();
}

bool LaneRunner::will_send(std::size_t lane, const QueueKey& key) const {
  const std::vector<Step>& steps = schedule_.lanes[lane].steps;
  return std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(next_[lane]), steps.end(),
                     [&](const Step& step) { return sends(step.action) && out_key(lane, step) == key; });
}

void LaneRunner::make_runnable(std::size_t lane) {
  if (!queued_[lane]) {
    queued_[lane] = true;
    runnable_.push_back(lane);
  }
}

LaneRunner::Ran LaneRunner::run_step(std::size_t lane) {
  const Step& step = *current(lane);
  Ran ran{.lane = lane, .step = next_[lane], .received = kNoMessage, .sent = kNoMessage};
  if (receives(step.action)) {
    Queue& queue = queues_.at(in_key(lane, step));
    ran.received = queue.messages.front().number;
    queue.messages.pop_front();
  }
  if (sends(step.action)) {
    Queue& queue = queues_.at(out_key(lane, step));
    ran.sent = messages_++;
    queue.messages.push_back({.number = ran.sent, .step = ran.step});
    if (queue.receiving_lane != kNone) {
      make_runnable(queue.receiving_lane);
    }
  }
  ++next_[lane];
  for (const std::size_t waiter : std::exchange(waiters_[lane], {})) {
    make_runnable(waiter);
  }
  return ran;
}

}  // namespace stepcast::collective
