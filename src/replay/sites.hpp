#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "program/program.hpp"
#include "replay/compiled.hpp"
#include "routing/router.hpp"

// Internal to replay/: where the operations of all ranks meet, and what each meeting costs.
namespace stepcast::replay {

/// Who must have arrived before an exchange starts: all, or of a message its sender alone (eager). The
/// transfers of a stepped collective start each when its own two ends are there.
enum class Entry : std::uint8_t { kAll, kSender };

/// What an operation asks of the site it goes to. Operations of equal wishes share a CallSpec.
struct CallSpec {
  program::OpKind kind = program::OpKind::kCollective;
  collective::Request request;  ///< of collectives; `bytes` also of messages and storage
  program::BytesMeaning meaning = program::BytesMeaning::kWholeBuffer;
  bool eager = false;          ///< sends
  bool receives = false;       ///< the receiving end of a message: it takes the price of the send
  bool write = false;          ///< storage
  std::uint32_t target = 0;    ///< tag of a message, storage system
  std::int64_t fixed_ps = -1;  ///< recorded duration: the network is not asked
};

/// What a call costs besides its demands.
struct CallPrice {
  std::int64_t work = 0;
  std::int64_t payload = 0;
  std::int64_t latency_ps = 0;
  double cap = 0;
  std::uint32_t divisor = 1;
  std::uint32_t fairness = 1;
  std::uint32_t offsets = kNone;  ///< index into Sites::offsets: completion offset by member, ps
};

/// A CallSpec at a site: its price.
struct Call : CallPrice {
  std::uint32_t spec = 0;
  std::int64_t bytes = 0;  ///< whole buffer, message or access
  std::int64_t fixed_ps = -1;
  Entry entry = Entry::kAll;
  std::uint32_t vector = 0;         ///< demand vector of the site, counted from 0
  std::uint32_t transfers = kNone;  ///< stepped: index into Sites::stepped; step i has vector `vector` + i
  std::uint32_t first_then = 0;     ///< activities that follow it: `then_count` entries of Sites::then
  std::uint32_t then_count = 0;
};

/// Where instances of calls are matched in order: a group, a message channel, or one rank alone.
struct Site {
  enum class Kind : std::uint8_t { kGroup, kMessages, kAlone };
  Kind kind = Kind::kAlone;
  std::uint32_t group = kNone;  ///< of kGroup: index of GroupId
  std::uint32_t tag = 0;        ///< of kMessages
  std::uint32_t first_member = 0;
  std::uint32_t member_count = 0;
  std::uint32_t first_call = 0;
  std::uint32_t call_count = 0;
  std::uint32_t first_edge = 0;
  std::uint32_t edge_count = 0;
  std::uint32_t vectors = 0;
};

/// A rank at a site, and how it gets there. Equal roles of one rank class are one member of a folded site.
struct Member {
  std::uint32_t rank = 0;
  std::uint32_t role = 0;  ///< dense: slot, end of a message, index in a stepped group, completion offsets
};

/// `weight` / divisor bytes per unit of progress of demand vector `vector` over a resource.
struct Edge {
  std::uint32_t resource = 0;
  std::uint32_t vector = 0;
  std::uint32_t weight = 0;
};

/// Transfers of collectives played step by step that one run may lay out, and that it may execute.
inline constexpr double kMostTransfers = 4e6;

/// All sites of a set of programs on a fabric. Sizes: linear in ranks and in links on their paths.
struct Sites {
  std::uint32_t ranks = 0;
  std::vector<CallSpec> specs;
  std::vector<std::vector<std::uint32_t>> spec_of;  ///< by program, by operation: CallSpec or kNone
  std::vector<Site> sites;
  std::vector<Member> members;
  std::vector<Call> calls;
  std::vector<Call> then;  ///< later phases of calls: work, payload, latency, demands, offsets
  std::vector<Edge> edges;
  std::vector<std::vector<std::int64_t>> offsets;
  std::vector<collective::SteppedTransfers> stepped;
  std::vector<std::uint32_t> rank_kind;      ///< by rank: program and pattern of equal slots, dense
  std::vector<std::uint32_t> resource_kind;  ///< by resource: capacity, tier and faults, dense
  std::vector<std::uint32_t> site_kind;      ///< by site: everything that its calls and prices say, dense

  [[nodiscard]] std::span<const Member> members_of(const Site& site) const {
    return std::span(members).subspan(site.first_member, site.member_count);
  }
  [[nodiscard]] std::span<const Call> calls_of(const Site& site) const {
    return std::span(calls).subspan(site.first_call, site.call_count);
  }
  [[nodiscard]] std::span<const Call> then_of(const Call& call) const {
    return std::span(then).subspan(call.first_then, call.then_count);
  }
  [[nodiscard]] std::span<const Edge> edges_of(const Site& site) const {
    return std::span(edges).subspan(site.first_edge, site.edge_count);
  }

  // A wish is what operations of a program that ask for the same of the same slot have in common.

  /// Where an operation of a rank goes.
  struct Way {
    std::uint32_t site = kNone;
    std::uint32_t member = 0;  ///< index into `members`
    std::uint32_t call = 0;    ///< index into `calls`
  };
  /// REQUIRES: the operation communicates.
  [[nodiscard]] Way way(const program::Programs& programs, std::uint32_t rank, std::uint32_t operation) const;

  std::vector<std::vector<std::uint32_t>> wish_of;  ///< by program, by operation: number of its wish or kNone
  std::vector<std::size_t> first_wish;              ///< by rank: into `wish_site`
  std::vector<std::uint32_t> wish_site;             ///< by rank and wish
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> groups_of_rank;  ///< group, member index
};

/// Finds and prices every site, by a lowering on the router. `fixed_ps` of operations come from the compiled
/// programs. Throws InputError and UnsupportedError as the lowering of collectives does, and for storage that
/// does not exist.
[[nodiscard]] Sites resolve_sites(const program::Programs& programs,
                                  const Placement& placement,
                                  const collective::Lowering& lowering,
                                  const routing::Router& router,
                                  const std::vector<CompiledProgram>& compiled,
                                  collective::Form form);

}  // namespace stepcast::replay
