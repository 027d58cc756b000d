#include "replay/collective_run.hpp"

#include "compute/model.hpp"
#include "replay/alone_prices.hpp"
#include "replay/analytic.hpp"
#include "replay/executor.hpp"

namespace stepcast::replay {
namespace {

program::Programs programs_of(const collective::Request& request, std::uint32_t members) {
  program::Programs programs;
  programs.ranks = members;
  program::Program program;
  program.name = "collective";
  program.streams.push_back({"communication", program::StreamKind::kCommunication});
  program.slots.push_back({"all", program::SlotKind::kGroup});
  program::CollectiveDetail detail;
  detail.kind = request.kind;
  detail.root = request.root;
  detail.algorithm = request.algorithm;
  detail.protocol = request.protocol ? std::string(collective::name_of(*request.protocol)) : std::string();
  detail.channels = request.channels;
  detail.splits = request.splits;
  program.collectives.push_back(detail);
  program::Operation op;
  op.kind = program::OpKind::kCollective;
  op.dtype = request.dtype;
  op.bytes = request.bytes.count();
  op.target = 0;
  op.detail = 0;
  program.operations.push_back(op);
  programs.programs.push_back(std::move(program));
  programs.groups.push_back(program::Group::strided(0, {{1, members}}));
  programs.group_names.emplace_back("all");
  programs.program_of.assign(members, 0);
  programs.slot_values.assign(members, {0});
  return programs;
}

}  // namespace

std::vector<CollectiveTime> run_collectives(const routing::Router& router,
                                            const collective::Request& request,
                                            std::span<const Bytes> sizes,
                                            std::span<const GpuId> group,
                                            collective::Form form,
                                            std::string_view fidelity) {
  const auto compute = compute::make_model("roofline");
  const collective::Lowering lowering(router);
  Placement placement;
  for (const GpuId gpu : group) {
    placement.push_back(gpu);
  }
  std::vector<CollectiveTime> times;
  if (fidelity == "analytic") {
    require_coupled(form);
    const AlonePrices prices(router, placement);
    for (const Bytes bytes : sizes) {
      collective::Request call = request;
      call.bytes = bytes;
      const collective::Lowered lowered = lowering.lower(call, group, form);
      times.push_back({bytes, Duration::from_ps(prices.alone_ps(lowered)), lowered.algorithm,
                       lowered.protocol, lowered.channels});
    }
    return times;
  }
  for (const Bytes bytes : sizes) {
    collective::Request call = request;
    call.bytes = bytes;
    const collective::Lowered lowered = lowering.lower(call, group, form);
    const program::Programs programs = programs_of(call, static_cast<std::uint32_t>(group.size()));
    ExecutorOptions options;
    options.form = form;
    const Timeline timeline = execute(programs, placement, router, *compute, options);
    times.push_back(
        {bytes, timeline.end.since_start(), lowered.algorithm, lowered.protocol, lowered.channels});
  }
  return times;
}

}  // namespace stepcast::replay
