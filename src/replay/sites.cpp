#include "replay/sites.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/parallel.hpp"
#include "base/small_vector.hpp"
#include "program/findings.hpp"
#include "replay/site_tables.hpp"

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
  const auto protocol = collective::find_protocol(name);
  if (!protocol) {
    throw InputError(fmt::format("unknown protocol \"{}\"; known: {}", name,
                                 fmt::join(collective::protocol_names(), ", ")));
  }
  return protocol;
}

/// True when a receive goes to the call of a send: the sender decides when the message starts.
bool serves(const CallSpec& send, const CallSpec& receive) {
  return receive.receives && !send.receives && send.request.bytes == receive.request.bytes &&
         send.fixed_ps == receive.fixed_ps;
}

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
           const collective::Lowering& lowering,
           const routing::Router& router,
           const std::vector<CompiledProgram>& compiled,
           collective::Form form)
      : programs_(programs),
        placement_(placement),
        router_(router),
        compiled_(compiled),
        form_(form),
        lowering_(lowering) {}

  Sites run() {
    out_.ranks = programs_.ranks;
    group_sites_.assign(programs_.groups.size(), kNone);
    out_.groups_of_rank.resize(programs_.ranks);
    for (std::uint32_t program = 0; program < programs_.programs.size(); ++program) {
      read_specs(program);
      find_wishes(program);
    }
    for (std::uint32_t rank = 0; rank < programs_.ranks; ++rank) {
      slots_.add_rank(programs_.programs[programs_.program_of[rank]].slots, programs_.slot_values[rank]);
    }
    for (std::uint32_t rank = 0; rank < programs_.ranks; ++rank) {
      read_rank(rank);
    }
    prepare_routes();
    std::size_t calls = 0;
    for (const auto& of_site : calls_) {
      calls += of_site.size();
    }
    out_.calls.reserve(calls);
    out_.site_kind.reserve(out_.sites.size());
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
    if (op.kind == OpKind::kCollective) {
      const program::CollectiveDetail& detail = program.collectives[op.detail];
      spec.request = {detail.kind,     Bytes(op.bytes),  op.dtype,
                      detail.root,     detail.algorithm, protocol_hint(detail.protocol),
                      detail.channels, detail.splits,    detail.steps};
      spec.request.reduction = collective::reduction_of(detail.reduction);
      spec.meaning = op.meaning;
    } else if (op.kind == OpKind::kStorage) {
      spec.write = (op.flags & Operation::kWrite) != 0;
      spec.target = op.target;
    } else {
      spec.target = op.detail == Operation::kNone ? 0 : op.detail;
      spec.eager = op.kind == OpKind::kSend && (op.flags & Operation::kEager) != 0;
      if (op.kind == OpKind::kRecv) {
        spec.kind = OpKind::kSend;  // both ends of a message ask for the same
        spec.receives = true;
      }
    }
    const collective::Request& request = spec.request;
    key_.assign({static_cast<int>(spec.kind), static_cast<int>(request.kind), op.bytes,
                 static_cast<int>(request.dtype), static_cast<int>(request.reduction), request.root,
                 request.protocol ? static_cast<int>(*request.protocol) : -1, request.channels,
                 static_cast<int>(spec.meaning), spec.eager, spec.receives, spec.write, spec.target, fixed,
                 static_cast<std::int64_t>(request.splits.size()),
                 reinterpret_cast<std::intptr_t>(request.steps.get())});
    for (const Bytes split : request.splits) {
      key_.push_back(split.count());
    }
    key_.insert(key_.end(), request.algorithm.begin(), request.algorithm.end());
    const std::uint32_t number = spec_numbers_.number(key_);
    if (number == out_.specs.size()) {
      out_.specs.push_back(spec);
    }
    return number;
  }

  // Where operations meet.

  void read_rank(std::uint32_t rank) {
    const std::uint32_t index = programs_.program_of[rank];
    const program::Program& program = programs_.programs[index];
    std::vector<std::int64_t> kind{index};
    for (std::uint32_t slot = 0; slot < program.slots.size(); ++slot) {
      kind.push_back(slots_.first(rank, program.slots[slot].kind, programs_.slot_values[rank][slot]));
    }
    for (const topology::Fault& fault : router_.cluster().faults) {
      if (fault.target == topology::Fault::Target::kGpu && fault.gpu == placement_[RankId{rank}]) {
        append_fault(fault, kind);
      }
    }
    out_.rank_kind.push_back(rank_numbers_.number(kind));
    out_.first_wish.push_back(out_.wish_site.size());
    for (const std::uint32_t op : wishes_[index]) {
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
      out_.wish_site.push_back(site);
      note_call(site, spec);
      if (asked_by_.size() < out_.sites.size()) {
        asked_by_.resize(out_.sites.size(), {index, op});
      }
    }
  }

  /// Operations of a program that differ in spec or slot, the first of each.
  void find_wishes(std::uint32_t program) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::uint32_t> number;
    const auto& operations = programs_.programs[program].operations;
    std::vector<std::uint32_t>& wishes = wishes_.emplace_back();
    std::vector<std::uint32_t>& wish_of = out_.wish_of.emplace_back(operations.size(), kNone);
    for (std::uint32_t op = 0; op < operations.size(); ++op) {
      const std::uint32_t spec = out_.spec_of[program][op];
      if (spec == kNone) {
        continue;
      }
      const auto [found, fresh] =
          number.try_emplace({spec, operations[op].target, static_cast<int>(operations[op].kind)},
                             static_cast<std::uint32_t>(wishes.size()));
      if (fresh) {
        wishes.push_back(op);
      }
      wish_of[op] = found->second;
    }
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
    std::uint32_t& site = group_sites_[group];
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
    std::uint32_t& known = channels_.of({sender, receiver, tag});
    if (known == kNone) {
      Site site;
      site.kind = Site::Kind::kMessages;
      site.tag = tag;
      site.first_member = static_cast<std::uint32_t>(out_.members.size());
      site.member_count = 2;
      out_.members.push_back({sender, 0});
      out_.members.push_back({receiver, 0});
      known = add_site(site);
    }
    return known;
  }

  std::uint32_t alone_site(std::uint32_t rank, const Operation& op, std::uint32_t spec) {
    const std::uint32_t peer = one_sided(op.kind) ? programs_.slot_values[rank][op.target] : 0;
    auto [found, fresh] = alone_sites_.try_emplace({rank, spec, peer}, kNone);
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

  /// Tells the router which GPUs have peers in other hosts, so that it can search side by side.
  void prepare_routes() const {
    if (thread_count() < 2) {
      return;
    }
    std::vector<bool> reached(router_.topology().gpu_count(), false);
    const auto host_of = [this](const Member& member) {
      return router_.topology().host_of(placement_[RankId{member.rank}]);
    };
    for (const Site& site : out_.sites) {
      const auto members = out_.members_of(site);
      if (std::any_of(members.begin(), members.end(),
                      [&](const Member& member) { return host_of(member) != host_of(members.front()); })) {
        for (const Member& member : members) {
          reached[placement_[RankId{member.rank}].index()] = true;
        }
      }
    }
    std::vector<GpuId> gpus;
    for (std::uint32_t gpu = 0; gpu < reached.size(); ++gpu) {
      if (reached[gpu]) {
        gpus.emplace_back(gpu);
      }
    }
    router_.prepare(gpus);
  }

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
    site.call_count = static_cast<std::uint32_t>(out_.calls.size()) - site.first_call;
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
        refuse(index,
               fmt::format("{} of {} bytes per rank in a group of {}: too many bytes for one collective",
                           collective::name_of(wish.request.kind), wish.request.bytes.count(), size),
               "give fewer");
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
    for (const std::uint32_t spec : calls_[index]) {
      const auto sent = [&](std::uint32_t other) { return serves(out_.specs[other], out_.specs[spec]); };
      if (std::any_of(calls_[index].begin(), calls_[index].end(), sent)) {
        continue;  // a receive, and the call of its send is here
      }
      Call call = new_call(spec);
      if (call.fixed_ps < 0) {
        const collective::MessagePath& path = message_path(from, to);
        static_cast<CallPrice&>(call) = message_price(call.bytes, path);
        call.vector = vector_of(index, path.demands);
      }
      call.entry = out_.specs[spec].eager ? Entry::kSender : Entry::kAll;
      out_.calls.push_back(call);
    }
  }

  /// Most pairs have one channel; those with more, of several tags, come close after each other.
  const collective::MessagePath& message_path(GpuId from, GpuId to) {
    for (const KnownPath& known : recent_paths_) {
      if (known.from == from && known.to == to) {
        return known.path;
      }
    }
    KnownPath& known = recent_paths_[next_recent_++ % recent_paths_.size()];
    known.from = GpuId{};
    known.path = from == to
                     ? collective::MessagePath{}
                     : lowering_.message_path(router_.find(from, to), router_.crosses_network(from, to));
    known.from = from;
    known.to = to;
    return known.path;
  }

  /// What a message costs on a path, without its demands: the same on all paths of equal latency and rate.
  const CallPrice& message_price(std::int64_t bytes, const collective::MessagePath& path) {
    const auto [found, fresh] = message_prices_.try_emplace(
        std::make_tuple(bytes, path.latency.ps(), bits(path.rate), path.divisor, path.network));
    if (fresh) {
      collective::MessagePath bare = path;
      bare.demands.clear();
      fill_price(found->second, lowering_.lower_message(Bytes(bytes), bare).coupled);
    }
    return found->second;
  }

  void price_alone(std::uint32_t index) {
    const Member member = out_.members_of(out_.sites[index])[0];
    const GpuId here = placement_[RankId{member.rank}];
    for (const std::uint32_t spec : calls_[index]) {
      const CallSpec& wish = out_.specs[spec];
      Call call = new_call(spec);
      if (call.fixed_ps < 0 && wish.kind == OpKind::kStorage) {
        check_storage(index, member.rank, wish.target);
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

  /// An InputError at the operation that asks for the site.
  [[noreturn]] void refuse(std::uint32_t site, const std::string& problem, std::string_view remedy) const {
    config::Diagnostics diagnostics;
    program::add_finding(diagnostics, programs_.programs[asked_by_[site].first], asked_by_[site].second,
                         problem, remedy);
    diagnostics.throw_if_any();
    STEPCAST_CHECK(false, "a finding that is none: {}", problem);
    std::abort();
  }

  void check_storage(std::uint32_t site, std::uint32_t rank, std::uint32_t system) const {
    if (system >= router_.cluster().storage.size()) {
      refuse(
          site,
          fmt::format("rank {} uses storage system {} (counted from 0) but the cluster \"{}\" has {} of them",
                      rank, system, router_.cluster().name, router_.cluster().storage.size()),
          "add \"storage\" to the cluster file");
    }
  }

  void fill(std::uint32_t site, Call& call, const collective::CoupledActivity& activity) {
    fill_price(call, activity);
    call.vector = vector_of(site, activity.demands);
  }

  void fill_price(CallPrice& call, const collective::CoupledActivity& activity) {
    call.work = activity.work;
    call.payload = activity.payload;
    call.latency_ps = activity.latency.ps();
    call.cap = activity.cap;
    call.divisor = activity.divisor;
    call.fairness = activity.fairness;
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
    transfers_ += static_cast<double>(stepped.steps.size());
    if (transfers_ > kMostTransfers) {
      throw UnsupportedError(fmt::format(
          "the schedules of all groups are more than {:.0e} transfers to be played step by step; use "
          "--lowering coupled, or fewer ranks",
          kMostTransfers));
    }
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
    std::vector<std::int64_t>& key = key_;
    key.assign({static_cast<std::int64_t>(site.kind), site.member_count, site.tag});
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
      write_role_key(site, i, stepped);
      member.role = role_numbers_.number(key_);
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

  /// How member `i` of a site comes to it and leaves it, in `key_`.
  void write_role_key(const Site& site, std::uint32_t i, bool stepped) {
    const std::uint32_t rank = out_.members[site.first_member + i].rank;
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
    key_.assign(
        {static_cast<std::int64_t>(site.kind), site.kind == Site::Kind::kMessages || stepped ? i : 0});
    if (by_slot) {
      key_.push_back(slots_.first(rank, kind, meant));
    }
    for (const Call& call : out_.calls_of(site)) {
      key_.push_back(call.offsets == kNone ? 0 : out_.offsets[call.offsets][i]);
      for (const Call& later : out_.then_of(call)) {
        key_.push_back(later.offsets == kNone ? 0 : out_.offsets[later.offsets][i]);
      }
    }
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

  const program::Programs& programs_;
  const Placement& placement_;
  const routing::Router& router_;
  const std::vector<CompiledProgram>& compiled_;
  collective::Form form_;
  const collective::Lowering& lowering_;
  Sites out_;
  struct KnownPath {
    GpuId from;
    GpuId to;
    collective::MessagePath path;
  };

  SlotFinder slots_;
  std::vector<std::vector<std::uint32_t>> wishes_;  // by program: operations
  std::vector<std::uint32_t> group_sites_;          // by group
  ChannelTable channels_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      alone_sites_;  // by rank, spec, peer
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint32_t, bool>, CallPrice>
      message_prices_;  // by bytes, latency, rate, divisor, over the network
  std::array<KnownPath, 8> recent_paths_;
  std::size_t next_recent_ = 0;
  double transfers_ = 0;                                           // of stepped calls so far
  std::vector<std::int64_t> key_;                                  // scratch of the numbering
  std::vector<SmallVector<std::uint32_t, 2>> calls_;               // by site: CallSpecs
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked_by_;  // by site: program and operation
  Numbering spec_numbers_;
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
  way.site = wish_site[first_wish[rank] + wish_of[program][operation]];
  way.member = sites[way.site].first_member;
  if (op.kind == OpKind::kCollective) {
    for (const auto& [known, member] : groups_of_rank[rank]) {
      way.member = known == sites[way.site].group ? member : way.member;
    }
  } else if (op.kind == OpKind::kRecv) {
    ++way.member;
  }
  const Site& site = sites[way.site];
  way.call = site.first_call;
  while (calls[way.call].spec != spec && !serves(specs[calls[way.call].spec], specs[spec])) {
    ++way.call;
    STEPCAST_CHECK(way.call < site.first_call + site.call_count,
                   "rank {}, operation {}: a call without price", rank, operation);
  }
  return way;
}

Sites resolve_sites(const program::Programs& programs,
                    const Placement& placement,
                    const collective::Lowering& lowering,
                    const routing::Router& router,
                    const std::vector<CompiledProgram>& compiled,
                    collective::Form form) {
  return Resolver(programs, placement, lowering, router, compiled, form).run();
}

}  // namespace stepcast::replay
