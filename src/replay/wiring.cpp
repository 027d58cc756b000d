#include "replay/wiring.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"

namespace stepcast::replay {
namespace {

using program::Operation;
using program::OpKind;

bool communicates(OpKind kind) {
  switch (kind) {
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kPut:
    case OpKind::kGet:
    case OpKind::kStorage: return true;
    default: return false;
  }
}

std::optional<collective::Protocol> protocol_hint(const std::string& name) {
  if (name.empty()) {
    return std::nullopt;
  }
  for (const auto protocol :
       {collective::Protocol::kLl, collective::Protocol::kLl128, collective::Protocol::kSimple}) {
    if (name == collective::name_of(protocol)) {
      return protocol;
    }
  }
  throw InputError(fmt::format("unknown protocol \"{}\"; known: LL, LL128, Simple", name));
}

class Wirer {
 public:
  Wirer(const program::Programs& programs,
        const Placement& placement,
        const routing::Router& router,
        const Partition& partition,
        const std::vector<CompiledProgram>& compiled,
        collective::Form form,
        network::FlowNetwork& network)
      : programs_(programs),
        placement_(placement),
        router_(router),
        partition_(partition),
        compiled_(compiled),
        form_(form),
        network_(network),
        lowering_(router) {}

  Wiring run() {
    for (std::size_t program = 0; program < programs_.programs.size(); ++program) {
      index_endpoints(program);
    }
    group_site_.assign(partition_.group_classes.size(), kNone);
    groups_of_.resize(partition_.group_classes.size());
    for (std::uint32_t group = 0; group < partition_.group_class_of.size(); ++group) {
      groups_of_[partition_.group_class_of[group]].push_back(group);
    }
    ranks_of_.resize(partition_.representative.size());
    for (std::uint32_t rank = 0; rank < partition_.class_of.size(); ++rank) {
      ranks_of_[partition_.class_of[rank].index()].push_back(rank);
    }
    for (std::uint32_t cls = 0; cls < partition_.representative.size(); ++cls) {
      wire_class(ClassId{cls});
    }
    return std::move(out_);
  }

 private:
  void index_endpoints(std::size_t program) {
    const auto& operations = programs_.programs[program].operations;
    std::vector<std::uint32_t> index(operations.size(), kNone);
    std::uint32_t next = 0;
    for (std::size_t op = 0; op < operations.size(); ++op) {
      if (communicates(operations[op].kind)) {
        index[op] = next++;
      }
    }
    out_.endpoint_index.push_back(std::move(index));
  }

  void wire_class(ClassId cls) {
    const std::uint32_t rank = partition_.representative[cls].index();
    const std::uint32_t program_index = programs_.program_of[rank];
    const program::Program& program = programs_.programs[program_index];
    std::vector<Endpoint> endpoints;
    for (std::uint32_t index = 0; index < program.operations.size(); ++index) {
      const Operation& op = program.operations[index];
      if (!communicates(op.kind)) {
        continue;
      }
      const std::int64_t fixed = compiled_[program_index].operations[index].duration_ps;
      try {
        switch (op.kind) {
          case OpKind::kCollective: endpoints.push_back(collective(program, op, cls, rank, fixed)); break;
          case OpKind::kStorage: endpoints.push_back(storage(op, cls, rank, fixed)); break;
          default: endpoints.push_back(message(op, rank, fixed)); break;
        }
      } catch (const InputError& error) {  // too many bytes, no path, no such storage
        throw InputError(program::at_operation(program, index, error.what()));
      }
    }
    out_.endpoints.push_back(std::move(endpoints));
  }

  std::uint32_t add_site(Site site) {
    out_.sites.push_back(std::move(site));
    return static_cast<std::uint32_t>(out_.sites.size() - 1);
  }

  Endpoint collective(const program::Program& program,
                      const Operation& op,
                      ClassId cls,
                      std::uint32_t rank,
                      std::int64_t fixed) {
    const std::uint32_t group = programs_.slot_values[rank][op.target];
    const std::uint32_t group_class = partition_.group_class_of[group];
    const Partition::GroupClass& members = partition_.group_classes[group_class];
    std::uint32_t& site = group_site_[group_class];
    if (site == kNone) {
      site = add_site({Site::Kind::kGroup, static_cast<std::uint32_t>(members.classes.size()),
                       members.representative.index(), 0, 0, 0, members.classes});
    }
    const auto at = std::find(members.classes.begin(), members.classes.end(), cls);
    STEPCAST_CHECK(at != members.classes.end(), "class {} is not in its group {}", cls.index(), group);

    const program::CollectiveDetail& detail = program.collectives[op.detail];
    // A per-rank payload becomes the whole buffer, which is what collectives are priced by.
    const bool gathers =
        detail.kind == collective::Kind::kAllGather || detail.kind == collective::Kind::kReduceScatter;
    const std::int64_t scale = op.meaning == program::BytesMeaning::kPerRank && gathers
                                   ? programs_.groups[GroupId{group}].size()
                                   : 1;
    collective::Request request{detail.kind,      Bytes(op.bytes * scale),        op.dtype,       detail.root,
                                detail.algorithm, protocol_hint(detail.protocol), detail.channels};
    const auto key = std::make_tuple(site, static_cast<int>(detail.kind), request.bytes.count(),
                                     static_cast<int>(op.dtype), detail.root, detail.algorithm,
                                     detail.protocol, detail.channels, fixed);
    auto [found, fresh] = collective_exchange_.try_emplace(key, kNone);
    if (fresh) {
      found->second = price_collective(request, group_class, fixed);
    }
    return {site, static_cast<std::uint32_t>(at - members.classes.begin()), found->second};
  }

  std::uint32_t price_collective(const collective::Request& request,
                                 std::uint32_t group_class,
                                 std::int64_t fixed) {
    const Partition::GroupClass& members = partition_.group_classes[group_class];
    Exchange exchange;
    exchange.name = fmt::format("{} of {} bytes", collective::name_of(request.kind), request.bytes.count());
    exchange.bytes = request.bytes.count();
    exchange.form =
        form_of(static_cast<int>(request.kind), request.bytes.count(), static_cast<int>(request.root));
    if (fixed >= 0) {
      exchange.fixed_ps = fixed;
      return add(std::move(exchange));
    }
    if (form_ == collective::Form::kSteps) {
      STEPCAST_CHECK(groups_of_[group_class].size() == 1,
                     "group class {} is played step by step but folds {} groups", group_class,
                     groups_of_[group_class].size());
    }
    std::vector<collective::CoupledActivity> activities;
    for (const std::uint32_t group : groups_of_[group_class]) {
      collective::Lowered lowered = lowering_.lower(request, gpus_of(group), form_);
      if (lowered.form == collective::Form::kSteps) {
        exchange.plan = add_plan(lowered.stepped, members.classes.size());
        exchange.latency_ps = lowered.stepped.latency.ps();
        return add(std::move(exchange));
      }
      activities.push_back(std::move(lowered.coupled));
    }
    fill(exchange, activities);
    const std::vector<Duration>& offsets = activities.front().completion_offset;
    if (!offsets.empty()) {
      exchange.offset_ps.assign(members.classes.size(), 0);
      for (std::size_t member = 0; member < members.member_class.size(); ++member) {
        auto& offset = exchange.offset_ps[members.member_class[member]];
        offset = std::max(offset, offsets[member].ps());
      }
    }
    return add(std::move(exchange));
  }

  [[nodiscard]] std::vector<GpuId> gpus_of(std::uint32_t group) const {
    std::vector<GpuId> gpus;
    for (const RankId member : programs_.groups[GroupId{group}].ranks()) {
      gpus.push_back(placement_[member]);
    }
    return gpus;
  }

  /// Prices the activities of all members of a class as one: they run alike, so their demands stand side
  /// by side in one shape. An equitable partition gives them equal work, latency and cap.
  void fill(Exchange& exchange, const std::vector<collective::CoupledActivity>& activities) {
    const collective::CoupledActivity& first = activities.front();
    std::uint32_t divisor = 1;
    for (const collective::CoupledActivity& activity : activities) {
      STEPCAST_CHECK(activity.work == first.work && activity.latency == first.latency &&
                         activity.cap == first.cap && activity.fairness == first.fairness,
                     "the partition is not equitable: one {} differs from its class", exchange.name);
      divisor = std::lcm(divisor, activity.divisor);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> members;  // by resource and weight
    std::vector<network::Demand> demands;
    if (activities.size() == 1) {
      demands = first.demands;
    } else {
      for (const collective::CoupledActivity& activity : activities) {
        for (const network::Demand& demand : activity.demands) {
          members[{demand.resource.index(), demand.weight * (divisor / activity.divisor)}] += demand.members;
        }
      }
      for (const auto& [key, count] : members) {
        demands.push_back({ResourceId{key.first}, key.second, count});
      }
    }
    network::Shape shape;
    shape.demands = demands;
    shape.divisor = divisor;
    shape.fairness = first.fairness;
    shape.cap = first.cap;
    shape.multiplicity = static_cast<std::uint32_t>(activities.size());
    exchange.shape = network_.add_shape(shape);
    exchange.work = first.work;
    exchange.payload = first.payload;
    exchange.latency_ps = first.latency.ps();
  }

  std::uint32_t add(Exchange exchange) {
    out_.exchanges.push_back(std::move(exchange));
    return static_cast<std::uint32_t>(out_.exchanges.size() - 1);
  }

  std::uint32_t form_of(int kind, std::int64_t bytes, int root) {
    const auto [found, fresh] =
        forms_.try_emplace(std::make_tuple(kind, bytes, root), static_cast<std::uint32_t>(forms_.size()));
    return found->second;
  }

  std::uint32_t add_plan(const collective::SteppedTransfers& stepped, std::size_t members) {
    StepPlan plan;
    plan.of_member.resize(members);
    for (const collective::StepTransfer& transfer : stepped.steps) {
      StepPlan::Step step;
      network::Shape shape;
      shape.demands = transfer.demands;
      shape.divisor = transfer.divisor;
      step.shape = network_.add_shape(shape);
      step.work = transfer.work;
      step.payload = transfer.payload;
      step.latency_ps = transfer.latency.ps();
      step.source = transfer.source;
      step.destination = transfer.destination;
      step.waits = static_cast<std::uint32_t>(transfer.after.size());
      const auto index = static_cast<std::uint32_t>(plan.steps.size());
      for (const std::uint32_t before : transfer.after) {
        // A predecessor by the same sender need only have left; one from elsewhere must have arrived here.
        const bool same_sender = stepped.steps[before].source == transfer.source &&
                                 stepped.steps[before].destination != transfer.source;
        (same_sender ? plan.steps[before].when_left : plan.steps[before].when_arrived).push_back(index);
      }
      plan.of_member[transfer.source].push_back(index);
      if (transfer.destination != transfer.source) {
        plan.of_member[transfer.destination].push_back(index);
      }
      plan.steps.push_back(std::move(step));
    }
    out_.plans.push_back(std::move(plan));
    return static_cast<std::uint32_t>(out_.plans.size() - 1);
  }

  Endpoint storage(const Operation& op, ClassId cls, std::uint32_t rank, std::int64_t fixed) {
    const bool write = (op.flags & Operation::kWrite) != 0;
    Exchange exchange;
    exchange.name = fmt::format("storage {} of {} bytes", write ? "write" : "read", op.bytes);
    exchange.bytes = op.bytes;
    if (fixed >= 0) {
      exchange.fixed_ps = fixed;
    } else {
      if (op.target >= router_.cluster().storage.size()) {
        throw InputError(
            fmt::format("rank {} uses storage system {} (counted from 0) but the cluster \"{}\" has {} of "
                        "them; add \"storage\" to the cluster file",
                        rank, op.target, router_.cluster().name, router_.cluster().storage.size()));
      }
      std::vector<collective::CoupledActivity> activities;
      for (const std::uint32_t member : ranks_of_[cls.index()]) {
        activities.push_back(
            lowering_.lower_storage(Bytes(op.bytes), placement_[RankId{member}], op.target, write).coupled);
      }
      fill(exchange, activities);
    }
    return {add_site({Site::Kind::kAlone, 1, kNone, rank, rank, 0, {cls}}), 0, add(std::move(exchange))};
  }

  Endpoint message(const Operation& op, std::uint32_t rank, std::int64_t fixed) {
    const std::uint32_t tag = op.detail == Operation::kNone ? 0 : op.detail;
    const bool outgoing = op.kind == OpKind::kSend || op.kind == OpKind::kPut;
    const bool one_sided = op.kind == OpKind::kPut || op.kind == OpKind::kGet;
    const std::uint32_t peer = programs_.slot_values[rank][op.target];
    const std::uint32_t sender = outgoing ? rank : peer;
    const std::uint32_t receiver = outgoing ? peer : rank;
    const ClassId mine = partition_.class_of[rank];
    const std::uint32_t member = outgoing || one_sided ? 0 : 1;
    std::uint32_t site = kNone;
    if (one_sided) {
      site = add_site({Site::Kind::kAlone, 1, kNone, sender, receiver, tag, {mine}});
    } else {
      const ClassId from = partition_.class_of[sender];
      const ClassId to = partition_.class_of[receiver];
      auto [found, fresh] = channel_.try_emplace(std::make_tuple(from.index(), to.index(), tag), kNone);
      if (fresh) {
        found->second = add_site({Site::Kind::kMessages, 2, kNone, sender, receiver, tag, {from, to}});
      }
      site = found->second;
      // Two channels of one rank must not fall into one: their messages would be matched to each other.
      const auto [known, first] = channel_peer_.try_emplace(std::make_pair(site, member), peer);
      STEPCAST_CHECK(known->second == peer,
                     "the partition folds the messages of rank {} with ranks {} and {}", rank, known->second,
                     peer);
    }
    const bool eager = (op.flags & Operation::kEager) != 0;
    const auto key = std::make_tuple(site, op.bytes, eager, fixed);
    auto [found, fresh] = message_exchange_.try_emplace(key, kNone);
    if (fresh) {
      found->second = price_message(op, mine, fixed);
    }
    return {site, member, found->second};
  }

  /// One message for each rank of a class, priced together.
  std::uint32_t price_message(const Operation& op, ClassId cls, std::int64_t fixed) {
    const bool outgoing = op.kind == OpKind::kSend || op.kind == OpKind::kPut;
    const bool one_sided = op.kind == OpKind::kPut || op.kind == OpKind::kGet;
    Exchange exchange;
    exchange.name = fmt::format("message of {} bytes", op.bytes);
    exchange.bytes = op.bytes;
    exchange.form = form_of(-1, op.bytes, 0);
    exchange.fixed_ps = fixed;
    if (fixed < 0) {
      std::vector<collective::CoupledActivity> activities;
      for (const std::uint32_t rank : ranks_of_[cls.index()]) {
        const std::uint32_t peer = programs_.slot_values[rank][op.target];
        const GpuId here = placement_[RankId{rank}];
        const GpuId there = placement_[RankId{peer}];
        activities.push_back(
            lowering_.lower_message(Bytes(op.bytes), outgoing ? here : there, outgoing ? there : here)
                .coupled);
      }
      fill(exchange, activities);
      const std::vector<Duration>& offsets = activities.front().completion_offset;
      // A one-sided access has one member: a put ends with its last byte out, a get with it in.
      for (std::size_t end = 0; end < offsets.size(); ++end) {
        if (!one_sided || end == (outgoing ? 0U : 1U)) {
          exchange.offset_ps.push_back(offsets[end].ps());
        }
      }
    }
    exchange.entry = (op.flags & Operation::kEager) != 0 ? Entry::kSender : Entry::kAll;
    return add(std::move(exchange));
  }

  const program::Programs& programs_;
  const Placement& placement_;
  const routing::Router& router_;
  const Partition& partition_;
  const std::vector<CompiledProgram>& compiled_;
  collective::Form form_;
  network::FlowNetwork& network_;
  collective::Lowering lowering_;
  Wiring out_;
  std::vector<std::uint32_t> group_site_;                                          // by group class
  std::vector<std::vector<std::uint32_t>> groups_of_;                              // by group class
  std::vector<std::vector<std::uint32_t>> ranks_of_;                               // by class
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> channel_peer_;  // by site and member
  std::map<std::tuple<std::uint32_t,
                      int,
                      std::int64_t,
                      int,
                      std::uint32_t,
                      std::string,
                      std::string,
                      std::uint32_t,
                      std::int64_t>,
           std::uint32_t>
      collective_exchange_;
  std::map<std::tuple<int, std::int64_t, int>, std::uint32_t> forms_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> channel_;
  std::map<std::tuple<std::uint32_t, std::int64_t, bool, std::int64_t>, std::uint32_t> message_exchange_;
};

}  // namespace

Wiring wire(const program::Programs& programs,
            const Placement& placement,
            const routing::Router& router,
            const Partition& partition,
            const std::vector<CompiledProgram>& compiled,
            collective::Form form,
            network::FlowNetwork& network) {
  return Wirer(programs, placement, router, partition, compiled, form, network).run();
}

}  // namespace stepcast::replay
