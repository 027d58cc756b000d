#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "collective/collective.hpp"
#include "collective/layout.hpp"
#include "collective/price.hpp"
#include "collective/shape_hint.hpp"
#include "collective/step_plan.hpp"

namespace stepcast::collective {
namespace {

/// True when the parts of an all-to-all differ: their flows then end at different times.
bool uneven(const Request& request) {
  return std::any_of(request.splits.begin(), request.splits.end(),
                     [&](Bytes split) { return split != request.splits[0]; });
}

/// Algorithms of the request's kind that its hint allows.
std::vector<const Algorithm*> wanted_algorithms(const Request& request) {
  std::vector<std::string> names;
  std::vector<const Algorithm*> wanted;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != request.kind) {
      continue;
    }
    names.emplace_back(algorithm.family);
    names.emplace_back(algorithm.name);
    const std::string_view hint = algorithm_of(request.algorithm);
    if (hint.empty() || hint == algorithm.name || hint == algorithm.family) {
      wanted.push_back(&algorithm);
    }
  }
  if (names.empty()) {
    throw UnsupportedError(fmt::format("no algorithm for {} yet", name_of(request.kind)));
  }
  if (wanted.empty()) {
    throw InputError(fmt::format("unknown algorithm \"{}\" for {}; {}", request.algorithm,
                                 name_of(request.kind), suggest(request.algorithm, names)));
  }
  return wanted;
}

/// True when a level of the shape is summed in NVLink switches.
bool uses_nvls(const Algorithm& algorithm, const Places& places) {
  const std::vector<std::string>& levels = places.shape().algorithms;
  return algorithm.shaped && std::find(levels.begin(), levels.end(), "nvls") != levels.end();
}

bool needs_simple(const Algorithm& algorithm, const Places& places) {
  return algorithm.simple_only || uses_nvls(algorithm, places);
}

/// Why an algorithm cannot do a request on a group, or empty.
std::string refusal_of(const Algorithm& algorithm,
                       const Request& request,
                       const Places& places,
                       const topology::Cluster& cluster) {
  if (!algorithm.shaped && places.shape() != Shape{}) {
    return "it has no levels or sides to be chosen";
  }
  if (needs_simple(algorithm, places) && request.protocol.value_or(Protocol::kSimple) != Protocol::kSimple) {
    return fmt::format("it runs in protocol Simple only, not in {}", name_of(*request.protocol));
  }
  if (uneven(request) && !algorithm.sends_own_chunks) {
    return "it passes on data of others in equal parts, and the splits differ";
  }
  std::string refusal = algorithm.available == nullptr ? std::string() : algorithm.available(cluster);
  if (refusal.empty() && uses_nvls(algorithm, places)) {
    const auto all = algorithms();
    refusal = std::find_if(all.begin(), all.end(), [](const Algorithm& one) {
                return one.family == "nvls";
              })->available(cluster);
  }
  if (refusal.empty() && algorithm.reduces_in_fabric) {
    const topology::Sharp& sharp = *cluster.sharp;
    const std::uint32_t most = std::max(algorithm.channels(places), 1U);
    const std::uint32_t trees = request.channels == 0 ? most : std::min(most, request.channels);
    if (sharp.trees > 0 && trees > sharp.trees) {
      refusal = fmt::format("it needs {} reduction trees and the switches have {} (give --channels {})",
                            trees, sharp.trees, sharp.trees);
    } else if (sharp.largest_call > Bytes(0) && request.bytes > sharp.largest_call) {
      refusal = fmt::format("the switches reduce at most {} bytes a call", sharp.largest_call.count());
    }
  }
  if (refusal.empty() && algorithm.fits != nullptr && places.members() > 1) {
    refusal = algorithm.fits(places);
  }
  return refusal;
}

/// Those of the wanted algorithms that can run, at least one; without a hint the first default one alone.
std::vector<const Algorithm*> possible_algorithms(const Request& request,
                                                  const Places& places,
                                                  const topology::Cluster& cluster) {
  std::vector<const Algorithm*> possible;
  std::string refusals;
  for (const Algorithm* algorithm : wanted_algorithms(request)) {
    const std::string refusal = refusal_of(*algorithm, request, places, cluster);
    if (refusal.empty()) {
      possible.push_back(algorithm);
    } else {
      refusals +=
          fmt::format("{}\"{}\" cannot run here: {}", refusals.empty() ? "" : "; ", algorithm->name, refusal);
    }
  }
  if (possible.empty()) {
    std::vector<std::string> others;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind == request.kind &&
          refusal_of(algorithm, request, places.shaped({}), cluster).empty()) {
        others.emplace_back(algorithm.family);
      }
    }
    throw InputError(fmt::format(
        "{}; {}", refusals,
        others.empty() ? "leave out the protocol" : fmt::format("use {}", fmt::join(others, ", "))));
  }
  if (request.algorithm.empty()) {
    for (const Algorithm* algorithm : possible) {
      if (algorithm->default_for_kind) {
        return {algorithm};
      }
    }
  }
  return possible;
}

/// Payload bytes of a weight of one in each of `channels` channels, rounded up.
std::int64_t hop_payload(Bytes bytes, const SteadyState& steady, std::uint32_t channels) {
  constexpr Int128 kMostWork = Int128{1} << 62;
  const Int128 divisor = Int128{steady.share_denominator} * channels;
  const Int128 work = (Int128{bytes.count()} * steady.share_numerator + divisor - 1) / divisor;
  if (work >= kMostWork) {
    throw UnsupportedError(
        fmt::format("{} bytes are too many for one collective; give fewer bytes", bytes.count()));
  }
  return static_cast<std::int64_t>(work);
}

Passage passage_of(const Footprint& footprint,
                   const Footprint::Phase& phase,
                   const SteadyState& steady,
                   const Request& request,
                   const hardware::HostKind& host) {
  const hardware::CollectiveConstants& constants = host.collective;
  const double channels = std::max(constants.channels, 1U);
  Passage passage;
  passage.steps = steady.steps;
  passage.network_steps = steady.network_steps;
  passage.local_latency = phase.local_latency;
  passage.network_latency = phase.network_latency;
  passage.ring = phase.ring;
  passage.work = hop_payload(request.bytes, steady, footprint.channels);
  passage.rate = phase.rate;
  passage.last_step_exposed = steady.last_step_exposed;
  passage.efficiency = steady.efficiency;
  // All channels together fill NVLink; what leaves one port shares them.
  const double nvlink = host.nvlink_effective.bytes_per_second();
  passage.channel_rate = (nvlink > 0 ? nvlink / steady.port_weight : passage.rate) / channels;
  passage.channel_limit = request.channels > 0 && request.channels < channels ? request.channels : 0;
  passage.channel_payload = constants.ll_channel_bytes * steady.pieces *
                            static_cast<double>(steady.share_numerator) /
                            static_cast<double>(steady.share_denominator) / footprint.channels;
  return passage;
}

/// All phases in one protocol: the launch is part of the first.
struct PricedPhases {
  Protocol protocol = Protocol::kLl;
  std::vector<Price> phases;
  Duration idle_time;
};

PricedPhases price_in(Protocol protocol,
                      const hardware::CollectiveConstants& constants,
                      const std::vector<Passage>& passages) {
  PricedPhases priced;
  priced.protocol = protocol;
  for (const Passage& passage : passages) {
    Price phase = price(protocol, constants, passage);
    if (!priced.phases.empty()) {
      phase.latency -= constants.launch;
      phase.idle_time -= constants.launch;
    }
    priced.idle_time += phase.idle_time;
    priced.phases.push_back(phase);
  }
  return priced;
}

/// The asked protocol, or the one with the least time on an idle fabric (ties: the first).
PricedPhases choose_price(const Algorithm& algorithm,
                          const Places& places,
                          const Request& request,
                          const hardware::CollectiveConstants& constants,
                          const std::vector<Passage>& passages) {
  const bool simple = needs_simple(algorithm, places);
  if (simple || request.protocol) {
    return price_in(simple ? Protocol::kSimple : *request.protocol, constants, passages);
  }
  PricedPhases best = price_in(kProtocols[0], constants, passages);
  for (std::size_t i = 1; i < kProtocols.size(); ++i) {
    PricedPhases other = price_in(kProtocols[i], constants, passages);
    best = other.idle_time < best.idle_time ? std::move(other) : best;
  }
  return best;
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
              }};
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
  std::span<const GpuId> group;
  std::shared_ptr<const Places> places;
  std::map<std::string, std::shared_ptr<const Places>> shaped;  // by hint
  std::vector<Known> kept;

  Layouts(const routing::Router& on, std::span<const GpuId> of)
      : router(on), group(of), places(std::make_shared<const Places>(places_of(on, of))) {}

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
    const std::uint32_t channels = channel_hint == 0 ? most : std::min(most, channel_hint);
    root = algorithm.rooted ? root : 0;
    for (const Known& known : kept) {
      if (known.places == seen && known.pattern == algorithm.pattern && known.channels == channels &&
          known.root == root) {
        return *known.layout;
      }
    }
    kept.push_back({seen, algorithm.pattern, channels, root,
                    std::make_unique<Layout>(router, group, seen, algorithm, channels, root)});
    return *kept.back().layout;
  }
};

Lowering::Lowering(const routing::Router& router) : router_(router) {}

Lowered Lowering::lower(const Request& request, std::span<const GpuId> group, Form form) const {
  Layouts layouts(router_, group);
  return lower_on(request, group, form, layouts);
}

std::vector<Lowered> Lowering::lower(std::span<const Request> requests,
                                     std::span<const GpuId> group,
                                     Form form) const {
  Layouts layouts(router_, group);
  std::vector<Lowered> lowered;
  lowered.reserve(requests.size());
  for (const Request& request : requests) {
    lowered.push_back(lower_on(request, group, form, layouts));
  }
  return lowered;
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
  const auto possible = possible_algorithms(asked, *places, router_.cluster());
  Request request = asked;
  if (possible[0]->least > Bytes(0)) {
    request.bytes = possible[0]->least;
  }
  if (group.size() == 1 || request.bytes == Bytes(0)) {
    return empty_call(chosen_form(request, *possible[0], form), constants.launch);
  }
  Lowered best;
  const Algorithm* chosen = nullptr;
  for (const Algorithm* algorithm : possible) {
    const Layout& layout = layouts.of(*algorithm, places, request.channels, request.root);
    Lowered lowered = lower_with(*algorithm, request, layout.footprint());
    if (chosen == nullptr || lowered.idle_time < best.idle_time) {
      best = std::move(lowered);
      chosen = algorithm;
    }
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

Footprint Lowering::footprint(Kind kind, std::span<const GpuId> group) const {
  Request request;
  request.kind = kind;
  Layouts layouts(router_, group);
  const auto possible = possible_algorithms(request, *layouts.places, router_.cluster());
  STEPCAST_CHECK(possible.size() == 1, "{} has no default algorithm", name_of(kind));
  return layouts.of(*possible[0], layouts.places, 0, 0).footprint();
}

Lowered Lowering::lower(const Request& request, const Footprint& footprint) const {
  const std::vector<const Algorithm*> possible =
      possible_algorithms(request, *footprint.places, router_.cluster());
  STEPCAST_CHECK(possible.size() == 1 && footprint.pattern == possible[0]->pattern,
                 "{} on a footprint of another algorithm", name_of(request.kind));
  if (request.bytes == Bytes(0)) {
    return empty_call(chosen_form(request, *possible[0], Form::kCoupled),
                      router_.cluster().host.collective.launch);
  }
  return lower_with(*possible[0], request, footprint);
}

Lowered Lowering::lower_with(const Algorithm& algorithm,
                             const Request& request,
                             const Footprint& footprint) const {
  const hardware::HostKind& host = router_.cluster().host;
  const std::vector<SteadyState> steady = steady_states(algorithm, footprint, request, host);
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < steady.size(); ++i) {
    passages.push_back(passage_of(footprint, footprint.phases[i], steady[i], request, host));
  }
  const PricedPhases chosen = choose_price(algorithm, *footprint.places, request, host.collective, passages);
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
