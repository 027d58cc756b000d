#include "replay/wiring.hpp"

#include <algorithm>
#include <map>
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
      switch (op.kind) {
        case OpKind::kCollective: endpoints.push_back(collective(program, op, cls, rank, fixed)); break;
        case OpKind::kStorage: endpoints.push_back(storage(op, cls, rank, fixed)); break;
        default: endpoints.push_back(message(op, rank, fixed)); break;
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
      found->second = price_collective(request, members, fixed);
    }
    return {site, static_cast<std::uint32_t>(at - members.classes.begin()), found->second};
  }

  std::uint32_t price_collective(const collective::Request& request,
                                 const Partition::GroupClass& members,
                                 std::int64_t fixed) {
    Exchange exchange;
    exchange.name = fmt::format("{} of {} bytes", collective::name_of(request.kind), request.bytes.count());
    exchange.bytes = request.bytes.count();
    exchange.form =
        form_of(static_cast<int>(request.kind), request.bytes.count(), static_cast<int>(request.root));
    if (fixed >= 0) {
      exchange.fixed_ps = fixed;
      return add(std::move(exchange));
    }
    const program::Group& group = programs_.groups[members.representative];
    std::vector<GpuId> gpus;
    gpus.reserve(group.size());
    for (const RankId member : group.ranks()) {
      gpus.push_back(placement_[member]);
    }
    const collective::Lowered lowered = lowering_.lower(request, gpus, form_);
    if (lowered.form == collective::Form::kSteps) {
      exchange.plan = add_plan(lowered.stepped, members.classes.size());
      exchange.latency_ps = lowered.stepped.latency.ps();
      return add(std::move(exchange));
    }
    fill(exchange, lowered.coupled);
    if (!lowered.coupled.completion_offset.empty()) {
      exchange.offset_ps.assign(members.classes.size(), 0);
      for (std::size_t member = 0; member < members.member_class.size(); ++member) {
        auto& offset = exchange.offset_ps[members.member_class[member]];
        offset = std::max(offset, lowered.coupled.completion_offset[member].ps());
      }
    }
    return add(std::move(exchange));
  }

  void fill(Exchange& exchange, const collective::CoupledActivity& coupled) {
    network::Shape shape;
    shape.demands = coupled.demands;
    shape.divisor = coupled.divisor;
    shape.fairness = coupled.fairness;
    shape.cap = coupled.cap;
    exchange.shape = network_.add_shape(shape);
    exchange.work = coupled.work;
    exchange.latency_ps = coupled.latency.ps();
    exchange.entry = coupled.starts_with_first ? Entry::kFirst : Entry::kAll;
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
      fill(exchange,
           lowering_.lower_storage(Bytes(op.bytes), placement_[RankId{rank}], op.target, write).coupled);
    }
    return {add_site({Site::Kind::kAlone, 1, kNone, rank, rank, 0, {cls}}), 0, add(std::move(exchange))};
  }

  Endpoint message(const Operation& op, std::uint32_t rank, std::int64_t fixed) {
    const std::uint32_t peer = programs_.slot_values[rank][op.target];
    const std::uint32_t tag = op.detail == Operation::kNone ? 0 : op.detail;
    const bool outgoing = op.kind == OpKind::kSend || op.kind == OpKind::kPut;
    const std::uint32_t sender = outgoing ? rank : peer;
    const std::uint32_t receiver = outgoing ? peer : rank;
    const bool one_sided = op.kind == OpKind::kPut || op.kind == OpKind::kGet;
    const ClassId mine = partition_.class_of[rank];
    std::uint32_t site = kNone;
    if (one_sided) {
      site = add_site({Site::Kind::kAlone, 1, kNone, sender, receiver, tag, {mine}});
    } else {
      auto [found, fresh] = channel_.try_emplace(std::make_tuple(sender, receiver, tag), kNone);
      if (fresh) {
        found->second = add_site({Site::Kind::kMessages,
                                  2,
                                  kNone,
                                  sender,
                                  receiver,
                                  tag,
                                  {partition_.class_of[sender], partition_.class_of[receiver]}});
      }
      site = found->second;
    }
    const bool eager = (op.flags & Operation::kEager) != 0;
    const auto key = std::make_tuple(site, op.bytes, eager, fixed);
    auto [found, fresh] = message_exchange_.try_emplace(key, kNone);
    if (fresh) {
      Exchange exchange;
      exchange.name = fmt::format("message of {} bytes", op.bytes);
      exchange.bytes = op.bytes;
      exchange.form = form_of(-1, op.bytes, 0);
      exchange.fixed_ps = fixed;
      if (fixed < 0) {
        const auto lowered = lowering_.lower_message(Bytes(op.bytes), placement_[RankId{sender}],
                                                     placement_[RankId{receiver}]);
        fill(exchange, lowered.coupled);
        for (const Duration offset : lowered.coupled.completion_offset) {
          exchange.offset_ps.push_back(offset.ps());
        }
        if (one_sided && exchange.offset_ps.size() == 2) {
          exchange.offset_ps = {exchange.offset_ps[outgoing ? 0 : 1]};
        }
      }
      exchange.entry = eager ? Entry::kSender : Entry::kAll;
      found->second = add(std::move(exchange));
    }
    return {site, outgoing || one_sided ? 0U : 1U, found->second};
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
  std::vector<std::uint32_t> group_site_;  // by group class
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
