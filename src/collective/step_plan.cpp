#include "collective/step_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "collective/lane_runner.hpp"
#include "collective/price.hpp"

namespace stepcast::collective {
namespace {

/// What the next send of a lane has to wait for.
struct LaneState {
  std::vector<std::uint32_t> received;  // since the last send
  std::vector<std::uint32_t> left;      // sends of other lanes of the rank that it comes after
  std::uint32_t last_send = 0;
  bool has_sent = false;
  bool copied = false;  // of a switch: `received` is that of the last send
};

void sort_unique(std::vector<std::uint32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

ChunkTracker::ChunkTracker(const Schedule& schedule) : schedule_(schedule), memory_(schedule.members) {
  for (std::uint32_t member = 0; member < schedule.members; ++member) {
    memory_[member].input.resize(schedule.chunks);
    memory_[member].output.resize(schedule.in_place ? 0 : schedule.chunks);
    for (std::uint32_t index = 0; index < chunks_of(schedule, Buffer::kInput); ++index) {
      slot(member, Buffer::kInput, index) = first_chunk_of(schedule, Buffer::kInput, member) + index;
    }
  }
}

std::uint32_t& ChunkTracker::slot(std::uint32_t member, Buffer buffer, std::uint32_t index) {
  Memory& memory = memory_[member];
  if (buffer == Buffer::kScratch) {
    memory.scratch.resize(std::max(memory.scratch.size(), std::size_t{index} + 1));
    return memory.scratch[index];
  }
  if (!schedule_.in_place) {
    return buffer == Buffer::kInput ? memory.input[index] : memory.output[index];
  }
  return memory.input[first_chunk_of(schedule_, buffer, member) + index];
}

const std::vector<std::uint32_t>& ChunkTracker::follow(const LaneRunner::Ran& ran) {
  const Lane& lane = schedule_.lanes[ran.lane];
  const Step& step = lane.steps[ran.step];
  moved_.clear();
  if (ran.received != LaneRunner::kNoMessage) {
    moved_ = std::exchange(messages_[ran.received], {});
  } else {
    for (std::uint32_t i = 0; i < step.source.count; ++i) {
      moved_.push_back(slot(lane.rank, step.source.buffer, step.source.offset + i));
    }
  }
  // What a reduction adds to is data of the same chunks.
  if (step.action != Action::kSend && step.action != Action::kRecvReduceSend) {
    for (std::uint32_t i = 0; i < step.destination.count; ++i) {
      slot(lane.rank, step.destination.buffer, step.destination.offset + i) = moved_[i];
    }
  }
  if (ran.sent == LaneRunner::kNoMessage) {
    moved_.clear();
  } else {
    messages_.push_back(moved_);
  }
  return moved_;
}

namespace {

class TransferMaker {
 public:
  TransferMaker(const Schedule& schedule,
                const Request& request,
                const Layout& layout,
                const StepCosts& costs)
      : schedule_(schedule),
        request_(request),
        layout_(layout),
        costs_(costs),
        lanes_(schedule.lanes.size()),
        done_(schedule.lanes.size()) {
    if (request.steps != nullptr) {
      tracker_.emplace(schedule);
    }
    std::int64_t end = 0;
    for (std::size_t i = 0; i < request.splits.size(); ++i) {
      end = i % schedule.members == 0 ? 0 : end;  // the next member's
      split_ends_.push_back(end += request.splits[i].count());
    }
    STEPCAST_CHECK(split_ends_.empty() || split_ends_.size() == schedule.members ||
                       split_ends_.size() == std::size_t{schedule.members} * schedule.members,
                   "{} splits of {} members", split_ends_.size(), schedule.members);
  }

  SteppedTransfers make() {
    LaneRunner runner(schedule_);
    runner.run([&](const LaneRunner::Ran& ran) {
      add(ran);
      return true;
    });
    STEPCAST_CHECK(runner.deadlock().empty(), "{}", runner.deadlock());
    SteppedTransfers made;
    made.latency = costs_.launch;
    made.steps = std::move(transfers_);
    return made;
  }

 private:
  void add(const LaneRunner::Ran& ran) {
    const Lane& lane = schedule_.lanes[ran.lane];
    const Step& step = lane.steps[ran.step];
    LaneState& state = lanes_[ran.lane];
    for (const auto& [other, index] : step.after) {
      const Done& before = done_[other][index];
      state.received.insert(state.received.end(), before.arrived.begin(), before.arrived.end());
      state.left.insert(state.left.end(), before.left.begin(), before.left.end());
    }
    if (ran.received != LaneRunner::kNoMessage) {
      if (std::exchange(state.copied, false)) {
        state.received.clear();
      }
      state.received.push_back(static_cast<std::uint32_t>(ran.received));
    }
    std::int64_t tracked = 0;
    if (tracker_) {
      for (const std::uint32_t chunk : tracker_->follow(ran)) {
        tracked += first_byte(lane.rank, chunk + 1) - first_byte(lane.rank, chunk);
      }
    }
    if (ran.sent != LaneRunner::kNoMessage) {
      send(lane, step, state, tracker_ ? tracked : payload(lane.rank, step));
    }
    if (has_dependencies_) {
      // What a step of another lane waits for when it comes after this one.
      Done& done = done_[ran.lane].emplace_back(Done{state.received, state.left});
      if (state.has_sent) {
        done.left.push_back(state.last_send);
      }
    }
  }

  void send(const Lane& lane, const Step& step, LaneState& state, std::int64_t payload) {
    StepTransfer transfer;
    const bool from_switch = lane.rank >= schedule_.members;
    const bool to_switch = step.send_peer >= schedule_.members;
    STEPCAST_CHECK(!from_switch || !to_switch, "a message between two switches");
    transfer.source = from_switch ? step.send_peer : lane.rank;
    transfer.destination = to_switch ? lane.rank : step.send_peer;
    transfer.payload = payload;
    transfer.work = costs_.wire_bytes(transfer.payload);
    const Layout::Hop& hop = prepared(lane.channel, transfer.source, transfer.destination,
                                      from_switch ? Via::kDown
                                      : to_switch ? Via::kUp
                                                  : Via::kWhole);
    transfer.latency = costs_.hop_latency(hop.network, hop.latency);
    if (from_switch || to_switch) {
      transfer.latency = Duration::from_ps(transfer.latency.ps() / 2);  // a hop is up and down
    }
    transfer.latency = transfer.latency + costs_.local_work(transfer.payload);
    transfer.demands = hop.demands.demands;
    transfer.divisor = hop.demands.divisor;
    transfer.after = std::exchange(state.received, {});
    transfer.after_left = std::exchange(state.left, {});
    if (state.has_sent && !from_switch) {
      transfer.after_left.push_back(state.last_send);  // a switch sends on all its ports at once
    }
    sort_unique(transfer.after);
    sort_unique(transfer.after_left);
    state.last_send = static_cast<std::uint32_t>(transfers_.size());
    state.has_sent = true;
    if (from_switch) {
      state.received = transfer.after;  // what it copies to the next port waits for the same
      state.copied = true;
    }
    transfers_.push_back(std::move(transfer));
  }

  /// Bytes of the chunks that a step sends: what it reads, or what it stores and forwards.
  [[nodiscard]] std::int64_t payload(std::uint32_t sender, const Step& step) const {
    const ChunkRange& range = step.action == Action::kRecvCopySend ? step.destination : step.source;
    return first_byte(sender, range.offset + range.count) - first_byte(sender, range.offset);
  }

  /// Bytes of the buffer of a member before a chunk.
  [[nodiscard]] std::int64_t first_byte(std::uint32_t sender, std::uint32_t chunk) const {
    if (split_ends_.empty()) {
      return static_cast<std::int64_t>(Int128{request_.bytes.count()} * chunk / schedule_.chunks);
    }
    const std::uint32_t part = schedule_.chunks / schedule_.members;
    const std::uint32_t member = chunk / part;
    const std::size_t row =
        split_ends_.size() == schedule_.members ? 0 : std::size_t{sender} * schedule_.members;
    const std::int64_t before = member == 0 ? 0 : split_ends_[row + member - 1];
    const std::int64_t own = member < schedule_.members ? split_ends_[row + member] - before : 0;
    return before + static_cast<std::int64_t>(Int128{own} * (chunk % part) / part);
  }

  const Layout::Hop& prepared(std::uint32_t channel, std::uint32_t from, std::uint32_t to, Via via) {
    const auto [at, added] = hops_.try_emplace({channel, from, to, via});
    if (added) {
      at->second = layout_.hop(channel, from, to, via);
    }
    return at->second;
  }

  static bool any_dependency(const Schedule& schedule) {
    return std::any_of(schedule.lanes.begin(), schedule.lanes.end(), [](const Lane& lane) {
      return std::any_of(lane.steps.begin(), lane.steps.end(),
                         [](const Step& step) { return !step.after.empty(); });
    });
  }

  const Schedule& schedule_;
  const Request& request_;
  std::vector<std::int64_t> split_ends_;  // of an uneven all-to-all: by receiver, or by sender and receiver
  const Layout& layout_;
  const StepCosts& costs_;
  std::optional<ChunkTracker> tracker_;  // of a step list
  bool has_dependencies_ = any_dependency(schedule_);
  std::vector<LaneState> lanes_;
  struct Done {
    std::vector<std::uint32_t> arrived;
    std::vector<std::uint32_t> left;
  };
  std::vector<std::vector<Done>> done_;  // by lane and step: transfers to wait for
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Via>, Layout::Hop> hops_;
  std::vector<StepTransfer> transfers_;
};

}  // namespace

SteppedTransfers transfers_of(const Schedule& schedule,
                              const Request& request,
                              const Layout& layout,
                              const StepCosts& costs) {
  return TransferMaker(schedule, request, layout, costs).make();
}

Duration longest_chain(const SteppedTransfers& transfers,
                       double rate,
                       std::span<const routing::Resource> resources) {
  std::vector<Duration> left(transfers.steps.size());  // by transfer: its last byte is on the wire
  Duration end;
  for (std::size_t index = 0; index < transfers.steps.size(); ++index) {
    const StepTransfer& step = transfers.steps[index];
    Duration start;
    for (const std::uint32_t before : step.after) {
      start = std::max(start, left[before] + transfers.steps[before].latency);
    }
    for (const std::uint32_t before : step.after_left) {
      start = std::max(start, left[before]);
    }
    const double alone = rate > 0 ? rate : idle_rate({step.demands, step.divisor}, resources);
    left[index] = start + wire_time(step.work, alone);
    end = std::max(end, left[index] + step.latency);
  }
  return transfers.latency + end;
}

}  // namespace stepcast::collective
