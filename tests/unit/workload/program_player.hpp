#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "program/program.hpp"

namespace stepcast::workload::testing {

/// A plain executor for small programs: every rank, loops unrolled, list scheduling to a fixed point.
/// Messages and collectives take no time and need all sides (rendezvous). Written apart from the
/// product's executor on purpose: two readings of what a program means.
class ProgramPlayer {
 public:
  using ComputeTime = std::function<std::int64_t(const program::Program&, const program::Operation&)>;

  ProgramPlayer(const program::Programs& programs, ComputeTime compute_time)
      : programs_(programs), compute_time_(std::move(compute_time)) {
    for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
      unroll(rank);
    }
  }

  /// End of the step, or -1 when it stalls.
  std::int64_t run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t rank = 0; rank < programs_.ranks; ++rank) {
        for (auto& stream : ranks_[rank].streams) {
          while (stream.next < stream.instances.size() && start(rank, stream.instances[stream.next])) {
            ++stream.next;
            moved = true;
          }
        }
      }
    }
    std::int64_t end = 0;
    for (const Rank& rank : ranks_) {
      for (const Instance& instance : rank.instances) {
        if (instance.finish < 0) {
          return -1;
        }
        end = std::max(end, instance.finish);
      }
    }
    return end;
  }

 private:
  struct Instance {
    std::uint32_t operation = 0;
    std::vector<std::pair<std::uint32_t, program::EdgeKind>> waits;
    std::int64_t ready = -1;  // posted: predecessor and dependencies hold
    std::int64_t start = -1;
    std::int64_t finish = -1;
  };
  struct StreamState {
    std::vector<std::uint32_t> instances;
    std::size_t next = 0;
  };
  struct Rank {
    std::vector<Instance> instances;
    std::vector<StreamState> streams;
    std::vector<std::uint32_t> last_instance;  // by operation: latest so far, while unrolling
  };
  struct Meeting {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // rank, instance
  };

  const program::Program& program_of(std::uint32_t rank) const {
    return programs_.programs[programs_.program_of[rank]];
  }

  void unroll(std::uint32_t rank) {
    ranks_.emplace_back();
    Rank& out = ranks_.back();
    const program::Program& program = program_of(rank);
    out.streams.resize(program.streams.size());
    out.last_instance.assign(program.operations.size(), 0xffffffffU);
    unroll_range(rank, 0, static_cast<std::uint32_t>(program.operations.size()));
  }

  void unroll_range(std::uint32_t rank, std::uint32_t begin, std::uint32_t end) {
    const program::Program& program = program_of(rank);
    for (std::uint32_t i = begin; i < end; ++i) {
      const program::Operation& operation = program.operations[i];
      if (operation.kind == program::OpKind::kRepeat) {
        for (std::int64_t round = 0; round < operation.bytes; ++round) {
          unroll_range(rank, i + 1, i + 1 + operation.target);
        }
        i += operation.target;
        continue;
      }
      Rank& out = ranks_[rank];
      Instance instance;
      instance.operation = i;
      for (std::uint32_t d = 0; d < operation.dependency_count; ++d) {
        const auto& dependency = program.dependencies[operation.first_dependency + d];
        instance.waits.emplace_back(out.last_instance[dependency.operation], dependency.edge);
      }
      out.last_instance[i] = static_cast<std::uint32_t>(out.instances.size());
      out.streams[operation.stream].instances.push_back(static_cast<std::uint32_t>(out.instances.size()));
      out.instances.push_back(std::move(instance));
    }
  }

  /// Tries to finish an instance at the head of its stream.
  bool start(std::uint32_t rank, std::uint32_t index) {
    Rank& state = ranks_[rank];
    Instance& instance = state.instances[index];
    if (instance.finish >= 0) {
      return true;
    }
    const program::Program& program = program_of(rank);
    const program::Operation& operation = program.operations[instance.operation];
    if (instance.ready < 0) {
      const StreamState& stream = state.streams[operation.stream];
      std::int64_t ready = stream.next == 0 ? 0 : state.instances[stream.instances[stream.next - 1]].finish;
      for (const auto& [other, edge] : instance.waits) {
        const Instance& before = state.instances[other];
        const std::int64_t at = edge == program::EdgeKind::kStartToStart ? before.start : before.finish;
        if (at < 0) {
          return false;
        }
        ready = std::max(ready, at);
      }
      instance.ready = ready;
      instance.start = ready;
      join(rank, index, operation);
    }
    if (is_local(operation)) {
      instance.finish = instance.ready + (operation.kind == program::OpKind::kCompute
                                              ? compute_time_(program, operation)
                                              : std::max<std::int64_t>(operation.duration_ps, 0));
    }
    return instance.finish >= 0;
  }

  static bool is_local(const program::Operation& operation) {
    return operation.kind != program::OpKind::kCollective && operation.kind != program::OpKind::kSend &&
           operation.kind != program::OpKind::kRecv;
  }

  void join(std::uint32_t rank, std::uint32_t index, const program::Operation& operation) {
    if (is_local(operation)) {
      return;
    }
    const std::uint32_t value = programs_.slot_values[rank][operation.target];
    std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t> key;
    std::size_t size = 2;
    if (operation.kind == program::OpKind::kCollective) {
      const std::uint32_t number = joined_[{rank, 0, value, 0}]++;
      key = {0, value, 0, 0, number};
      size = programs_.groups[GroupId{value}].size();
    } else {
      const bool sends = operation.kind == program::OpKind::kSend;
      const std::uint32_t number = joined_[{rank, sends ? 1 : 2, value, operation.detail}]++;
      key = {1, sends ? rank : value, sends ? value : rank, operation.detail, number};
    }
    Meeting& meeting = meetings_[key];
    meeting.members.emplace_back(rank, index);
    if (meeting.members.size() < size) {
      return;
    }
    std::int64_t finish = 0;
    for (const auto& [member, instance] : meeting.members) {
      finish = std::max(finish, ranks_[member].instances[instance].ready);
    }
    for (const auto& [member, instance] : meeting.members) {
      ranks_[member].instances[instance].finish = finish;
    }
  }

  const program::Programs& programs_;
  ComputeTime compute_time_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>, std::uint32_t> joined_;
  std::map<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Meeting> meetings_;
};

}  // namespace stepcast::workload::testing
