#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/check.hpp"
#include "collective/lane_runner.hpp"
#include "collective/schedule.hpp"

namespace stepcast::collective {
namespace {

/// What a chunk of a buffer holds: how often each rank's data of one chunk of the collective is summed
/// into it. No counts = nothing has been written yet.
struct Value {
  std::uint32_t chunk = 0;
  std::vector<std::uint32_t> counts;
};
using Message = std::vector<Value>;

/// The buffers of one member.
struct Memory {
  std::vector<Value> input;  // in place: the one buffer of both names
  std::vector<Value> output;
  std::vector<Value> scratch;
};

std::string_view name_of(Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput: return "input";
    case Buffer::kOutput: return "output";
    case Buffer::kScratch: return "scratch";
  }
  return "";
}

class SymbolicRun {
 public:
  explicit SymbolicRun(const Schedule& schedule)
      : schedule_(schedule), part_(cuts_by_member(schedule.kind) ? schedule.chunks / schedule.members : 0) {
    memory_.resize(std::size_t{schedule.members} + schedule.switches);
    for (std::uint32_t rank = 0; rank < schedule.members; ++rank) {
      fill(rank);
    }
  }

  /// Executes one step; the problem found, or empty.
  std::string execute(const LaneRunner::Ran& ran);

  /// The first chunk that does not hold what the kind promises, or empty.
  [[nodiscard]] std::string postcondition();

 private:
  [[nodiscard]] std::uint32_t size_of(Buffer buffer) const { return chunks_of(schedule_, buffer); }

  void fill(std::uint32_t rank) {
    Memory& memory = memory_[rank];
    memory.input.resize(schedule_.chunks);
    memory.output.resize(schedule_.chunks);
    const bool only_root = schedule_.kind == Kind::kBroadcast || schedule_.kind == Kind::kScatter;
    if (only_root && rank != schedule_.root) {
      return;
    }
    for (std::uint32_t index = 0; index < size_of(Buffer::kInput); ++index) {
      Value& value = slot(rank, Buffer::kInput, index);
      value.chunk = first_chunk_of(schedule_, Buffer::kInput, rank) + index;
      value.counts.assign(schedule_.members, 0);
      value.counts[rank] = 1;
    }
  }

  Value& slot(std::uint32_t rank, Buffer buffer, std::uint32_t index) {
    Memory& memory = memory_[rank];
    if (buffer == Buffer::kScratch) {
      if (index >= memory.scratch.size()) {
        memory.scratch.resize(index + 1);
      }
      return memory.scratch[index];
    }
    if (!schedule_.in_place) {
      return buffer == Buffer::kInput ? memory.input[index] : memory.output[index];
    }
    return memory.input[first_chunk_of(schedule_, buffer, rank) + index];
  }

  [[nodiscard]] std::string range_problem(std::uint32_t rank, const ChunkRange& range) const;
  std::string read(std::uint32_t rank, const ChunkRange& range, Message& into);
  static std::string add(Message& sum, const Message& operand);
  void write(std::uint32_t rank, const ChunkRange& range, const Message& message);
  [[nodiscard]] std::string move(const Lane& lane, const Step& step, const LaneRunner::Ran& ran);
  [[nodiscard]] std::string verify(std::uint32_t rank,
                                   std::uint32_t index,
                                   std::uint32_t chunk,
                                   std::uint32_t first_source,
                                   std::uint32_t last_source);

  const Schedule& schedule_;
  std::uint32_t part_;  // chunks per member where the kind cuts the buffer by member
  std::vector<Memory> memory_;
  std::vector<Message> messages_;  // by number; emptied when received
};

std::string SymbolicRun::range_problem(std::uint32_t rank, const ChunkRange& range) const {
  if (rank >= schedule_.members && range.buffer != Buffer::kScratch) {
    return fmt::format("uses the {} buffer of a switch, which has none", name_of(range.buffer));
  }
  constexpr std::uint64_t kMostScratch = 1U << 20;
  const std::uint64_t limit = range.buffer == Buffer::kScratch ? kMostScratch : size_of(range.buffer);
  if (range.count == 0 || std::uint64_t{range.offset} + range.count > limit) {
    return fmt::format("uses {} chunks {}..{} of a buffer of {}", name_of(range.buffer), range.offset,
                       std::uint64_t{range.offset} + range.count, limit);
  }
  return {};
}

std::string SymbolicRun::read(std::uint32_t rank, const ChunkRange& range, Message& into) {
  if (std::string problem = range_problem(rank, range); !problem.empty()) {
    return problem;
  }
  for (std::uint32_t index = range.offset; index < range.offset + range.count; ++index) {
    const Value& value = slot(rank, range.buffer, index);
    if (value.counts.empty()) {
      return fmt::format("reads {} chunk {} before anything is written to it", name_of(range.buffer), index);
    }
    into.push_back(value);
  }
  return {};
}

std::string SymbolicRun::add(Message& sum, const Message& operand) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (sum.size() != operand.size()) {
    return fmt::format("reduces {} chunks with {}", sum.size(), operand.size());
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i].chunk != operand[i].chunk) {
      return fmt::format("reduces data of chunk {} with data of chunk {}", sum[i].chunk, operand[i].chunk);
    }
    for (std::size_t source = 0; source < sum[i].counts.size(); ++source) {
      std::uint32_t& count = sum[i].counts[source];
      count += std::min(operand[i].counts[source], kMost - count);
    }
  }
  return {};
}

void SymbolicRun::write(std::uint32_t rank, const ChunkRange& range, const Message& message) {
  for (std::uint32_t i = 0; i < range.count; ++i) {
    slot(rank, range.buffer, range.offset + i) = message[i];
  }
}

std::string SymbolicRun::move(const Lane& lane, const Step& step, const LaneRunner::Ran& ran) {
  const Action action = step.action;
  const bool reduces = action == Action::kReduce || action == Action::kRecvReduceSend ||
                       action == Action::kRecvReduceCopy || action == Action::kRecvReduceCopySend;
  const bool stores = action != Action::kSend && action != Action::kRecvReduceSend;
  Message moved;
  if (receives(action)) {
    moved = std::exchange(messages_[ran.received], {});
  } else if (std::string problem = read(lane.rank, step.source, moved); !problem.empty()) {
    return problem;
  }
  if (reduces) {
    Message operand;
    // A local reduce adds its source to the destination, a receiving one the message to its source.
    const ChunkRange& range = action == Action::kReduce ? step.destination : step.source;
    std::string problem = read(lane.rank, range, operand);
    problem = problem.empty() ? add(moved, operand) : problem;
    if (!problem.empty()) {
      return problem;
    }
  }
  if (stores) {
    if (std::string problem = range_problem(lane.rank, step.destination); !problem.empty()) {
      return problem;
    }
    if (step.destination.count != moved.size()) {
      return fmt::format("writes {} chunks where {} arrive", step.destination.count, moved.size());
    }
    write(lane.rank, step.destination, moved);
  }
  if (sends(action)) {
    STEPCAST_CHECK(ran.sent == messages_.size(), "message {} after {}", ran.sent, messages_.size());
    messages_.push_back(std::move(moved));
  }
  return {};
}

std::string SymbolicRun::execute(const LaneRunner::Ran& ran) {
  const Lane& lane = schedule_.lanes[ran.lane];
  const std::string problem = move(lane, lane.steps[ran.step], ran);
  return problem.empty() ? problem : describe_step(schedule_, ran.lane, ran.step) + " " + problem;
}

/// Output chunk `index` of `rank` must hold `chunk` of each source in [first, last] exactly once.
std::string SymbolicRun::verify(std::uint32_t rank,
                                std::uint32_t index,
                                std::uint32_t chunk,
                                std::uint32_t first_source,
                                std::uint32_t last_source) {
  const Value& value = slot(rank, Buffer::kOutput, index);
  const std::string where = fmt::format("rank {}, output chunk {}", rank, index);
  if (value.counts.empty()) {
    return where + ": nothing is written to it";
  }
  if (value.chunk != chunk) {
    return fmt::format("{}: holds data of chunk {} instead of {}", where, value.chunk, chunk);
  }
  for (std::uint32_t source = 0; source < schedule_.members; ++source) {
    const std::uint32_t expected = source >= first_source && source <= last_source ? 1 : 0;
    const std::uint32_t found = value.counts[source];
    if (found < expected) {
      return fmt::format("{}: the contribution of rank {} is missing", where, source);
    }
    if (found > expected) {
      return expected == 0
                 ? fmt::format("{}: holds a contribution of rank {} that does not belong there", where,
                               source)
                 : fmt::format("{}: the contribution of rank {} is counted {} times", where, source, found);
    }
  }
  return {};
}

std::string SymbolicRun::postcondition() {
  const std::uint32_t n = schedule_.members;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    for (std::uint32_t index = 0; index < size_of(Buffer::kOutput); ++index) {
      std::string problem;
      switch (schedule_.kind) {
        case Kind::kAllReduce:
        case Kind::kBarrier: problem = verify(rank, index, index, 0, n - 1); break;
        case Kind::kReduceScatter: problem = verify(rank, index, rank * part_ + index, 0, n - 1); break;
        case Kind::kAllGather: problem = verify(rank, index, index, index / part_, index / part_); break;
        case Kind::kBroadcast: problem = verify(rank, index, index, schedule_.root, schedule_.root); break;
        case Kind::kReduce:
          problem = rank == schedule_.root ? verify(rank, index, index, 0, n - 1) : std::string{};
          break;
        case Kind::kAllToAll:
          problem = verify(rank, index, rank * part_ + index % part_, index / part_, index / part_);
          break;
        case Kind::kSendRecv:
          problem = verify(rank, index, index, (rank + n - 1) % n, (rank + n - 1) % n);
          break;
        case Kind::kScatter:
          problem = verify(rank, index, rank * part_ + index, schedule_.root, schedule_.root);
          break;
        case Kind::kGather:
          problem = rank == schedule_.root ? verify(rank, index, index, index / part_, index / part_)
                                           : std::string{};
          break;
      }
      if (!problem.empty()) {
        return problem;
      }
    }
  }
  return {};
}

std::string first_problem(const Schedule& schedule) {
  if (std::string problem = form_problem(schedule); !problem.empty()) {
    return problem;
  }
  if (cuts_by_member(schedule.kind) && (schedule.chunks == 0 || schedule.chunks % schedule.members != 0)) {
    return fmt::format("{} chunks cannot be shared by {} members", schedule.chunks, schedule.members);
  }
  if (schedule.root >= schedule.members) {
    return fmt::format("root {} is not one of {} members", schedule.root, schedule.members);
  }
  SymbolicRun symbolic(schedule);
  LaneRunner runner(schedule);
  std::string problem;
  runner.run([&](const LaneRunner::Ran& ran) {
    problem = symbolic.execute(ran);
    return problem.empty();
  });
  for (const auto& next : {&LaneRunner::deadlock, &LaneRunner::unmatched}) {
    problem = problem.empty() ? (runner.*next)() : problem;
  }
  return problem.empty() ? symbolic.postcondition() : problem;
}

}  // namespace

CheckResult check(const Schedule& schedule) {
  std::string problem = first_problem(schedule);
  const bool ok = problem.empty();
  return {.ok = ok, .problem = std::move(problem)};
}

}  // namespace stepcast::collective
