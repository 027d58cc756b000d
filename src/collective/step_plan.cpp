#include "collective/step_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "collective/lane_runner.hpp"
#include "collective/price.hpp"

namespace stepcast::collective {
namespace {

/// A hop of a ring, prepared once for all transfers that use it.
struct PreparedHop {
  DemandVector demands;
  Duration latency;
};

/// What the next send of a lane has to wait for.
struct LaneState {
  std::vector<std::uint32_t> received;  // since the last send
  std::uint32_t last_send = 0;
  bool has_sent = false;
};

class TransferMaker {
 public:
  TransferMaker(const Schedule& schedule, Bytes bytes, const RingPlan& plan, const StepCosts& costs)
      : schedule_(schedule),
        bytes_(bytes),
        plan_(plan),
        costs_(costs),
        lanes_(schedule.lanes.size()),
        done_(schedule.lanes.size()) {}

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
      const std::vector<std::uint32_t>& before = done_[other][index];
      state.received.insert(state.received.end(), before.begin(), before.end());
    }
    if (ran.received != LaneRunner::kNoMessage) {
      state.received.push_back(static_cast<std::uint32_t>(ran.received));
    }
    if (ran.sent != LaneRunner::kNoMessage) {
      send(lane, step, state);
    }
    if (has_dependencies_) {
      // What a step of another lane waits for when it comes after this one.
      std::vector<std::uint32_t>& before = done_[ran.lane].emplace_back(state.received);
      if (state.has_sent) {
        before.push_back(state.last_send);
      }
    }
  }

  void send(const Lane& lane, const Step& step, LaneState& state) {
    StepTransfer transfer;
    transfer.source = plan_.member(lane.channel, lane.rank);
    transfer.destination = plan_.member(lane.channel, step.send_peer);
    transfer.payload = payload(step);
    transfer.work = costs_.wire_bytes(transfer.payload);
    const PreparedHop& hop = prepared(lane.channel, lane.rank, step.send_peer);
    transfer.latency = hop.latency;
    transfer.demands = hop.demands.demands;
    transfer.divisor = hop.demands.divisor;
    transfer.after = std::exchange(state.received, {});
    if (state.has_sent) {
      transfer.after.push_back(state.last_send);
    }
    std::sort(transfer.after.begin(), transfer.after.end());
    transfer.after.erase(std::unique(transfer.after.begin(), transfer.after.end()), transfer.after.end());
    state.last_send = static_cast<std::uint32_t>(transfers_.size());
    state.has_sent = true;
    transfers_.push_back(std::move(transfer));
  }

  /// Bytes of the chunks that a step sends: what it reads, or what it stores and forwards.
  [[nodiscard]] std::int64_t payload(const Step& step) const {
    const ChunkRange& range = step.action == Action::kRecvCopySend ? step.destination : step.source;
    const auto first_byte = [&](std::uint64_t chunk) {
      return static_cast<std::int64_t>(Int128{bytes_.count()} * chunk / schedule_.chunks);
    };
    return first_byte(std::uint64_t{range.offset} + range.count) - first_byte(range.offset);
  }

  const PreparedHop& prepared(std::uint32_t ring, std::uint32_t from, std::uint32_t to) {
    const auto [at, added] = hops_.try_emplace({ring, from, to});
    if (added) {
      const routing::Path& path = plan_.path(ring, from, to);
      DemandSum sum;
      sum.add(path);
      at->second = {.demands = sum.total(),
                    .latency = costs_.hop_latency(plan_.crosses(ring, from, to), path.latency)};
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
  Bytes bytes_;
  const RingPlan& plan_;
  const StepCosts& costs_;
  bool has_dependencies_ = any_dependency(schedule_);
  std::vector<LaneState> lanes_;
  std::vector<std::vector<std::vector<std::uint32_t>>> done_;  // by lane and step: transfers to wait for
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, PreparedHop> hops_;
  std::vector<StepTransfer> transfers_;
};

}  // namespace

SteppedTransfers transfers_of(const Schedule& schedule,
                              Bytes bytes,
                              const RingPlan& plan,
                              const StepCosts& costs) {
  STEPCAST_CHECK(schedule.channels == plan.rings(), "{} channels on {} rings", schedule.channels,
                 plan.rings());
  return TransferMaker(schedule, bytes, plan, costs).make();
}

Duration longest_chain(const SteppedTransfers& transfers, double rate) {
  std::vector<Duration> left(transfers.steps.size());  // by transfer: its last byte is on the wire
  Duration end;
  for (std::size_t index = 0; index < transfers.steps.size(); ++index) {
    const StepTransfer& step = transfers.steps[index];
    Duration start;
    for (const std::uint32_t before : step.after) {
      const StepTransfer& earlier = transfers.steps[before];
      const bool same_sender = earlier.source == step.source;
      start = std::max(start, left[before] + (same_sender ? Duration{} : earlier.latency));
    }
    left[index] = start + wire_time(step.work, rate);
    end = std::max(end, left[index] + step.latency);
  }
  return transfers.latency + end;
}

}  // namespace stepcast::collective
