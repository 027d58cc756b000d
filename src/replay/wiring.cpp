#include "replay/wiring.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace stepcast::replay {
namespace {

class Wirer {
 public:
  Wirer(const program::Programs& programs,
        const Sites& sites,
        const Partition& partition,
        const routing::Router& router,
        network::FlowNetwork& network)
      : programs_(programs), sites_(sites), partition_(partition), router_(router), network_(network) {}

  Wiring run() {
    out_.offsets = sites_.offsets;
    out_.specs = sites_.specs;
    place_.assign(sites_.members.size(), kNone);
    add_resources();
    gather_demands();
    reserve();
    for (std::uint32_t cls = 0; cls < partition_.sites.count(); ++cls) {
      add_site(cls);
    }
    for (std::uint32_t program = 0; program < programs_.programs.size(); ++program) {
      index_endpoints(program);
    }
    for (std::uint32_t cls = 0; cls < partition_.ranks.count(); ++cls) {
      add_endpoints(cls);
    }
    return std::move(out_);
  }

 private:
  void add_resources() {
    const auto resources = router_.resources();
    for (std::uint32_t cls = 0; cls < partition_.resources.count(); ++cls) {
      network_.add_resource(resources[partition_.resources.representative[cls]].bytes_per_second,
                            partition_.resources.size[cls]);
    }
    out_.resource_class = partition_.resources.of;
    out_.resource_representative = partition_.resources.representative;
    out_.resource_count = partition_.resources.size;
  }

  /// Weights on the representative of each resource class, by class of site and demand vector: all
  /// members of the site class that cross it count.
  void gather_demands() {
    first_vector_.push_back(0);
    for (const std::uint32_t site : partition_.sites.representative) {
      first_vector_.push_back(first_vector_.back() + sites_.sites[site].vectors);
    }
    first_demand_.assign(first_vector_.back() + 1, 0);
    for_each_demand([this](std::size_t vector, std::uint32_t /*cls*/, std::uint32_t /*weight*/) {
      ++first_demand_[vector + 1];
    });
    for (std::size_t vector = 1; vector < first_demand_.size(); ++vector) {
      first_demand_[vector] += first_demand_[vector - 1];
    }
    demands_.resize(first_demand_.back());
    std::vector<std::size_t> next(first_demand_.begin(), first_demand_.end() - 1);
    for_each_demand([&](std::size_t vector, std::uint32_t cls, std::uint32_t weight) {
      // The network adds up the entries of one resource.
      demands_[next[vector]++] = {ResourceId{cls}, weight, 1};
    });
  }

  template <class Visit>
  void for_each_demand(const Visit& visit) const {
    for (std::uint32_t index = 0; index < sites_.sites.size(); ++index) {
      const std::size_t first = first_vector_[partition_.sites.of[index]];
      for (const Edge& edge : sites_.edges_of(sites_.sites[index])) {
        const std::uint32_t cls = partition_.resources.of[edge.resource];
        if (partition_.resources.representative[cls] == edge.resource) {
          visit(first + edge.vector, cls, edge.weight);
        }
      }
    }
  }

  /// Room for what the representatives of all sites need.
  void reserve() {
    std::size_t calls = 0;
    std::size_t members = 0;
    for (const std::uint32_t site : partition_.sites.representative) {
      calls += sites_.sites[site].call_count;
      members += sites_.sites[site].member_count;
    }
    out_.sites.reserve(partition_.sites.count());
    out_.exchanges.reserve(calls);
    out_.member_rank.reserve(members);
    member_role_.reserve(members);
    first_exchange_.reserve(partition_.sites.count());
    network_.reserve(first_vector_.back(), demands_.size());
  }

  void add_site(std::uint32_t cls) {
    const Site& site = sites_.sites[partition_.sites.representative[cls]];
    SiteClass out;
    out.kind = site.kind;
    out.group = site.group;
    out.tag = site.tag;
    out.first_member = static_cast<std::uint32_t>(out_.member_rank.size());
    std::vector<std::uint32_t>& place = site_places_;
    place.clear();
    numbers_.clear();
    for (const Member& member : sites_.members_of(site)) {
      place.push_back(number_member(out, member));
      place_[site.first_member + place.size() - 1] = place.back();
    }
    out.members = static_cast<std::uint32_t>(out_.member_rank.size()) - out.first_member;
    own_shapes_.clear();
    out_.sites.push_back(out);
    first_exchange_.push_back(static_cast<std::uint32_t>(out_.exchanges.size()));
    const auto calls = sites_.calls_of(site);
    for (const Call& call : calls) {
      add_exchange(cls, call, place, out.members);
    }
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      std::uint32_t last = first_exchange_[cls] + i;
      for (const Call& later : sites_.then_of(calls[i])) {
        out_.exchanges[last].next = static_cast<std::uint32_t>(out_.exchanges.size());
        last = out_.exchanges[last].next;
        add_exchange(cls, later, place, out.members);
      }
    }
  }

  /// The member of a class of sites that a member of its representative is: one per rank class and role.
  std::uint32_t number_member(const SiteClass& out, const Member& member) {
    constexpr std::uint32_t kFew = 8;  // found faster than in a map
    const auto known = static_cast<std::uint32_t>(out_.member_rank.size()) - out.first_member;
    const std::uint32_t cls = partition_.ranks.of[member.rank];
    for (std::uint32_t i = 0; i < std::min(known, kFew); ++i) {
      if (partition_.ranks.of[out_.member_rank[out.first_member + i]] == cls &&
          member_role_[out.first_member + i] == member.role) {
        return i;
      }
    }
    if (known >= kFew) {
      const auto [found, fresh] = numbers_.try_emplace({cls, member.role}, known);
      if (!fresh) {
        return found->second;
      }
    }
    out_.member_rank.push_back(member.rank);
    member_role_.push_back(member.role);
    return known;
  }

  void add_exchange(std::uint32_t cls,
                    const Call& call,
                    const std::vector<std::uint32_t>& place,
                    std::uint32_t members) {
    Exchange exchange;
    exchange.work = call.work;
    exchange.payload = call.payload;
    exchange.latency_ps = call.latency_ps;
    exchange.fixed_ps = call.fixed_ps;
    exchange.bytes = call.bytes;
    exchange.spec = call.spec;
    exchange.entry = call.entry;
    exchange.form = form_of(call);
    if (call.offsets != kNone) {
      const bool unfolded = members == place.size();  // then no two ranks of the site are one member
      exchange.offsets = unfolded ? call.offsets : offsets_of(sites_.offsets[call.offsets], place, members);
    }
    if (call.transfers != kNone) {
      STEPCAST_CHECK(members == place.size(), "a stepped collective folds its own members");
      exchange.plan = add_plan(cls, call, members);
    } else if (call.fixed_ps < 0) {
      exchange.shape = shape_of(cls, call);
    }
    out_.exchanges.push_back(exchange);
  }

  /// Offsets by member of the class.
  std::uint32_t offsets_of(const std::vector<std::int64_t>& by_rank,
                           const std::vector<std::uint32_t>& place,
                           std::uint32_t members) {
    std::vector<std::int64_t> offsets(members, 0);
    for (std::size_t i = 0; i < place.size(); ++i) {
      offsets[place[i]] = by_rank[i];
    }
    const auto [found, fresh] =
        offset_number_.try_emplace(offsets, static_cast<std::uint32_t>(out_.offsets.size()));
    if (fresh) {
      out_.offsets.push_back(std::move(offsets));
    }
    return found->second;
  }

  ShapeId add_shape(
      std::uint32_t cls, std::uint32_t vector, std::uint32_t divisor, std::uint32_t fairness, double cap) {
    network::Shape shape;
    const std::size_t index = first_vector_[cls] + vector;
    shape.demands =
        std::span(demands_).subspan(first_demand_[index], first_demand_[index + 1] - first_demand_[index]);
    shape.divisor = divisor;
    shape.fairness = fairness;
    shape.cap = cap;
    shape.multiplicity = partition_.sites.size[cls];
    return network_.add_shape(shape);
  }

  /// The shape of a coupled call; calls of one site that load the fabric alike share theirs.
  ShapeId shape_of(std::uint32_t cls, const Call& call) {
    for (const auto& [other, shape] : own_shapes_) {
      if (other->vector == call.vector && other->divisor == call.divisor &&
          other->fairness == call.fairness &&
          std::bit_cast<std::uint64_t>(other->cap) == std::bit_cast<std::uint64_t>(call.cap)) {
        return shape;
      }
    }
    own_shapes_.emplace_back(&call, add_shape(cls, call.vector, call.divisor, call.fairness, call.cap));
    return own_shapes_.back().second;
  }

  std::uint32_t form_of(const Call& call) {
    const CallSpec& spec = sites_.specs[call.spec];
    const bool collective = spec.kind == program::OpKind::kCollective;
    const auto key = std::make_tuple(collective ? static_cast<int>(spec.request.kind) : -1, call.bytes,
                                     collective ? spec.request.root : 0);
    return forms_.try_emplace(key, static_cast<std::uint32_t>(forms_.size())).first->second;
  }

  std::uint32_t add_plan(std::uint32_t cls, const Call& call, std::uint32_t members) {
    const collective::SteppedTransfers& stepped = sites_.stepped[call.transfers];
    StepPlan plan;
    plan.of_member.resize(members);
    for (const collective::StepTransfer& transfer : stepped.steps) {
      const auto index = static_cast<std::uint32_t>(plan.steps.size());
      StepPlan::Step step;
      step.shape = add_shape(cls, call.vector + index, transfer.divisor, 1, 0);
      step.work = transfer.work;
      step.payload = transfer.payload;
      step.latency_ps = transfer.latency.ps();
      step.source = transfer.source;
      step.destination = transfer.destination;
      step.waits = static_cast<std::uint32_t>(transfer.after.size() + transfer.after_left.size());
      for (const std::uint32_t before : transfer.after) {
        plan.steps[before].when_arrived.push_back(index);
      }
      for (const std::uint32_t before : transfer.after_left) {
        plan.steps[before].when_left.push_back(index);
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

  void index_endpoints(std::uint32_t program) {
    std::vector<std::uint32_t> index(programs_.programs[program].operations.size(), kNone);
    std::uint32_t next = 0;
    for (std::size_t op = 0; op < index.size(); ++op) {
      if (sites_.spec_of[program][op] != kNone) {
        index[op] = next++;
      }
    }
    out_.endpoint_index.push_back(std::move(index));
  }

  void add_endpoints(std::uint32_t cls) {
    const std::uint32_t rank = partition_.ranks.representative[cls];
    const std::uint32_t program = programs_.program_of[rank];
    std::vector<Endpoint> endpoints;
    endpoints.reserve(sites_.spec_of[program].size());
    for (std::uint32_t op = 0; op < sites_.spec_of[program].size(); ++op) {
      if (sites_.spec_of[program][op] == kNone) {
        continue;
      }
      const Sites::Way way = sites_.way(programs_, rank, op);
      const std::uint32_t site = partition_.sites.of[way.site];
      const std::uint32_t call = way.call - sites_.sites[way.site].first_call;
      endpoints.push_back({site, member_of(site, cls, way.member), first_exchange_[site] + call});
    }
    out_.endpoints.push_back(std::move(endpoints));
  }

  /// Member of a class of sites that a member of one of its sites, of rank class `cls`, is.
  [[nodiscard]] std::uint32_t member_of(std::uint32_t site, std::uint32_t cls, std::uint32_t member) const {
    if (place_[member] != kNone) {
      return place_[member];  // of the representative itself
    }
    const SiteClass& known = out_.sites[site];
    for (std::uint32_t i = 0; i < known.members; ++i) {
      if (partition_.ranks.of[out_.member_rank[known.first_member + i]] == cls &&
          member_role_[known.first_member + i] == sites_.members[member].role) {
        return i;
      }
    }
    STEPCAST_CHECK(false, "class {} is no member of its site {}", cls, site);
    return kNone;
  }

  const program::Programs& programs_;
  const Sites& sites_;
  const Partition& partition_;
  const routing::Router& router_;
  network::FlowNetwork& network_;
  Wiring out_;
  std::vector<std::size_t> first_vector_;  // by class of site
  std::vector<std::size_t> first_demand_;  // by demand vector of all classes
  std::vector<network::Demand> demands_;
  std::vector<std::uint32_t> first_exchange_;  // by class of site
  std::vector<std::uint32_t> place_;           // by member of Sites: member of the class, of representatives
  std::vector<std::uint32_t> member_role_;     // by member of all classes
  std::vector<std::uint32_t>
      site_places_;  // of the class that is being added: by member of its representative
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;  // ... by rank class and role
  std::vector<std::pair<const Call*, ShapeId>> own_shapes_;  // of the class that is being added
  std::map<std::vector<std::int64_t>, std::uint32_t> offset_number_;
  std::map<std::tuple<int, std::int64_t, std::uint32_t>, std::uint32_t> forms_;
};

}  // namespace

std::string Wiring::name_of(const Exchange& exchange) const {
  const CallSpec& spec = specs[exchange.spec];
  switch (spec.kind) {
    case program::OpKind::kCollective:
      return fmt::format("{} of {} bytes", collective::name_of(spec.request.kind), exchange.bytes);
    case program::OpKind::kStorage:
      return fmt::format("storage {} of {} bytes", spec.write ? "write" : "read", exchange.bytes);
    default: return fmt::format("message of {} bytes", exchange.bytes);
  }
}

Wiring wire(const program::Programs& programs,
            const Sites& sites,
            const Partition& partition,
            const routing::Router& router,
            network::FlowNetwork& network) {
  return Wirer(programs, sites, partition, router, network).run();
}

}  // namespace stepcast::replay
