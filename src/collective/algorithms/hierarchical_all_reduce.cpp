// Hierarchical all-reduce: reduce-scatter inside hosts, all-reduce over each rail, all-gather inside hosts.
//
// Scope:        several hosts with equal numbers of members; rings in both levels.
// Assumes:      the buffer goes through the levels in chunks: while one chunk is in a level the next is in
//               the level before. The first chunk passes the levels one after the other (as if alone), then
//               all levels are busy: max + (sum - max) / k for k chunks.
// Not covered:  more than two levels; other algorithms in a level than rings.
// Source:       Mikami et al., arXiv 1811.05233 (2D-torus all-reduce); BlueConnect, MLSys 2019.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include <algorithm>

#include "collective/algorithms/levels.hpp"

namespace stepcast::collective {
namespace {

constexpr std::int64_t kChunk = 4 << 20;  // bytes of the buffer that pass the levels together
constexpr std::int64_t kMostChunks = 64;

std::vector<std::uint32_t> rail(const Places& places, std::uint32_t local) {
  std::vector<std::uint32_t> members;
  for (const std::vector<std::uint32_t>& host : places.hosts()) {
    members.push_back(host[local]);
  }
  return members;
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t hosts = places.host_count();
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = places.members();
  made.chunks = made.members * channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < made.members; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      const std::uint32_t first = channel * made.members;
      const std::uint32_t place = places.local_of(member);
      const LevelRing inside{
          .order = places.hosts()[places.host_of(member)], .position = place, .first = first, .count = hosts};
      const LevelRing across{.order = rail(places, place),
                             .position = places.host_of(member),
                             .first = first + place * hosts,
                             .count = 1};
      add_level_reduce_scatter(lane, inside);
      add_level_reduce_scatter(lane, across);
      add_level_all_gather(lane, across);
      add_level_all_gather(lane, inside);
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

/// Phases: the first chunk in each level, then all levels together. Units: the n-th part of the buffer.
Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t hosts = places.host_count();
  const std::uint32_t local = places.largest_host();
  std::vector<Edge> inside;
  std::vector<Edge> across;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      for (std::uint32_t place = 0; place < local; ++place) {
        const std::uint32_t member = places.hosts()[host][place];
        if (local > 1) {
          // (g - 1) pieces of N parts for each of the two passes.
          inside.push_back({.channel = channel,
                            .from = member,
                            .to = places.hosts()[host][(place + 1) % local],
                            .exit = member,
                            .weight = (local - 1) * hosts});
        }
        across.push_back({.channel = channel,
                          .from = member,
                          .to = places.hosts()[(host + 1) % hosts][place],
                          .exit = member,
                          .weight = 2 * (hosts - 1)});
      }
    }
  }
  Pattern made;
  std::vector<Edge> all = across;
  for (int pass = 0; pass < 2; ++pass) {
    all.insert(all.end(), inside.begin(), inside.end());
  }
  if (inside.empty()) {
    made.phases = {across, all};
  } else {
    made.phases = {inside, across, inside, all};
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  const Places& places = setting.places;
  const std::int64_t chunks = std::clamp<std::int64_t>(setting.bytes.count() / kChunk, 1, kMostChunks);
  const std::int64_t hosts = places.host_count();
  const std::int64_t local = places.largest_host();
  SteadyState inside;
  inside.steps = local - 1;
  inside.share_numerator = 1;
  inside.share_denominator = chunks * places.members();
  inside.port_weight = setting.channels * static_cast<std::uint32_t>((local - 1) * hosts);
  SteadyState across = inside;
  across.steps = 2 * (hosts - 1);
  across.network_steps = across.steps;
  across.port_weight = setting.channels * static_cast<std::uint32_t>(2 * (hosts - 1));
  SteadyState all = inside;
  all.steps = 0;
  all.share_numerator = chunks - 1;
  all.port_weight = 2 * inside.port_weight + across.port_weight;
  if (local == 1) {
    return {across, all};
  }
  return {inside, across, inside, all};
}

std::uint32_t channels(const Places& /*places*/) {
  return 1;
}

double messages(const Places& places, std::uint32_t channels) {
  const double hosts = places.host_count();
  const double local = places.largest_host();
  return channels * places.members() * 2 * (hosts + local - 2);
}

std::string fits(const Places& places) {
  return places.host_count() > 1 && places.equal() ? std::string()
                                                   : "it needs several hosts with equal numbers of members";
}

}  // namespace

Algorithm hierarchical_all_reduce_algorithm() {
  return {.name = "hierarchical_all_reduce",
          .family = "hierarchical",
          .summary = "reduce-scatter in hosts, all-reduce over rails, all-gather in hosts",
          .kind = Kind::kAllReduce,
          .scope = "several hosts with equal numbers of members; rings in both levels",
          .source = "Mikami et al., arXiv 1811.05233; Cho et al. (BlueConnect), MLSys 2019",
          .limits = "two levels; chunks of 4 MiB, at most 64: max + (sum - max) / k of the levels",
          .schedule = &schedule,
          .channels = &channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &fits};
}

}  // namespace stepcast::collective
