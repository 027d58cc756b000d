#include "replay/sites.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/findings.hpp"

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

bool meets_a_peer(OpKind kind) {
  return kind == OpKind::kSend || kind == OpKind::kRecv;
}

bool one_sided(OpKind kind) {
  return kind == OpKind::kPut || kind == OpKind::kGet;
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

/// Numbers different lists of integers from 0, in order of first appearance.
class Numbering {
 public:
  std::uint32_t number(const std::vector<std::int64_t>& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const {
      std::uint64_t hash = key.size();
      for (const std::int64_t word : key) {
        hash = mix(hash, static_cast<std::uint64_t>(word));
      }
      return static_cast<std::size_t>(hash);
    }
  };
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, Hash> numbers_;  // looked up only
};

std::int64_t bits(double value) {
  return std::bit_cast<std::int64_t>(value);
}

void append_fault(const topology::Fault& fault, std::vector<std::int64_t>& key) {
  key.insert(key.end(), {bits(fault.factor), fault.at.ps(), fault.until.ps()});
}

class Resolver {
 public:
  Resolver(const program::Programs& programs,
           const Placement& placement,
           const routing::Router& router,
           const std::vector<CompiledProgram>& compiled,
           collective::Form form)
      : programs_(programs),
        placement_(placement),
        router_(router),
        compiled_(compiled),
        form_(form),
        lowering_(router) {}

  Sites run() {
    out_.ranks = programs_.ranks;
    out_.group_site.assign(programs_.groups.size(), kNone);
    out_.groups_of_rank.resize(programs_.ranks);
    for (std::uint32_t program = 0; program < programs_.programs.size(); ++program) {
      read_specs(program);
    }
    for (std::uint32_t rank = 0; rank < programs_.ranks; ++rank) {
      read_rank(rank);
    }
    for (std::uint32_t site = 0; site < out_.sites.size(); ++site) {
      // Not in the order of discovery, which depends on rank numbers.
      std::sort(calls_[site].begin(), calls_[site].end());
      price_with_place(site);
    }
    number_resources();
    return std::move(out_);
  }

 private:
  // What operations ask for.

  void read_specs(std::uint32_t index) {
    const program::Program& program = programs_.programs[index];
    std::vector<std::uint32_t> specs(program.operations.size(), kNone);
    for (std::size_t op = 0; op < specs.size(); ++op) {
      if (communicates(program.operations[op].kind)) {
        specs[op] = spec_of(program, program.operations[op], compiled_[index].operations[op].duration_ps);
      }
    }
    out_.spec_of.push_back(std::move(specs));
  }

  std::uint32_t spec_of(const program::Program& program, const Operation& op, std::int64_t fixed) {
    CallSpec spec;
    spec.kind = op.kind;
    spec.fixed_ps = fixed;
    spec.request.bytes = Bytes(op.bytes);
    std::string words;
    std::vector<std::int64_t> splits;
    if (op.kind == OpKind::kCollective) {
      const program::CollectiveDetail& detail = program.collectives[op.detail];
      spec.request = {detail.kind,     Bytes(op.bytes),  op.dtype,
                      detail.root,     detail.algorithm, protocol_hint(detail.protocol),
                      detail.channels, detail.splits};
      spec.meaning = op.meaning;
      words = detail.algorithm;
      for (const Bytes split : detail.splits) {
        splits.push_back(split.count());
      }
    } else if (op.kind == OpKind::kStorage) {
      spec.write = (op.flags & Operation::kWrite) != 0;
      spec.target = op.target;
    } else {
      spec.target = op.detail == Operation::kNone ? 0 : op.detail;
      spec.eager = op.kind == OpKind::kSend && (op.flags & Operation::kEager) != 0;
      if (op.kind == OpKind::kRecv) {
        spec.kind = OpKind::kSend;  // both ends of a message ask for the same
      }
    }
    const collective::Request& request = spec.request;
    const auto key =
        std::make_tuple(static_cast<int>(spec.kind), static_cast<int>(request.kind), op.bytes,
                        static_cast<int>(request.dtype), request.root, words,
                        request.protocol ? static_cast<int>(*request.protocol) : -1, request.channels,
                        static_cast<int>(spec.meaning), spec.eager, spec.write, spec.target, fixed, splits);
    const auto [found, fresh] = spec_number_.try_emplace(key, static_cast<std::uint32_t>(out_.specs.size()));
    if (fresh) {
      out_.specs.push_back(spec);
    }
    return found->second;
  }

  /// First slot of a rank that means the same as `slot`.
  [[nodiscard]] std::uint32_t canonical_slot(std::uint32_t rank, std::uint32_t slot) const {
    const auto& slots = programs_.programs[programs_.program_of[rank]].slots;
    const auto& values = programs_.slot_values[rank];
    std::uint32_t first = 0;
    while (values[first] != values[slot] || slots[first].kind != slots[slot].kind) {
      ++first;
    }
    return first;
  }

  // Where operations meet.

  void read_rank(std::uint32_t rank) {
    const std::uint32_t index = programs_.program_of[rank];
    const program::Program& program = programs_.programs[index];
    std::vector<std::int64_t> kind{index};
    for (std::uint32_t slot = 0; slot < program.slots.size(); ++slot) {
      kind.push_back(canonical_slot(rank, slot));
    }
    for (const topology::Fault& fault : router_.cluster().faults) {
      if (fault.target == topology::Fault::Target::kGpu && fault.gpu == placement_[RankId{rank}]) {
        append_fault(fault, kind);
      }
    }
    out_.rank_kind.push_back(rank_numbers_.number(kind));
    for (const std::uint32_t op : distinct_wishes(index)) {
      const Operation& operation = program.operations[op];
      const std::uint32_t spec = out_.spec_of[index][op];
      std::uint32_t site = kNone;
      if (operation.kind == OpKind::kCollective) {
        site = group_site(programs_.slot_values[rank][operation.target]);
      } else if (meets_a_peer(operation.kind)) {
        site = channel_site(rank, operation);
      } else {
        site = alone_site(rank, operation, spec);
      }
      note_call(site, spec);
      if (asked_by_.size() < out_.sites.size()) {
        asked_by_.resize(out_.sites.size(), {index, op});
      }
    }
  }

  /// Operations of a program that differ in spec or slot, the first of each; found once per program.
  const std::vector<std::uint32_t>& distinct_wishes(std::uint32_t program) {
    if (wishes_.size() <= program) {
      wishes_.resize(programs_.programs.size());
      wishes_known_.resize(programs_.programs.size(), false);
    }
    if (!wishes_known_[program]) {
      wishes_known_[program] = true;
      std::map<std::tuple<std::uint32_t, std::uint32_t, int>, bool> seen;
      const auto& operations = programs_.programs[program].operations;
      for (std::uint32_t op = 0; op < operations.size(); ++op) {
        const std::uint32_t spec = out_.spec_of[program][op];
        if (spec != kNone &&
            seen.try_emplace({spec, operations[op].target, static_cast<int>(operations[op].kind)}).second) {
          wishes_[program].push_back(op);
        }
      }
    }
    return wishes_[program];
  }

  std::uint32_t add_site(Site site) {
    out_.sites.push_back(site);
    calls_.emplace_back();
    return static_cast<std::uint32_t>(out_.sites.size() - 1);
  }

  void note_call(std::uint32_t site, std::uint32_t spec) {
    auto& calls = calls_[site];
    if (std::find(calls.begin(), calls.end(), spec) == calls.end()) {
      calls.push_back(spec);
    }
  }

  std::uint32_t group_site(std::uint32_t group) {
    std::uint32_t& site = out_.group_site[group];
    if (site == kNone) {
      Site fresh;
      fresh.kind = Site::Kind::kGroup;
      fresh.group = group;
      fresh.first_member = static_cast<std::uint32_t>(out_.members.size());
      for (const RankId member : programs_.groups[GroupId{group}].ranks()) {
        out_.groups_of_rank[member.index()].emplace_back(group,
                                                         static_cast<std::uint32_t>(out_.members.size()));
        out_.members.push_back({member.index(), 0});
      }
      fresh.member_count = static_cast<std::uint32_t>(out_.members.size()) - fresh.first_member;
      site = add_site(fresh);
    }
    return site;
  }

  std::uint32_t channel_site(std::uint32_t rank, const Operation& op) {
    const std::uint32_t tag = op.detail == Operation::kNone ? 0 : op.detail;
    const std::uint32_t peer = programs_.slot_values[rank][op.target];
    const std::uint32_t sender = op.kind == OpKind::kSend ? rank : peer;
    const std::uint32_t receiver = op.kind == OpKind::kSend ? peer : rank;
    auto [found, fresh] = out_.channel_site.try_emplace({sender, receiver, tag}, kNone);
    if (fresh) {
      Site site;
      site.kind = Site::Kind::kMessages;
      site.tag = tag;
      site.first_member = static_cast<std::uint32_t>(out_.members.size());
      site.member_count = 2;
      out_.members.push_back({sender, 0});
      out_.members.push_back({receiver, 0});
      found->second = add_site(site);
    }
    return found->second;
  }

  std::uint32_t alone_site(std::uint32_t rank, const Operation& op, std::uint32_t spec) {
    const std::uint32_t peer = one_sided(op.kind) ? programs_.slot_values[rank][op.target] : 0;
    auto [found, fresh] = out_.alone_site.try_emplace({rank, spec, peer}, kNone);
    if (fresh) {
      Site site;
      site.first_member = static_cast<std::uint32_t>(out_.members.size());
      site.member_count = 1;
      // The peer is kept until the site is priced, then the role takes its place.
      out_.members.push_back({rank, peer});
      found->second = add_site(site);
    }
    return found->second;
  }

  // What each costs.

  /// What prices a site knows no places: errors get that of the first operation that goes there.
  void price_with_place(std::uint32_t site) {
    const program::Program& program = programs_.programs[asked_by_[site].first];
    const std::uint32_t operation = asked_by_[site].second;
    config::Diagnostics diagnostics;
    try {
      price_site(site);
    } catch (const UnsupportedError& error) {
      program::add_unsupported(diagnostics, program, operation,
                               fmt::format("{}: {}", program::describe(program, operation), error.what()),
                               "");
    } catch (const InputError& error) {
      program::add_finding(diagnostics, program, operation, error.what(), "");
    }
    diagnostics.throw_if_any();
  }

  void price_site(std::uint32_t index) {
    Site& site = out_.sites[index];
    site.first_call = static_cast<std::uint32_t>(out_.calls.size());
    site.call_count = static_cast<std::uint32_t>(calls_[index].size());
    site.first_edge = static_cast<std::uint32_t>(out_.edges.size());
    switch (site.kind) {
      case Site::Kind::kGroup: price_group(index); break;
      case Site::Kind::kMessages: price_messages(index); break;
      case Site::Kind::kAlone: price_alone(index); break;
    }
    site.edge_count = static_cast<std::uint32_t>(out_.edges.size()) - site.first_edge;
    number_site(index);
  }

  Call new_call(std::uint32_t spec) const {
    Call call;
    call.spec = spec;
    call.bytes = out_.specs[spec].request.bytes.count();
    call.fixed_ps = out_.specs[spec].fixed_ps;
    return call;
  }

  void price_group(std::uint32_t index) {
    const std::uint32_t size = out_.sites[index].member_count;
    std::vector<GpuId> gpus;
    for (const Member& member : out_.members_of(out_.sites[index])) {
      gpus.push_back(placement_[RankId{member.rank}]);
    }
    std::vector<collective::Request> requests;
    for (const std::uint32_t spec : calls_[index]) {
      const CallSpec& wish = out_.specs[spec];
      Call call = new_call(spec);
      // A per-rank payload becomes the whole buffer, which is what collectives are priced by.
      const bool gathers =
          collective::cuts_by_member(wish.request.kind) && wish.request.kind != collective::Kind::kAllToAll;
      if (wish.meaning == program::BytesMeaning::kPerRank && gathers &&
          __builtin_mul_overflow(call.bytes, std::int64_t{size}, &call.bytes)) {
        throw InputError(
            fmt::format("{} of {} bytes per rank in a group of {}: too many bytes for one "
                        "collective; give fewer",
                        collective::name_of(wish.request.kind), wish.request.bytes.count(), size));
      }
      out_.calls.push_back(call);
      if (call.fixed_ps < 0) {
        requests.push_back(wish.request);
        requests.back().bytes = Bytes(call.bytes);
      }
    }
    const std::vector<collective::Lowered> lowered =
        requests.empty() ? std::vector<collective::Lowered>{} : lowering_.lower(requests, gpus, form_);
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < out_.sites[index].call_count; ++i) {
      Call& call = out_.calls[out_.sites[index].first_call + i];
      if (call.fixed_ps >= 0) {
        continue;
      }
      const collective::Lowered& price = lowered[next++];
      if (price.form == collective::Form::kSteps) {
        fill_stepped(index, call, price.stepped);
      } else {
        fill(index, call, price.coupled);
        call.first_then = static_cast<std::uint32_t>(out_.then.size());
        call.then_count = static_cast<std::uint32_t>(price.then.size());
        for (const collective::CoupledActivity& later : price.then) {
          fill(index, out_.then.emplace_back(), later);
        }
      }
    }
  }

  void price_messages(std::uint32_t index) {
    const auto members = out_.members_of(out_.sites[index]);
    const GpuId from = placement_[RankId{members[0].rank}];
    const GpuId to = placement_[RankId{members[1].rank}];
    std::uint32_t same_bytes = kNone;
    for (const std::uint32_t spec : calls_[index]) {
      Call call = new_call(spec);
      if (call.fixed_ps < 0 && same_bytes != kNone && out_.calls[same_bytes].bytes == call.bytes) {
        call = out_.calls[same_bytes];
        call.spec = spec;
      } else if (call.fixed_ps < 0) {
        fill(index, call, lowering_.lower_message(Bytes(call.bytes), from, to).coupled);
        same_bytes = static_cast<std::uint32_t>(out_.calls.size());
      }
      call.entry = out_.specs[spec].eager ? Entry::kSender : Entry::kAll;
      out_.calls.push_back(call);
    }
  }

  void price_alone(std::uint32_t index) {
    const Member member = out_.members_of(out_.sites[index])[0];
    const GpuId here = placement_[RankId{member.rank}];
    for (const std::uint32_t spec : calls_[index]) {
      const CallSpec& wish = out_.specs[spec];
      Call call = new_call(spec);
      if (call.fixed_ps < 0 && wish.kind == OpKind::kStorage) {
        check_storage(member.rank, wish.target);
        fill(index, call, lowering_.lower_storage(wish.request.bytes, here, wish.target, wish.write).coupled);
      } else if (call.fixed_ps < 0) {
        const GpuId there = placement_[RankId{member.role}];
        const bool put = wish.kind == OpKind::kPut;
        collective::CoupledActivity activity =
            lowering_.lower_message(wish.request.bytes, put ? here : there, put ? there : here).coupled;
        // A one-sided access has one member: a put ends with its last byte out, a get with it in.
        if (!activity.completion_offset.empty()) {
          activity.completion_offset = {activity.completion_offset[put ? 0 : 1]};
        }
        fill(index, call, activity);
      }
      out_.calls.push_back(call);
    }
  }

  void check_storage(std::uint32_t rank, std::uint32_t system) const {
    if (system >= router_.cluster().storage.size()) {
      throw InputError(
          fmt::format("rank {} uses storage system {} (counted from 0) but the cluster \"{}\" has {} of "
                      "them; add \"storage\" to the cluster file",
                      rank, system, router_.cluster().name, router_.cluster().storage.size()));
    }
  }

  void fill(std::uint32_t site, Call& call, const collective::CoupledActivity& activity) {
    call.work = activity.work;
    call.payload = activity.payload;
    call.latency_ps = activity.latency.ps();
    call.cap = activity.cap;
    call.divisor = activity.divisor;
    call.fairness = activity.fairness;
    call.vector = vector_of(site, activity.demands);
    if (std::any_of(activity.completion_offset.begin(), activity.completion_offset.end(),
                    [](Duration offset) { return offset != Duration{}; })) {
      std::vector<std::int64_t> offsets;
      for (const Duration offset : activity.completion_offset) {
        offsets.push_back(offset.ps());
      }
      const std::uint32_t number = offset_numbers_.number(offsets);
      if (number == out_.offsets.size()) {
        out_.offsets.push_back(std::move(offsets));
      }
      call.offsets = number;
    }
  }

  void fill_stepped(std::uint32_t site, Call& call, const collective::SteppedTransfers& stepped) {
    call.latency_ps = stepped.latency.ps();
    call.transfers = static_cast<std::uint32_t>(out_.stepped.size());
    call.vector = out_.sites[site].vectors;
    for (const collective::StepTransfer& transfer : stepped.steps) {
      add_vector(site, transfer.demands);
    }
    out_.stepped.push_back(stepped);
  }

  std::uint32_t add_vector(std::uint32_t site, const std::vector<network::Demand>& demands) {
    const std::uint32_t vector = out_.sites[site].vectors++;
    for (const network::Demand& demand : demands) {
      out_.edges.push_back({demand.resource.index(), vector, demand.weight});
    }
    return vector;
  }

  /// The vector of a site with these demands: one of an earlier coupled call, or a new one.
  std::uint32_t vector_of(std::uint32_t site, const std::vector<network::Demand>& demands) {
    std::size_t first = out_.sites[site].first_edge;
    while (first < out_.edges.size()) {
      std::size_t last = first;
      while (last < out_.edges.size() && out_.edges[last].vector == out_.edges[first].vector) {
        ++last;
      }
      const auto same = [](const network::Demand& demand, const Edge& edge) {
        return demand.resource.index() == edge.resource && demand.weight == edge.weight;
      };
      if (std::equal(demands.begin(), demands.end(), out_.edges.begin() + static_cast<std::ptrdiff_t>(first),
                     out_.edges.begin() + static_cast<std::ptrdiff_t>(last), same)) {
        return out_.edges[first].vector;
      }
      first = last;
    }
    return add_vector(site, demands);
  }

  // What folding compares.

  void number_site(std::uint32_t index) {
    Site& site = out_.sites[index];
    std::vector<std::int64_t> key{static_cast<std::int64_t>(site.kind), site.member_count, site.tag};
    bool stepped = false;
    for (const Call& call : out_.calls_of(site)) {
      key.insert(key.end(), {call.spec, call.bytes, call.work, call.payload, call.latency_ps, call.fixed_ps,
                             bits(call.cap), call.divisor, call.fairness, static_cast<int>(call.entry),
                             call.vector, call.then_count});
      for (const Call& later : out_.then_of(call)) {
        key.insert(key.end(), {later.work, later.payload, later.latency_ps, bits(later.cap), later.divisor,
                               later.fairness, later.vector});
      }
      if (call.transfers != kNone) {
        stepped = true;
        append_transfers(out_.stepped[call.transfers], key);
      }
    }
    out_.site_kind.push_back(site_numbers_.number(key));
    for (std::uint32_t i = 0; i < site.member_count; ++i) {
      Member& member = out_.members[site.first_member + i];
      member.role = role_numbers_.number(role_key(site, i, stepped));
    }
  }

  static void append_transfers(const collective::SteppedTransfers& stepped, std::vector<std::int64_t>& key) {
    key.push_back(static_cast<std::int64_t>(stepped.steps.size()));
    for (const collective::StepTransfer& step : stepped.steps) {
      key.insert(key.end(), {step.source, step.destination, step.latency.ps(), step.work, step.payload,
                             step.divisor, static_cast<std::int64_t>(step.after.size()),
                             static_cast<std::int64_t>(step.after_left.size())});
      key.insert(key.end(), step.after.begin(), step.after.end());
      key.insert(key.end(), step.after_left.begin(), step.after_left.end());
    }
  }

  /// How member `i` of a site comes to it and leaves it.
  std::vector<std::int64_t> role_key(const Site& site, std::uint32_t i, bool stepped) const {
    const std::uint32_t rank = out_.members[site.first_member + i].rank;
    const auto& slots = programs_.programs[programs_.program_of[rank]].slots;
    const auto& values = programs_.slot_values[rank];
    // Messages and one-sided accesses are told apart by the slot of the other end.
    std::uint32_t meant = 0;
    program::SlotKind kind = program::SlotKind::kGroup;
    bool by_slot = true;
    switch (site.kind) {
      case Site::Kind::kGroup: meant = site.group; break;
      case Site::Kind::kMessages:
        meant = out_.members[site.first_member + 1 - i].rank;
        kind = program::SlotKind::kPeer;
        break;
      case Site::Kind::kAlone:
        meant = out_.members[site.first_member].role;
        kind = program::SlotKind::kPeer;
        by_slot = one_sided(out_.specs[out_.calls[site.first_call].spec].kind);
        break;
    }
    std::vector<std::int64_t> key{static_cast<std::int64_t>(site.kind),
                                  site.kind == Site::Kind::kMessages || stepped ? i : 0};
    if (by_slot) {
      std::uint32_t slot = 0;
      while (slot < slots.size() && (values[slot] != meant || slots[slot].kind != kind)) {
        ++slot;
      }
      key.push_back(slot);
    }
    for (const Call& call : out_.calls_of(site)) {
      key.push_back(call.offsets == kNone ? 0 : out_.offsets[call.offsets][i]);
      for (const Call& later : out_.then_of(call)) {
        key.push_back(later.offsets == kNone ? 0 : out_.offsets[later.offsets][i]);
      }
    }
    return key;
  }

  void number_resources() {
    const auto resources = router_.resources();
    std::vector<std::vector<std::int64_t>> faults(resources.size());
    for (const topology::Fault& fault : router_.cluster().faults) {
      if (fault.target == topology::Fault::Target::kLink) {
        for (const ResourceId resource : router_.resources_of(fault)) {
          append_fault(fault, faults[resource.index()]);
        }
      }
    }
    Numbering numbers;
    out_.resource_kind.assign(resources.size(), kNone);
    std::vector<std::int64_t> key;
    for (const Edge& edge : out_.edges) {
      std::uint32_t& kind = out_.resource_kind[edge.resource];
      if (kind == kNone) {
        const routing::Resource& resource = resources[edge.resource];
        key.assign({bits(resource.bytes_per_second), resource.tier});
        key.insert(key.end(), faults[edge.resource].begin(), faults[edge.resource].end());
        kind = numbers.number(key);
      }
    }
  }

  using SpecKey = std::tuple<int,
                             int,
                             std::int64_t,
                             int,
                             std::uint32_t,
                             std::string,
                             int,
                             std::uint32_t,
                             int,
                             bool,
                             bool,
                             std::uint32_t,
                             std::int64_t,
                             std::vector<std::int64_t>>;

  const program::Programs& programs_;
  const Placement& placement_;
  const routing::Router& router_;
  const std::vector<CompiledProgram>& compiled_;
  collective::Form form_;
  collective::Lowering lowering_;
  Sites out_;
  std::map<SpecKey, std::uint32_t> spec_number_;
  std::vector<std::vector<std::uint32_t>> wishes_;  // by program
  std::vector<bool> wishes_known_;
  std::vector<std::vector<std::uint32_t>> calls_;                  // by site: CallSpecs
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked_by_;  // by site: program and operation
  Numbering rank_numbers_;
  Numbering site_numbers_;
  Numbering role_numbers_;
  Numbering offset_numbers_;
};

}  // namespace

Sites::Way Sites::way(const program::Programs& programs, std::uint32_t rank, std::uint32_t operation) const {
  const std::uint32_t program = programs.program_of[rank];
  const Operation& op = programs.programs[program].operations[operation];
  const std::uint32_t spec = spec_of[program][operation];
  Way way;
  if (op.kind == OpKind::kCollective) {
    const std::uint32_t group = programs.slot_values[rank][op.target];
    way.site = group_site[group];
    for (const auto& [known, member] : groups_of_rank[rank]) {
      way.member = known == group ? member : way.member;
    }
  } else if (meets_a_peer(op.kind)) {
    const bool sends = op.kind == OpKind::kSend;
    const std::uint32_t peer = programs.slot_values[rank][op.target];
    const std::uint32_t tag = op.detail == Operation::kNone ? 0 : op.detail;
    way.site = channel_site.at({sends ? rank : peer, sends ? peer : rank, tag});
    way.member = sites[way.site].first_member + (sends ? 0 : 1);
  } else {
    const std::uint32_t peer = one_sided(op.kind) ? programs.slot_values[rank][op.target] : 0;
    way.site = alone_site.at({rank, spec, peer});
    way.member = sites[way.site].first_member;
  }
  const Site& site = sites[way.site];
  way.call = site.first_call;
  while (calls[way.call].spec != spec) {
    ++way.call;
    STEPCAST_CHECK(way.call < site.first_call + site.call_count,
                   "rank {}, operation {}: a call without price", rank, operation);
  }
  return way;
}

Sites resolve_sites(const program::Programs& programs,
                    const Placement& placement,
                    const routing::Router& router,
                    const std::vector<CompiledProgram>& compiled,
                    collective::Form form) {
  return Resolver(programs, placement, router, compiled, form).run();
}

}  // namespace stepcast::replay
