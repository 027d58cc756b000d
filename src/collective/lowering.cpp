#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "collective/availability.hpp"
#include "collective/collective.hpp"
#include "collective/layout.hpp"
#include "collective/nccl/choice.hpp"
#include "collective/phase_price.hpp"
#include "collective/price.hpp"
#include "collective/shape_hint.hpp"
#include "collective/step_plan.hpp"

namespace stepcast::collective {
namespace {

/// The kind whose table a kind is chosen by: a barrier is an all-reduce of a few bytes.
Kind table_kind(Kind kind) {
  return kind == Kind::kBarrier ? Kind::kAllReduce : kind;
}

/// Variables that leave nothing to choose from.
[[noreturn]] void refuse_all(const Request& request, const std::vector<nccl::Candidate>& candidates) {
  std::string reasons;
  nccl::Family last = nccl::Family::kRing;
  for (const nccl::Candidate& candidate : candidates) {
    const bool other = reasons.empty() || candidate.family != last;
    if (other && candidate.protocol == Protocol::kSimple && candidate.reason != "NCCL_ALGO" &&
        !candidate.reason.empty()) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", nccl::name_of(candidate.family),
                             candidate.reason);
      last = candidate.family;
    }
  }
  throw InputError(
      fmt::format("NCCL's variables leave no algorithm for {} on this group ({}); allow Ring with Simple in "
                  "NCCL_ALGO and "
                  "NCCL_PROTO, or leave them out",
                  name_of(request.kind), reasons));
}

CoupledActivity coupled_of(const Price& price,
                           const std::vector<network::Demand>& demands,
                           std::uint32_t divisor) {
  CoupledActivity activity;
  activity.latency = price.latency;
  activity.work = price.work;
  activity.payload = price.payload;
  activity.demands = demands;
  activity.divisor = divisor;
  activity.cap = price.cap;
  return activity;
}

/// What was chosen for a request, without its demands.
Lowered chosen_form(const Request& request, const Algorithm& algorithm, Form form) {
  Lowered lowered;
  lowered.algorithm = algorithm.name;
  if (const std::size_t colon = request.algorithm.find(':'); colon != std::string::npos) {
    lowered.algorithm += request.algorithm.substr(colon);
  }
  lowered.form = form;
  lowered.protocol = algorithm.simple_only ? Protocol::kSimple : request.protocol.value_or(Protocol::kLl);
  lowered.channels = std::max(request.channels, 1U);
  return lowered;
}

/// A call that moves nothing: its launch.
Lowered empty_call(Lowered lowered, Duration launch) {
  lowered.coupled.latency = launch;
  lowered.stepped.latency = launch;
  lowered.idle_time = launch;
  return lowered;
}

std::vector<SteadyState> steady_states(const Algorithm& algorithm,
                                       const Footprint& footprint,
                                       const Request& request,
                                       const hardware::HostKind& host) {
  std::vector<SteadyState> steady =
      algorithm.steady_states({.places = *footprint.places,
                               .channels = footprint.channels,
                               .crossing_hops = footprint.crossing_hops,
                               .root = request.root,
                               .bytes = request.bytes,
                               .host_channels = std::max(host.collective.channels, 1U),
                               .efficiency_nvls = host.collective.efficiency_nvls});
  STEPCAST_CHECK(steady.size() == footprint.phases.size(), "{}: {} phases in time, {} in space",
                 algorithm.name, steady.size(), footprint.phases.size());
  return steady;
}

/// Members high up in a pipeline are done while the last bytes still go down to the others.
void spread_ends(CoupledActivity& activity, const std::vector<std::uint32_t>& depth, Duration launch) {
  const std::uint32_t deepest = *std::max_element(depth.begin(), depth.end());
  if (deepest == 0) {
    return;
  }
  const std::int64_t fill = (activity.latency - launch).ps();
  activity.latency = launch;
  for (const std::uint32_t hops : depth) {
    activity.completion_offset.push_back(
        Duration::from_ps(static_cast<std::int64_t>(Int128{fill} * hops / deepest)));
  }
}

/// Schedules beyond this many messages are not played step by step: memory, not correctness.
void check_messages(double messages) {
  constexpr double kMostMessages = 4.0e6;
  if (messages > kMostMessages) {
    throw UnsupportedError(fmt::format(
        "a schedule of {:.0f} messages is too long to be played step by step; use the coupled form",
        messages));
  }
}

StepCosts step_costs(Protocol protocol, const hardware::CollectiveConstants& constants, double efficiency) {
  return {.launch = constants.launch,
          .wire_bytes =
              [protocol, &constants, efficiency](std::int64_t payload) {
                return wire_bytes(protocol, constants, payload, efficiency);
              },
          .hop_latency =
              [protocol, &constants](bool network, Duration physical) {
                return hop_latency(protocol, constants, network, physical);
              },
          .local_work = [&constants](std::int64_t payload) { return local_work(constants, payload); }};
}

}  // namespace

/// Layouts of one group, by what they depend on.
struct Lowering::Layouts {
  struct Known {
    std::shared_ptr<const Places> places;
    Pattern (*pattern)(const Places&, std::uint32_t, std::uint32_t);
    std::uint32_t channels;
    std::uint32_t root;
    std::unique_ptr<Layout> layout;
  };
  const routing::Router& router;
  std::vector<GpuId> group;
  std::shared_ptr<const Places> places;
  std::shared_ptr<const nccl::GroupCosts> costs;                // of several members
  std::map<std::string, std::shared_ptr<const Places>> shaped;  // by hint
  std::vector<Known> kept;

  Layouts(const Lowering& lowering, std::span<const GpuId> of)
      : router(lowering.router_),
        group(of.begin(), of.end()),
        places(std::make_shared<const Places>(places_of(router, of))) {
    if (of.size() > 1) {
      costs = lowering.chooser_->costs(*places, lowering.local_of(of));
    }
  }

  /// The places as a hint sees them: algorithms in levels know those of the fabric, and their shape.
  const std::shared_ptr<const Places>& seen_by(const std::string& hint) {
    const std::string_view name = algorithm_of(hint);
    const auto all = algorithms();
    const bool levels = std::any_of(all.begin(), all.end(), [&](const Algorithm& algorithm) {
      return algorithm.shaped && (name == algorithm.name || name == algorithm.family);
    });
    if (!levels && hint.size() == name.size()) {
      return places;
    }
    std::shared_ptr<const Places>& known = shaped[hint];
    if (known == nullptr) {
      known = std::make_shared<const Places>(places_in_fabric(router, group, *places).shaped(shape_of(hint)));
    }
    return known;
  }

  const Layout& of(const Algorithm& algorithm,
                   const std::shared_ptr<const Places>& seen,
                   std::uint32_t channel_hint,
                   std::uint32_t root) {
    const std::uint32_t most = std::max(algorithm.channels(*seen), 1U);
    // Fewer rings are laid out; of trees and switches fewer channels carry less of the same.
    const bool fewer = channel_hint > 0 && algorithm.family == "ring";
    const std::uint32_t channels = fewer ? std::min(most, channel_hint) : most;
    root = algorithm.rooted ? root : 0;
    for (const Known& known : kept) {
      if (known.places == seen && known.pattern == algorithm.pattern && known.channels == channels &&
          known.root == root) {
        return *known.layout;
      }
    }
    kept.push_back({seen, algorithm.pattern, channels, root,
                    std::make_unique<Layout>(router, group, seen, algorithm, channels, root)});
    kept.back().layout->set_costs(costs);
    return *kept.back().layout;
  }
};

Lowering::Lowering(const routing::Router& router)
    : router_(router), chooser_(std::make_shared<const nccl::Chooser>(router.cluster())) {
  const topology::Topology& topology = router.topology();
  std::map<std::uint32_t, std::uint32_t> counts;
  local_.reserve(topology.gpu_count());
  for (std::uint32_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    local_.push_back(counts[topology.host_of(GpuId{gpu})]++);
  }
}

std::vector<std::uint32_t> Lowering::local_of(std::span<const GpuId> group) const {
  std::vector<std::uint32_t> local;
  local.reserve(group.size());
  for (const GpuId gpu : group) {
    local.push_back(local_[gpu.index()]);
  }
  return local;
}

Lowering::Layouts& Lowering::layouts_of(std::span<const GpuId> group) const {
  if (last_ == nullptr || !std::equal(group.begin(), group.end(), last_->group.begin(), last_->group.end())) {
    last_.reset();
    last_ = std::make_shared<Layouts>(*this, group);
  }
  return *last_;
}

Lowered Lowering::lower(const Request& request, std::span<const GpuId> group, Form form) const {
  return lower_on(request, group, form, layouts_of(group));
}

std::vector<Lowered> Lowering::lower(std::span<const Request> requests,
                                     std::span<const GpuId> group,
                                     Form form) const {
  Layouts& layouts = layouts_of(group);
  std::vector<Lowered> lowered;
  lowered.reserve(requests.size());
  for (const Request& request : requests) {
    lowered.push_back(lower_on(request, group, form, layouts));
  }
  return lowered;
}

/// What a call is done by. Several algorithms: the one with the least idle time.
struct Lowering::Decision {
  std::vector<const Algorithm*> algorithms;
  std::optional<Protocol> protocol;  ///< of the request, or chosen
  std::uint32_t channels = 0;        ///< 0 = not chosen
};

Lowering::Decision Lowering::decide(const Request& request,
                                    const std::vector<const Algorithm*>& possible,
                                    Layouts& layouts) const {
  const Kind kind = table_kind(request.kind);
  if (!nccl::has_table(kind)) {
    const auto preferred = std::find_if(possible.begin(), possible.end(), [](const Algorithm* algorithm) {
      return algorithm->default_for_kind;
    });
    return request.algorithm.empty() && preferred != possible.end()
               ? Decision{{*preferred}, request.protocol, 0}
               : Decision{possible, request.protocol, 0};
  }
  nccl::Offer offer;
  offer.protocol = request.protocol;
  bool any = false;
  for (std::size_t f = 0; f < nccl::kFamilies; ++f) {
    const Algorithm* leaf = leaf_of(request.kind, static_cast<nccl::Family>(f));
    offer.families[f] =
        leaf != nullptr && std::find(possible.begin(), possible.end(), leaf) != possible.end();
    any = any || offer.families[f];
  }
  if (any) {
    const auto choice =
        chooser_->choose(*layouts.costs, kind, request.bytes, request.dtype, request.reduction, offer);
    if (choice) {
      return {{leaf_of(request.kind, choice->family)}, choice->protocol, choice->channels};
    }
    if (request.algorithm.empty() && !request.protocol) {
      refuse_all(request,
                 chooser_->candidates(*layouts.costs, kind, request.bytes, request.dtype, request.reduction));
    }
  }
  return {possible, request.protocol, 0};  // what is asked for outright wins over the table
}

Lowered Lowering::lower_on(const Request& asked,
                           std::span<const GpuId> group,
                           Form form,
                           Layouts& layouts) const {
  STEPCAST_CHECK(!group.empty() && asked.bytes >= Bytes(0) && asked.root < group.size(),
                 "{} bytes, {} members, root {}", asked.bytes.count(), group.size(), asked.root);
  const hardware::CollectiveConstants& constants = router_.cluster().host.collective;
  if (asked.steps != nullptr) {
    STEPCAST_CHECK(
        asked.steps->kind == asked.kind && asked.steps->members == group.size() && asked.steps->switches == 0,
        "a step list of {} for {} members", name_of(asked.steps->kind), asked.steps->members);
    if (group.size() > 1 && asked.bytes > Bytes(0)) {
      return play(asked, Layout(router_, group, layouts.places, asked.steps->channels));
    }
    Lowered nothing;
    nothing.algorithm = asked.algorithm;
    nothing.protocol = asked.protocol.value_or(Protocol::kLl);
    nothing.channels = asked.steps->channels;
    nothing.form = Form::kSteps;
    return empty_call(std::move(nothing), constants.launch);
  }
  const std::shared_ptr<const Places> places = layouts.seen_by(asked.algorithm);
  const auto possible = possible_algorithms(asked, {*places, router_.cluster(), chooser_->settings()});
  Request request = asked;
  if (possible[0]->least > Bytes(0)) {
    request.bytes = possible[0]->least;
  }
  if (group.size() == 1 || request.bytes == Bytes(0)) {
    return empty_call(chosen_form(request, *possible[0], form), constants.launch);
  }
  const Decision decision = decide(request, possible, layouts);
  request.protocol = decision.protocol;
  if (request.channels == 0 && layouts.costs->communicator.channel_limit > 0) {
    request.channels = layouts.costs->communicator.channel_limit;
  }
  Lowered best;
  const Algorithm* chosen = nullptr;
  for (const Algorithm* algorithm : decision.algorithms) {
    const Layout& layout = layouts.of(*algorithm, places, request.channels, request.root);
    Lowered lowered = lower_with(*algorithm, request, layout.footprint());
    if (chosen == nullptr || lowered.idle_time < best.idle_time) {
      best = std::move(lowered);
      chosen = algorithm;
    }
  }
  if (decision.channels > 0 && asked.channels == 0) {
    best.channels = decision.channels;
  }
  if (form == Form::kSteps || uneven(request)) {
    return step_by_step(std::move(best), *chosen, request,
                        layouts.of(*chosen, places, request.channels, request.root));
  }
  return best;
}

Lowered Lowering::step_by_step(Lowered lowered,
                               const Algorithm& algorithm,
                               const Request& request,
                               const Layout& layout) const {
  const hardware::HostKind& host = router_.cluster().host;
  const Footprint& footprint = layout.footprint();
  if (algorithm.reduces_in_fabric) {
    throw UnsupportedError(fmt::format(
        "\"{}\" reduces in the switches of the fabric, where no link shows single messages; leave out the "
        "step by step form",
        algorithm.name));
  }
  const std::vector<SteadyState> steady = steady_states(algorithm, footprint, request, host);
  check_messages(algorithm.messages(*footprint.places, footprint.channels));
  const StepCosts costs = step_costs(lowered.protocol, host.collective, steady[0].efficiency);
  lowered.form = Form::kSteps;
  lowered.coupled = {};
  lowered.then.clear();
  lowered.stepped = transfers_of(algorithm.schedule(*footprint.places, footprint.channels, request.root),
                                 request, layout, costs);
  lowered.idle_time =
      longest_chain(lowered.stepped, steady[0].even ? footprint.phases[0].rate : 0, router_.resources());
  return lowered;
}

/// Without a protocol: that of the shortest chain on an idle fabric (ties: the first).
Lowered Lowering::play(const Request& request, const Layout& layout) const {
  const hardware::CollectiveConstants& constants = router_.cluster().host.collective;
  double messages = 0;
  for (const Lane& lane : request.steps->lanes) {
    messages += static_cast<double>(std::count_if(lane.steps.begin(), lane.steps.end(),
                                                  [](const Step& step) { return sends(step.action); }));
  }
  check_messages(messages);
  Lowered best;
  for (const Protocol protocol : kProtocols) {
    if (request.protocol.value_or(protocol) != protocol) {
      continue;
    }
    Lowered lowered;
    lowered.algorithm = request.algorithm;
    lowered.protocol = protocol;
    lowered.channels = request.steps->channels;
    lowered.form = Form::kSteps;
    lowered.stepped = transfers_of(*request.steps, request, layout, step_costs(protocol, constants, 1));
    lowered.idle_time = longest_chain(lowered.stepped, 0, router_.resources());
    if (best.algorithm.empty() || lowered.idle_time < best.idle_time) {
      best = std::move(lowered);
    }
  }
  return best;
}

std::vector<Footprint> Lowering::footprints(std::span<const Kind> kinds, std::span<const GpuId> group) const {
  Layouts layouts(*this, group);
  std::vector<Footprint> all;
  for (const Kind kind : kinds) {
    Request request;
    request.kind = kind;
    for (std::size_t f = 0; f < nccl::kFamilies; ++f) {
      const Algorithm* leaf = leaf_of(kind, static_cast<nccl::Family>(f));
      const auto& costs = layouts.costs->tables[static_cast<std::size_t>(kind)][f];
      const bool listed =
          std::any_of(costs.begin(), costs.end(), [](const nccl::Cost& cost) { return cost.bandwidth > 0; });
      const auto same = [&](const Footprint& known) { return known.pattern == leaf->pattern; };
      if (leaf == nullptr || !listed || std::any_of(all.begin(), all.end(), same) ||
          !refusal_of(*leaf, request, {*layouts.places, router_.cluster(), chooser_->settings()}).empty()) {
        continue;
      }
      const std::uint32_t limit = layouts.costs->communicator.channel_limit;
      all.push_back(layouts.of(*leaf, layouts.places, limit, 0).footprint());
    }
  }
  return all;
}

Lowered Lowering::lower(const Request& request, std::span<const Footprint> footprints) const {
  STEPCAST_CHECK(!footprints.empty() && nccl::has_table(request.kind) && request.algorithm.empty() &&
                     request.channels == 0,
                 "{} on {} footprints", name_of(request.kind), footprints.size());
  nccl::Offer offer;
  offer.protocol = request.protocol;
  std::array<std::size_t, nccl::kFamilies> at{};
  const topology::Cluster& cluster = router_.cluster();
  for (std::size_t f = 0; f < nccl::kFamilies; ++f) {
    const Algorithm* leaf = leaf_of(request.kind, static_cast<nccl::Family>(f));
    if (leaf == nullptr) {
      continue;
    }
    while (at[f] < footprints.size() && footprints[at[f]].pattern != leaf->pattern) {
      ++at[f];
    }
    const bool too_large = leaf->reduces_in_fabric && cluster.sharp->largest_call > Bytes(0) &&
                           request.bytes > cluster.sharp->largest_call;
    offer.families[f] = at[f] < footprints.size() && !too_large;
  }
  if (request.bytes == Bytes(0)) {
    return empty_call(chosen_form(request, *leaf_of(request.kind, nccl::Family::kRing), Form::kCoupled),
                      cluster.host.collective.launch);
  }
  const nccl::GroupCosts& costs = *footprints[0].costs;
  const auto choice =
      chooser_->choose(costs, request.kind, request.bytes, request.dtype, request.reduction, offer);
  if (!choice) {
    refuse_all(request,
               chooser_->candidates(costs, request.kind, request.bytes, request.dtype, request.reduction));
  }
  Request priced = request;
  priced.protocol = choice->protocol;
  priced.channels = costs.communicator.channel_limit;
  const std::size_t index = at[static_cast<std::size_t>(choice->family)];
  Lowered lowered = lower_with(*leaf_of(request.kind, choice->family), priced, footprints[index]);
  lowered.channels = choice->channels;
  lowered.footprint = static_cast<std::uint32_t>(index);
  return lowered;
}

std::vector<nccl::Candidate> Lowering::candidates(const Request& request,
                                                  std::span<const GpuId> group) const {
  const Kind kind = table_kind(request.kind);
  if (group.size() < 2 || !nccl::has_table(kind)) {
    return {};
  }
  const Places places = places_of(router_, group);
  const auto costs = chooser_->costs(places, local_of(group));
  std::vector<nccl::Candidate> all =
      chooser_->candidates(*costs, kind, request.bytes, request.dtype, request.reduction);
  for (nccl::Candidate& one : all) {
    if (!one.reason.empty()) {
      continue;
    }
    const Algorithm* leaf = leaf_of(request.kind, one.family);
    if (leaf == nullptr) {
      one.reason = "not modelled";
    } else if (!request.algorithm.empty() && request.algorithm != leaf->name &&
               request.algorithm != leaf->family) {
      one.reason = "--algo " + request.algorithm;
    } else if (request.protocol && *request.protocol != one.protocol) {
      one.reason = fmt::format("--proto {}", name_of(*request.protocol));
    } else {
      one.reason = refusal_of(*leaf, request, {places, router_.cluster(), chooser_->settings()});
    }
    if (!one.reason.empty()) {
      one.table_time_us = std::numeric_limits<double>::infinity();
    }
  }
  return all;
}

std::string Lowering::group_text(std::span<const GpuId> group) const {
  if (group.size() < 2) {
    return "one rank";
  }
  const auto costs = chooser_->costs(places_of(router_, group), local_of(group));
  const nccl::Communicator& seen = costs->communicator;
  const auto speeds = [&](std::string_view name, const nccl::Speeds& found) {
    return found.channels == 0 ? std::string()
           : seen.nodes == 1   ? fmt::format("; {} {} x {:g} GB/s", name, found.channels, found.intra)
                             : fmt::format("; {} {} x {:g} GB/s in hosts, {:g} between", name, found.channels,
                                           found.intra, found.inter);
  };
  return fmt::format(
      "{} ranks, {} NVLink domain{}, compute capability {}.{}, {} CPUs{}{}{}; connected: {} channels",
      seen.ranks, seen.nodes, seen.nodes == 1 ? "" : "s", seen.compute_capability / 10,
      seen.compute_capability % 10, hardware::name_of(seen.cpu), speeds("rings", seen.ring),
      speeds("trees", seen.tree), speeds("NVLS", seen.nvls), seen.connected_channels);
}

Lowered Lowering::lower_with(const Algorithm& algorithm,
                             const Request& request,
                             const Footprint& footprint) const {
  const hardware::HostKind& host = router_.cluster().host;
  const std::vector<SteadyState> steady = steady_states(algorithm, footprint, request, host);
  const PricedPhases chosen =
      price_phases(algorithm, request, footprint, steady, host, chooser_->settings().version);
  const std::uint32_t usual =
      footprint.several_hosts ? footprint.channels : std::max(host.collective.channels, 1U);
  Lowered lowered = chosen_form(request, algorithm, Form::kCoupled);
  lowered.protocol = chosen.protocol;
  lowered.channels = request.channels > 0 ? request.channels : usual;
  lowered.idle_time = chosen.idle_time;
  for (std::size_t i = 0; i < steady.size(); ++i) {
    const Footprint::Phase& phase = footprint.phases[i];
    CoupledActivity activity = coupled_of(chosen.phases[i], phase.demands, phase.divisor);
    if (i == 0) {
      lowered.coupled = std::move(activity);
    } else {
      lowered.then.push_back(std::move(activity));
    }
  }
  if (steady.size() == 1 && !steady[0].depth.empty()) {
    spread_ends(lowered.coupled, steady[0].depth, host.collective.launch);
  }
  return lowered;
}

MessagePath Lowering::message_path(GpuId from, GpuId to) const {
  return from == to ? MessagePath{}
                    : message_path(router_.between(from, to), router_.crosses_network(from, to));
}

MessagePath Lowering::message_path(const routing::Path& path, bool network) const {
  MessagePath found;
  DemandSum sum;
  sum.add(path);
  const DemandVector vector = sum.total();
  found.network = network;
  found.latency = path.latency;
  found.rate = idle_rate(vector, router_.resources());
  found.demands = vector.demands;
  found.divisor = vector.divisor;
  return found;
}

Lowered Lowering::lower_message(Bytes bytes, GpuId from, GpuId to) const {
  return lower_message(bytes, message_path(from, to));
}

Lowered Lowering::lower_message(Bytes bytes, const MessagePath& path) const {
  STEPCAST_CHECK(bytes >= Bytes(0), "a message of {} bytes", bytes.count());
  const hardware::CollectiveConstants& constants = router_.cluster().host.collective;
  Lowered lowered;
  lowered.protocol = Protocol::kLl;
  lowered.coupled.completion_offset = {Duration{}, Duration{}};
  if (path.rate == 0) {
    lowered.coupled.latency = constants.launch;
    lowered.idle_time = constants.launch;
    return lowered;
  }
  Passage passage;
  passage.network_steps = path.network ? 1 : 0;
  passage.local_latency = path.latency;
  passage.network_latency = path.latency;
  passage.work = bytes.count();
  passage.rate = path.rate;
  const Price low_latency = price(Protocol::kLl, constants, passage);
  const Price simple = price(Protocol::kSimple, constants, passage);
  const Price& chosen = simple.idle_time < low_latency.idle_time ? simple : low_latency;
  lowered.protocol = chosen.protocol;
  lowered.coupled = coupled_of(chosen, path.demands, path.divisor);
  // The sender is done when the last byte has left, the receiver when it has crossed the path.
  const Duration crossing = std::min(path.latency, lowered.coupled.latency);
  lowered.coupled.latency -= crossing;
  lowered.coupled.completion_offset = {Duration{}, crossing};
  lowered.idle_time = chosen.idle_time;
  return lowered;
}

Lowered Lowering::lower_storage(Bytes bytes, GpuId gpu, std::uint32_t storage, bool write) const {
  STEPCAST_CHECK(bytes >= Bytes(0), "a transfer of {} bytes", bytes.count());
  const routing::Path& path = write ? router_.to_storage(gpu, storage) : router_.from_storage(storage, gpu);
  DemandSum sum;
  sum.add(path);
  const DemandVector vector = sum.total();
  Lowered lowered;
  lowered.coupled.latency = path.latency;
  lowered.coupled.work = bytes.count();
  lowered.coupled.payload = bytes.count();
  lowered.coupled.demands = vector.demands;
  lowered.coupled.divisor = vector.divisor;
  lowered.idle_time = path.latency + wire_time(bytes.count(), idle_rate(vector, router_.resources()));
  return lowered;
}

}  // namespace stepcast::collective
