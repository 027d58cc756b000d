#include "replay/folding.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/fingerprint.hpp"
#include "base/parallel.hpp"

namespace stepcast::replay {
namespace {

/// Colours of everything that is refined.
struct Colours {
  std::vector<std::uint64_t> ranks;
  std::vector<std::uint64_t> sites;
  std::vector<std::uint64_t> resources;
};

constexpr std::uint64_t kRankSalt = 0x52616e6bULL;
constexpr std::uint64_t kSiteSalt = 0x53697465ULL;
constexpr std::uint64_t kResourceSalt = 0x4c696e6bULL;

std::uint64_t salted(std::uint64_t salt, std::uint64_t word) {
  return mix(mix(0, salt), word);
}

Colours first_colours(const Sites& sites) {
  Colours colours;
  for (const std::uint32_t kind : sites.rank_kind) {
    colours.ranks.push_back(salted(kRankSalt, kind));
  }
  for (const std::uint32_t kind : sites.site_kind) {
    colours.sites.push_back(salted(kSiteSalt, kind));
  }
  for (const std::uint32_t kind : sites.resource_kind) {
    colours.resources.push_back(salted(kResourceSalt, kind));
  }
  return colours;
}

std::vector<bool> unused_resources(const Sites& sites) {
  std::vector<bool> unused;
  unused.reserve(sites.resource_kind.size());
  for (const std::uint32_t kind : sites.resource_kind) {
    unused.push_back(kind == kNone);
  }
  return unused;
}

std::uint64_t edge_word(const Edge& edge) {
  return mix(kResourceSalt, (std::uint64_t{edge.vector} << 32U) | edge.weight);
}

std::uint64_t member_word(const Member& member) {
  return mix(kRankSalt, member.role);
}

/// One round: sites from their ranks and resources, then those from the new colours of their sites.
/// Sums of hashes, so that order does not count.
void refine_once(const Sites& sites, Colours& colours) {
  std::vector<std::uint64_t> rank_sum(colours.ranks.size(), 0);
  std::vector<std::uint64_t> resource_sum(colours.resources.size(), 0);
  for (std::size_t index = 0; index < sites.sites.size(); ++index) {
    const Site& site = sites.sites[index];
    std::uint64_t sum = 0;
    for (const Member& member : sites.members_of(site)) {
      sum += mix(member_word(member), colours.ranks[member.rank]);
    }
    for (const Edge& edge : sites.edges_of(site)) {
      sum += mix(edge_word(edge), colours.resources[edge.resource]);
    }
    colours.sites[index] = mix(mix(colours.sites[index], kSiteSalt), sum);
    for (const Member& member : sites.members_of(site)) {
      rank_sum[member.rank] += mix(member_word(member), colours.sites[index]);
    }
    for (const Edge& edge : sites.edges_of(site)) {
      resource_sum[edge.resource] += mix(edge_word(edge), colours.sites[index]);
    }
  }
  for (std::size_t rank = 0; rank < rank_sum.size(); ++rank) {
    colours.ranks[rank] = mix(mix(colours.ranks[rank], kRankSalt), rank_sum[rank]);
  }
  for (std::size_t resource = 0; resource < resource_sum.size(); ++resource) {
    colours.resources[resource] =
        mix(mix(colours.resources[resource], kResourceSalt), resource_sum[resource]);
  }
}

/// Refines until no class splits, or until every rank and site stands alone.
Partition refine(const Sites& sites, Colours& colours) {
  const std::vector<bool> unused = unused_resources(sites);
  Partition partition;
  std::size_t before = 0;
  for (;;) {
    partition.ranks = classes_of(colours.ranks);
    partition.sites = classes_of(colours.sites);
    partition.resources = classes_of(colours.resources, unused);
    const std::size_t count = partition.ranks.count() + partition.sites.count() + partition.resources.count();
    if (count == before) {
      return partition;
    }
    if (partition.ranks.count() == sites.ranks && partition.sites.count() == sites.sites.size()) {
      return identity_partition(sites);
    }
    before = count;
    refine_once(sites, colours);
  }
}

/// Gives every found member a colour of its own.
void split_off(const AuditFindings& findings, std::uint64_t round, Colours& colours) {
  const auto split = [round](const std::vector<std::uint32_t>& found, std::vector<std::uint64_t>& of) {
    for (const std::uint32_t member : found) {
      of[member] = mix(mix(of[member], round + 1), member);
    }
  };
  split(findings.ranks, colours.ranks);
  split(findings.sites, colours.sites);
  split(findings.resources, colours.resources);
}

/// What a site or rank or resource is connected with, in a form that compares exactly.
using Tie = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

/// Ties of all things of one kind, one after the other.
class TieLists {
 public:
  explicit TieLists(std::size_t things) : first_(things + 1, 0) {}

  void count(std::uint32_t thing) { ++first_[thing + 1]; }
  void open() {
    for (std::size_t thing = 1; thing < first_.size(); ++thing) {
      first_[thing] += first_[thing - 1];
    }
    ties_.resize(first_.back());
    next_ = first_;
  }
  void add(std::uint32_t thing, const Tie& tie) { ties_[next_[thing]++] = tie; }

  /// Members of classes whose ties differ from their representative's.
  std::vector<std::uint32_t> strangers(const Classes& classes) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t thing = 0; thing < classes.of.size(); ++thing) {
      if (classes.of[thing] == Classes::kNone) {
        continue;
      }
      std::sort(begin(thing), end(thing));
      // A representative is the first of its class, so that it has been sorted before.
      const std::uint32_t representative = classes.representative[classes.of[thing]];
      if (!std::equal(begin(thing), end(thing), begin(representative), end(representative))) {
        found.push_back(thing);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::vector<Tie>::iterator begin(std::uint32_t thing) {
    return ties_.begin() + static_cast<std::ptrdiff_t>(first_[thing]);
  }
  [[nodiscard]] std::vector<Tie>::iterator end(std::uint32_t thing) {
    return ties_.begin() + static_cast<std::ptrdiff_t>(first_[thing + 1]);
  }
  std::vector<std::size_t> first_;
  std::vector<std::size_t> next_;
  std::vector<Tie> ties_;
};

/// Members whose kind (what they are by themselves) differs from their representative's.
void compare_kinds(const std::vector<std::uint32_t>& kinds,
                   const Classes& classes,
                   std::vector<std::uint32_t>& found) {
  for (std::uint32_t thing = 0; thing < kinds.size(); ++thing) {
    if (classes.of[thing] != Classes::kNone &&
        kinds[thing] != kinds[classes.representative[classes.of[thing]]]) {
      found.push_back(thing);
    }
  }
}

void make_unique(std::vector<std::uint32_t>& found) {
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

std::vector<std::uint32_t> strange_ranks(const Sites& sites, const Partition& partition) {
  TieLists ties(sites.ranks);
  for (const Member& member : sites.members) {
    ties.count(member.rank);
  }
  ties.open();
  for (std::size_t index = 0; index < sites.sites.size(); ++index) {
    for (const Member& member : sites.members_of(sites.sites[index])) {
      ties.add(member.rank, {partition.sites.of[index], member.role, 0, 0});
    }
  }
  std::vector<std::uint32_t> found = ties.strangers(partition.ranks);
  compare_kinds(sites.rank_kind, partition.ranks, found);
  make_unique(found);
  return found;
}

std::vector<std::uint32_t> strange_sites(const Sites& sites, const Partition& partition) {
  TieLists ties(sites.sites.size());
  for (std::uint32_t index = 0; index < sites.sites.size(); ++index) {
    for (std::uint32_t i = 0; i < sites.sites[index].member_count + sites.sites[index].edge_count; ++i) {
      ties.count(index);
    }
  }
  ties.open();
  for (std::uint32_t index = 0; index < sites.sites.size(); ++index) {
    for (const Member& member : sites.members_of(sites.sites[index])) {
      ties.add(index, {0, partition.ranks.of[member.rank], member.role, 0});
    }
    for (const Edge& edge : sites.edges_of(sites.sites[index])) {
      ties.add(index, {1, partition.resources.of[edge.resource], edge.vector, edge.weight});
    }
  }
  std::vector<std::uint32_t> found = ties.strangers(partition.sites);
  compare_kinds(sites.site_kind, partition.sites, found);
  make_unique(found);
  return found;
}

std::vector<std::uint32_t> strange_resources(const Sites& sites, const Partition& partition) {
  TieLists ties(sites.resource_kind.size());
  for (const Edge& edge : sites.edges) {
    ties.count(edge.resource);
  }
  ties.open();
  for (std::size_t index = 0; index < sites.sites.size(); ++index) {
    for (const Edge& edge : sites.edges_of(sites.sites[index])) {
      ties.add(edge.resource, {partition.sites.of[index], edge.vector, edge.weight, 0});
    }
  }
  std::vector<std::uint32_t> found = ties.strangers(partition.resources);
  compare_kinds(sites.resource_kind, partition.resources, found);
  make_unique(found);
  return found;
}

Partition audited(const Sites& sites, Partition partition, Colours colours) {
  constexpr std::uint64_t kMostSplits = 16;
  for (std::uint64_t round = 0; round < kMostSplits; ++round) {
    const AuditFindings findings = audit(sites, partition);
    if (findings.passed()) {
      partition.audit = round == 0 ? "passed" : fmt::format("passed after {} split(s)", round);
      return partition;
    }
    split_off(findings, round, colours);
    partition = refine(sites, colours);
  }
  partition = identity_partition(sites);
  partition.audit = "failed: every rank is run";
  return partition;
}

}  // namespace

AuditFindings audit(const Sites& sites, const Partition& partition) {
  AuditFindings findings;
  constexpr std::size_t kWorthThreads = 100'000;  // ties: some milliseconds
  const bool large = sites.members.size() + sites.edges.size() >= kWorthThreads;
  parallel_for(3, large ? thread_count() : 1, [&](std::size_t part) {
    switch (part) {
      case 0: findings.ranks = strange_ranks(sites, partition); break;
      case 1: findings.sites = strange_sites(sites, partition); break;
      default: findings.resources = strange_resources(sites, partition); break;
    }
  });
  return findings;
}

Partition fold(const Sites& sites) {
  Colours colours = first_colours(sites);
  Partition partition = refine(sites, colours);
  return audited(sites, std::move(partition), std::move(colours));
}

Partition repair(const Sites& sites, Partition partition) {
  Colours colours;
  const auto colour_by_class = [](const Classes& classes, std::uint64_t salt) {
    std::vector<std::uint64_t> colours_of;
    for (const std::uint32_t cls : classes.of) {
      colours_of.push_back(salted(salt, cls));
    }
    return colours_of;
  };
  colours.ranks = colour_by_class(partition.ranks, kRankSalt);
  colours.sites = colour_by_class(partition.sites, kSiteSalt);
  colours.resources = colour_by_class(partition.resources, kResourceSalt);
  return audited(sites, std::move(partition), std::move(colours));
}

}  // namespace stepcast::replay
