#include "replay/collective_run.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compute/model.hpp"
#include "replay/alone_prices.hpp"
#include "replay/analytic.hpp"
#include "replay/executor.hpp"

namespace stepcast::replay {
namespace {

program::CollectiveDetail detail_of(const collective::Request& request) {
  program::CollectiveDetail detail;
  detail.kind = request.kind;
  detail.root = request.root;
  detail.reduction = request.reduction == collective::Reduction::kSum      ? "sum"
                     : request.reduction == collective::Reduction::kMinMax ? "max"
                                                                           : "prod";
  detail.algorithm = request.algorithm;
  detail.protocol = request.protocol ? std::string(collective::name_of(*request.protocol)) : std::string();
  detail.channels = request.channels;
  detail.splits = request.splits;
  detail.steps = request.steps;
  return detail;
}

program::Operation operation_of(const collective::Request& request,
                                std::uint16_t stream,
                                std::uint32_t slot,
                                std::uint32_t detail) {
  program::Operation op;
  op.kind = program::OpKind::kCollective;
  op.stream = stream;
  op.dtype = request.dtype;
  op.bytes = request.bytes.count();
  op.target = slot;
  op.detail = detail;
  return op;
}

/// Collectives that run together, as programs: a rank per GPU, a stream per collective of a rank. Ranks
/// that take part in the same collectives share a program.
class Together {
 public:
  explicit Together(std::span<const OtherCollective> all) : all_(all) {
    for (std::uint32_t index = 0; index < all.size(); ++index) {
      std::vector<std::uint32_t> ranks;
      for (const GpuId gpu : all[index].group) {
        const auto [found, fresh] = rank_of_.try_emplace(gpu, static_cast<std::uint32_t>(rank_of_.size()));
        if (fresh) {
          placement.push_back(gpu);
          parts_.emplace_back();
        }
        parts_[found->second].push_back(index);
        ranks.push_back(found->second);
      }
      programs.groups.push_back(program::Group::listed(std::move(ranks)));
      programs.group_names.push_back(fmt::format("collective {}", index));
    }
    programs.ranks = static_cast<std::uint32_t>(parts_.size());
    std::map<std::vector<std::uint32_t>, std::uint32_t> known;
    for (const std::vector<std::uint32_t>& parts : parts_) {
      const auto [found, fresh] = known.try_emplace(parts, static_cast<std::uint32_t>(known.size()));
      if (fresh) {
        add_program(parts);
      }
      programs.program_of.push_back(found->second);
      programs.slot_values.push_back(parts);  // slot i is the group of the i-th collective
    }
  }

  /// From each collective's start to the end of its last member.
  [[nodiscard]] std::vector<Duration> times(const Timeline& timeline) const {
    std::vector<TimePoint> ends(all_.size());
    for (const Interval& interval : timeline.intervals) {
      const std::uint32_t index =
          collective_of_[programs.program_of[interval.rank.index()]][interval.operation.index()];
      if (index != kNone) {
        ends[index] = std::max(ends[index], interval.end);
      }
    }
    std::vector<Duration> times;
    for (std::size_t index = 0; index < ends.size(); ++index) {
      times.push_back(ends[index].since_start() - all_[index].start);
    }
    return times;
  }

  program::Programs programs;
  Placement placement;

 private:
  void add_program(const std::vector<std::uint32_t>& parts) {
    program::Program program;
    program.name = fmt::format("collectives {}", fmt::join(parts, " "));
    std::vector<std::uint32_t> collective_of;
    for (std::uint32_t slot = 0; slot < parts.size(); ++slot) {
      const OtherCollective& one = all_[parts[slot]];
      const auto stream = static_cast<std::uint16_t>(slot);
      program.streams.push_back(
          {fmt::format("collective {}", parts[slot]), program::StreamKind::kCommunication});
      program.slots.push_back({fmt::format("group {}", parts[slot]), program::SlotKind::kGroup});
      if (one.start > Duration{}) {
        program::Operation wait;
        wait.kind = program::OpKind::kDelay;
        wait.stream = stream;
        wait.duration_ps = one.start.ps();
        program.operations.push_back(wait);
        collective_of.push_back(kNone);
      }
      program.operations.push_back(operation_of(one.request, stream, slot, slot));
      program.collectives.push_back(detail_of(one.request));
      collective_of.push_back(parts[slot]);
    }
    programs.programs.push_back(std::move(program));
    collective_of_.push_back(std::move(collective_of));
  }

  static constexpr std::uint32_t kNone = program::Operation::kNone;
  std::span<const OtherCollective> all_;
  std::map<GpuId, std::uint32_t> rank_of_;
  std::vector<std::vector<std::uint32_t>> parts_;          // by rank: collectives
  std::vector<std::vector<std::uint32_t>> collective_of_;  // by program and operation
};

/// Calls one after the other on one group: every call starts when the last member has ended the one
/// before, so that their times add up to the run.
program::Programs sequence_of(std::span<const collective::Request> calls, std::uint32_t members) {
  program::Program program;
  program.name = "collective";
  program.streams.push_back({"communication", program::StreamKind::kCommunication});
  program.slots.push_back({"all", program::SlotKind::kGroup});
  program.collectives.push_back(detail_of(calls.front()));  // they differ in bytes alone
  for (const collective::Request& call : calls) {
    program.operations.push_back(operation_of(call, 0, 0, 0));
  }
  program::Programs programs;
  programs.ranks = members;
  programs.programs.push_back(std::move(program));
  programs.groups.push_back(program::Group::strided(0, {{1, members}}));
  programs.group_names.emplace_back("all");
  programs.program_of.assign(members, 0);
  programs.slot_values.assign(members, {0});
  return programs;
}

/// Times of a sequence by its operations.
std::vector<Duration> sequence_times(const Timeline& timeline, std::size_t calls) {
  std::vector<TimePoint> ends(calls);
  for (const Interval& interval : timeline.intervals) {
    TimePoint& end = ends[interval.operation.index()];
    end = std::max(end, interval.end);
  }
  std::vector<Duration> times;
  TimePoint before;
  for (const TimePoint end : ends) {
    times.push_back(end - before);
    before = end;
  }
  return times;
}

}  // namespace

std::vector<CollectiveTime> run_collectives(const routing::Router& router,
                                            const collective::Request& request,
                                            std::span<const Bytes> sizes,
                                            std::span<const GpuId> group,
                                            const CollectiveOptions& options,
                                            std::span<const OtherCollective> others) {
  if (sizes.empty()) {
    return {};
  }
  const bool analytic = options.fidelity == "analytic";
  if (analytic) {
    require_coupled(options.form);
  }
  router.prepare(group);
  const auto compute = compute::make_model("roofline");
  const collective::Lowering lowering(router);
  Placement placement;
  for (const GpuId gpu : group) {
    placement.push_back(gpu);
  }
  std::vector<collective::Request> calls;
  for (const Bytes bytes : sizes) {
    calls.push_back(request);
    calls.back().bytes = bytes;
  }
  // What is chosen does not depend on the form.
  const std::vector<collective::Lowered> chosen = lowering.lower(calls, group, collective::Form::kCoupled);
  std::vector<CollectiveTime> times;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    times.push_back({sizes[i], {}, chosen[i].algorithm, chosen[i].protocol, chosen[i].channels, {}});
  }
  if (analytic) {
    const AlonePrices prices(router, placement);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      times[i].time = Duration::from_ps(prices.alone_ps(chosen[i]));
      for (const OtherCollective& other : others) {
        times[i].others.push_back(Duration::from_ps(
            prices.alone_ps(lowering.lower(other.request, other.group, collective::Form::kCoupled))));
      }
    }
    return times;
  }
  ExecutorOptions run;
  run.form = options.form;
  run.fold = options.fold;
  run.record_timeline = true;
  run.lowering = &lowering;
  // Members of what is played step by step end one by one: each size gets a run of its own.
  const bool stepped = std::any_of(chosen.begin(), chosen.end(), [](const collective::Lowered& lowered) {
    return lowered.form == collective::Form::kSteps;
  });
  if (others.empty() && options.form == collective::Form::kCoupled && !stepped) {
    const program::Programs programs = sequence_of(calls, static_cast<std::uint32_t>(group.size()));
    const std::vector<Duration> sequence =
        sequence_times(execute(programs, placement, router, *compute, run), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      times[i].time = sequence[i];
    }
    return times;
  }
  std::vector<OtherCollective> all(others.size() + 1);
  all.front() = {request, {group.begin(), group.end()}, {}};
  std::copy(others.begin(), others.end(), all.begin() + 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all.front().request = calls[i];
    const Together together(all);
    const std::vector<Duration> ends =
        together.times(execute(together.programs, together.placement, router, *compute, run));
    times[i].time = ends.front();
    times[i].others.assign(ends.begin() + 1, ends.end());
  }
  return times;
}

}  // namespace stepcast::replay
