#include <algorithm>
#include <cmath>
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
#include "collective/price.hpp"
#include "collective/ring_plan.hpp"
#include "collective/step_plan.hpp"

namespace stepcast::collective {
namespace {

const Algorithm& choose_algorithm(const Request& request) {
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  const Algorithm* chosen = nullptr;
  for (const Algorithm& algorithm : algorithms()) {
    kinds.emplace_back(name_of(algorithm.kind));
    if (algorithm.kind != request.kind) {
      continue;
    }
    names.emplace_back(algorithm.family);
    names.emplace_back(algorithm.name);
    const bool wanted = request.algorithm.empty() || request.algorithm == algorithm.name ||
                        request.algorithm == algorithm.family;
    if (wanted && chosen == nullptr) {
      chosen = &algorithm;
    }
  }
  if (names.empty()) {
    throw UnsupportedError(
        fmt::format("no algorithm for {} yet; use {}", name_of(request.kind), fmt::join(kinds, ", ")));
  }
  if (chosen == nullptr) {
    throw InputError(fmt::format("unknown algorithm \"{}\" for {}; {}", request.algorithm,
                                 name_of(request.kind), suggest(request.algorithm, names)));
  }
  return *chosen;
}

/// Payload bytes of each hop of each of `rings` rings, rounded up.
std::int64_t hop_payload(Bytes bytes, const SteadyState& steady, std::uint32_t rings) {
  constexpr Int128 kMostWork = Int128{1} << 62;
  const Int128 divisor = Int128{steady.share_denominator} * rings;
  const Int128 work = (Int128{bytes.count()} * steady.share_numerator + divisor - 1) / divisor;
  if (work >= kMostWork) {
    throw UnsupportedError(
        fmt::format("{} bytes are too many for one collective; give fewer bytes", bytes.count()));
  }
  return static_cast<std::int64_t>(work);
}

/// Hops over the network among `steps` sequential hops of a ring of which `crossing` of `members` do.
std::int64_t network_steps(std::int64_t steps, std::uint32_t crossing, std::uint32_t members) {
  return std::min(steps, (steps * crossing + members - 1) / members);
}

Rings rings_of(const RingPlan& plan, RingOrder order, std::uint32_t members, const routing::Router& router) {
  Rings rings;
  rings.order = order;
  rings.members = members;
  rings.rings = plan.rings();
  rings.crossing_hops = plan.crossing_hops();
  rings.several_hosts = plan.several_hosts();
  rings.local_latency = plan.local_latency();
  rings.network_latency = plan.network_latency();
  rings.rate = idle_rate(plan.demands(), router.resources());
  rings.demands = plan.demands().demands;
  rings.divisor = plan.demands().divisor;
  return rings;
}

Passage passage_of(const Rings& rings,
                   const SteadyState& steady,
                   const Request& request,
                   const hardware::HostKind& host) {
  const hardware::CollectiveConstants& constants = host.collective;
  const double channels = std::max(constants.channels, 1U);
  Passage passage;
  passage.steps = steady.steps;
  passage.network_steps = network_steps(steady.steps, rings.crossing_hops, rings.members);
  passage.local_latency = rings.local_latency;
  passage.network_latency = rings.network_latency;
  passage.work = hop_payload(request.bytes, steady, rings.rings);
  passage.rate = rings.rate;
  passage.last_step_exposed = steady.last_step_exposed;
  // All channels of a full ring together fill NVLink; the rings of the plan share them.
  const double nvlink = host.nvlink_effective.bytes_per_second();
  passage.channel_rate = (nvlink > 0 ? nvlink / rings.rings : passage.rate) / channels;
  passage.channel_limit = request.channels > 0 && request.channels < channels ? request.channels : 0;
  passage.channel_payload = constants.ll_channel_bytes * rings.members *
                            static_cast<double>(steady.share_numerator) /
                            static_cast<double>(steady.share_denominator) / rings.rings;
  return passage;
}

/// The asked protocol, or the one with the least time on an idle fabric (ties: the first).
Price choose_price(const Request& request,
                   const hardware::CollectiveConstants& constants,
                   const Passage& passage) {
  if (request.protocol) {
    return price(*request.protocol, constants, passage);
  }
  Price best = price(kProtocols[0], constants, passage);
  for (std::size_t i = 1; i < kProtocols.size(); ++i) {
    const Price other = price(kProtocols[i], constants, passage);
    best = other.idle_time < best.idle_time ? other : best;
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
  lowered.form = form;
  lowered.protocol = request.protocol.value_or(Protocol::kLl);
  lowered.channels = std::max(request.channels, 1U);
  return lowered;
}

/// Schedules beyond this many messages are not played step by step: memory, not correctness.
void check_size(const SteadyState& steady, std::uint32_t members, std::uint32_t rings) {
  constexpr double kMostMessages = 4.0e6;
  const double messages = static_cast<double>(steady.steps) * members * rings;
  if (messages > kMostMessages) {
    throw UnsupportedError(fmt::format(
        "a schedule of {:.0f} messages is too long to be played step by step; use the coupled form",
        messages));
  }
}

SteppedTransfers stepped_of(const Algorithm& algorithm,
                            const Request& request,
                            const RingPlan& plan,
                            std::uint32_t members,
                            Protocol protocol,
                            const hardware::CollectiveConstants& constants) {
  const StepCosts costs{
      .launch = constants.launch,
      .wire_bytes = [&](std::int64_t payload) { return wire_bytes(protocol, constants, payload); },
      .hop_latency = [&](bool network,
                         Duration physical) { return hop_latency(protocol, constants, network, physical); }};
  return transfers_of(algorithm.schedule(members, plan.rings(), request.root), request.bytes, plan, costs);
}

}  // namespace

/// Ring plans of one group, by what they depend on.
struct Lowering::Layouts {
  struct Layout {
    RingOrder order;
    std::uint32_t most_rings;
    RingPlan plan;
    Rings rings;
  };
  std::vector<std::unique_ptr<Layout>> kept;

  const Layout& of(const routing::Router& router,
                   std::span<const GpuId> group,
                   RingOrder order,
                   std::uint32_t most_rings) {
    for (const auto& layout : kept) {
      if (layout->order == order && layout->most_rings == most_rings) {
        return *layout;
      }
    }
    RingPlan plan(router, group, order, most_rings);
    Rings rings = rings_of(plan, order, static_cast<std::uint32_t>(group.size()), router);
    kept.push_back(std::make_unique<Layout>(Layout{order, most_rings, std::move(plan), std::move(rings)}));
    return *kept.back();
  }
};

Lowering::Lowering(const routing::Router& router) : router_(router) {}

Lowered Lowering::lower(const Request& request, std::span<const GpuId> group, Form form) const {
  Layouts layouts;
  return lower_on(request, group, form, layouts);
}

std::vector<Lowered> Lowering::lower(std::span<const Request> requests,
                                     std::span<const GpuId> group,
                                     Form form) const {
  Layouts layouts;
  std::vector<Lowered> lowered;
  lowered.reserve(requests.size());
  for (const Request& request : requests) {
    lowered.push_back(lower_on(request, group, form, layouts));
  }
  return lowered;
}

Lowered Lowering::lower_on(const Request& request,
                           std::span<const GpuId> group,
                           Form form,
                           Layouts& layouts) const {
  STEPCAST_CHECK(!group.empty() && request.bytes >= Bytes(0) && request.root < group.size(),
                 "{} bytes, {} members, root {}", request.bytes.count(), group.size(), request.root);
  const hardware::CollectiveConstants& constants = router_.cluster().host.collective;
  const auto members = static_cast<std::uint32_t>(group.size());
  const Algorithm& algorithm = choose_algorithm(request);
  if (members == 1 || request.bytes == Bytes(0)) {
    Lowered lowered = chosen_form(request, algorithm, form);
    lowered.coupled.latency = constants.launch;
    lowered.stepped.latency = constants.launch;
    lowered.idle_time = constants.launch;
    return lowered;
  }
  const Layouts::Layout& layout = layouts.of(router_, group, algorithm.order, request.channels);
  Lowered lowered = lower(request, layout.rings);
  if (form == Form::kSteps) {
    const SteadyState steady = algorithm.steady_state(members);
    check_size(steady, members, layout.plan.rings());
    lowered.form = form;
    lowered.coupled = {};
    lowered.stepped = stepped_of(algorithm, request, layout.plan, members, lowered.protocol, constants);
    lowered.idle_time = longest_chain(lowered.stepped, layout.rings.rate);
  }
  return lowered;
}

Rings Lowering::rings(std::span<const GpuId> group, RingOrder order, std::uint32_t most_rings) const {
  return rings_of(RingPlan(router_, group, order, most_rings), order,
                  static_cast<std::uint32_t>(group.size()), router_);
}

Lowered Lowering::lower(const Request& request, const Rings& rings) const {
  const hardware::HostKind& host = router_.cluster().host;
  const Algorithm& algorithm = choose_algorithm(request);
  STEPCAST_CHECK(rings.members >= 2 && rings.order == algorithm.order, "{} on rings of another order",
                 algorithm.name);
  Lowered lowered = chosen_form(request, algorithm, Form::kCoupled);
  if (request.bytes == Bytes(0)) {
    lowered.coupled.latency = host.collective.launch;
    lowered.idle_time = host.collective.launch;
    return lowered;
  }
  const Passage passage = passage_of(rings, algorithm.steady_state(rings.members), request, host);
  const Price chosen = choose_price(request, host.collective, passage);
  const std::uint32_t usual = rings.several_hosts ? rings.rings : std::max(host.collective.channels, 1U);
  lowered.protocol = chosen.protocol;
  lowered.channels = request.channels > 0 ? request.channels : usual;
  lowered.coupled = coupled_of(chosen, rings.demands, rings.divisor);
  lowered.idle_time = chosen.idle_time;
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
