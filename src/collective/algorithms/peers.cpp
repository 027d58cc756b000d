#include "collective/algorithms/peers.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast::collective {
namespace {

constexpr std::uint32_t kGroup = 8;  // NCCL_P2P_SCHEDULE_GROUP_SIZE

/// Groups of equal size of members of one host, in the order of hosts; empty when hosts are unequal.
std::vector<std::vector<std::uint32_t>> groups_of(const Places& places) {
  if (!places.equal()) {
    return {};
  }
  const std::uint32_t local = places.largest_host();
  const std::uint32_t size = places.host_count() == 1 ? local : std::gcd(kGroup, local);
  std::vector<std::vector<std::uint32_t>> groups;
  for (const std::vector<std::uint32_t>& host : places.hosts()) {
    for (std::uint32_t first = 0; first < local; first += size) {
      groups.emplace_back(host.begin() + first, host.begin() + first + size);
    }
  }
  return groups;
}

Pattern pairs(const Places& places, std::uint32_t channels, bool rails) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  const std::uint32_t n = places.members();
  edges.reserve(std::size_t{n} * (n - 1) * channels);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (from != to) {
          edges.push_back({.channel = channel,
                           .from = from,
                           .to = to,
                           .exit = rails ? places.at(places.host_of(from), places.local_of(to)) : from});
        }
      }
    }
  }
  return pattern;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> peer_rounds(const Places& places) {
  const std::uint32_t n = places.members();
  std::vector<std::vector<std::uint32_t>> rounds;
  const auto groups = groups_of(places);
  if (groups.empty()) {
    for (std::uint32_t distance = 0; distance < n; ++distance) {
      auto& round = rounds.emplace_back(n);
      for (std::uint32_t member = 0; member < n; ++member) {
        round[member] = (member + distance) % n;
      }
    }
    return rounds;
  }
  const auto count = static_cast<std::uint32_t>(groups.size());
  const auto size = static_cast<std::uint32_t>(groups[0].size());
  std::uint32_t power = 1;
  while (power < count) {
    power *= 2;
  }
  std::uint32_t distance = 0;
  for (std::uint32_t i = 0; i < power; ++i) {
    // Triangular numbers modulo a power of two visit every value once.
    distance = (distance + i) % power;
    if (distance >= count) {
      continue;
    }
    for (std::uint32_t shift = 0; shift < size; ++shift) {
      auto& round = rounds.emplace_back(n);
      for (std::uint32_t group = 0; group < count; ++group) {
        for (std::uint32_t local = 0; local < size; ++local) {
          round[groups[group][local]] = groups[(group + distance) % count][(local + shift) % size];
        }
      }
    }
  }
  return rounds;
}

Pattern all_pairs_pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return pairs(places, channels, false);
}

Pattern rail_pairs_pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return pairs(places, channels, true);
}

std::vector<SteadyState> all_pairs_steady_states(const Setting& setting, std::int64_t rounds) {
  const Places& places = setting.places;
  SteadyState steady;
  steady.steps = rounds;
  // Of the peers one after the other, those in the same host are reached without the network.
  const std::int64_t local_peers = std::int64_t{places.largest_host()} - 1;
  steady.network_steps = rounds - rounds * local_peers / (std::int64_t{places.members()} - 1);
  steady.share_numerator = 1;
  steady.share_denominator = places.members();
  steady.exchange = true;
  steady.port_weight = std::max(places.largest_host() - 1, 1U) * setting.channels;
  return {steady};
}

double all_pairs_messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * places.members() * channels;
}

std::int64_t concurrent_rounds(const Setting& setting) {
  constexpr std::int64_t kPeersPerChannel = 8;  // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
  const std::int64_t at_once = kPeersPerChannel * setting.host_channels;
  return (std::int64_t{setting.places.members()} - 1 + at_once - 1) / at_once;
}

std::uint32_t single_channel(const Places& /*places*/) {
  return 1;
}

Schedule all_pairs_schedule(const Places& places, std::uint32_t channels, bool in_order) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kAllToAll;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  made.in_place = false;
  const auto rounds = peer_rounds(places);
  const auto chunk = [&](Buffer buffer, std::uint32_t member, std::uint32_t channel) {
    return ChunkRange{.buffer = buffer, .offset = member * channels + channel, .count = 1};
  };
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      std::uint32_t block = 0;
      const auto lane = [&]() -> Lane& {
        made.lanes.push_back({.rank = member,
                              .thread_block = channel * (2 * n + 1) + block++,
                              .channel = channel,
                              .steps = {}});
        return made.lanes.back();
      };
      lane().steps.push_back({.action = Action::kCopy,
                              .source = chunk(Buffer::kInput, member, channel),
                              .destination = chunk(Buffer::kOutput, member, channel)});
      std::vector<std::uint32_t> sender(rounds.size());
      for (std::size_t round = 1; round < rounds.size(); ++round) {
        if (round == 1 || !in_order) {
          lane();
        }
        const std::uint32_t to = rounds[round][member];
        made.lanes.back().steps.push_back({.action = Action::kSend,
                                           .send_peer = to,
                                           .source = chunk(Buffer::kInput, to, channel),
                                           .destination = chunk(Buffer::kInput, to, channel)});
        sender[round] = static_cast<std::uint32_t>(
            std::find(rounds[round].begin(), rounds[round].end(), member) - rounds[round].begin());
      }
      for (std::size_t round = 1; round < rounds.size(); ++round) {
        if (round == 1 || !in_order) {
          lane();
        }
        made.lanes.back().steps.push_back({.action = Action::kRecv,
                                           .receive_peer = sender[round],
                                           .source = chunk(Buffer::kOutput, sender[round], channel),
                                           .destination = chunk(Buffer::kOutput, sender[round], channel)});
      }
    }
  }
  return made;
}

}  // namespace stepcast::collective
