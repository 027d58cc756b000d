#include "collective/algorithms/nvls.hpp"

#include <fmt/core.h>

namespace stepcast::collective {

std::string nvls_available(const topology::Cluster& cluster) {
  const hardware::HostKind& host = cluster.host;
  if (host.nvswitches == 0) {
    return fmt::format("host kind {} has no NVLink switch", host.name);
  }
  if (host.collective.efficiency_nvls == 0) {
    return fmt::format("{} has no NVLink SHARP (Hopper or later has)",
                       host.accelerator.name.empty() ? host.name : host.accelerator.name);
  }
  return {};
}

std::string nvls_fits(const Places& places) {
  return places.host_count() == 1
             ? std::string()
             : fmt::format("the group is spread over {} hosts, and NVLink switches reduce within one",
                           places.host_count());
}

std::uint32_t nvls_channels(const Places& /*places*/) {
  return 1;
}

Pattern nvls_pattern(const Places& places, std::uint32_t channels, std::uint32_t up, std::uint32_t down) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  const std::uint32_t n = places.members();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      const std::uint32_t other = (member + 1) % n;
      edges.push_back(
          {.channel = channel, .from = member, .to = other, .exit = member, .weight = up, .via = Via::kUp});
      edges.push_back({.channel = channel,
                       .from = other,
                       .to = member,
                       .exit = other,
                       .weight = down,
                       .via = Via::kDown});
    }
  }
  return pattern;
}

std::vector<SteadyState> nvls_steady_states(const Setting& setting,
                                            std::int64_t hops,
                                            std::uint32_t port_weight) {
  SteadyState steady;
  steady.steps = hops;
  steady.nvls_passes = 1;
  steady.share_numerator = 1;
  steady.share_denominator = setting.places.members();
  steady.port_weight = port_weight * setting.channels;
  steady.efficiency = setting.efficiency_nvls;
  return {steady};
}

Schedule nvls_schedule(Kind kind, const Places& places, std::uint32_t channels) {
  Schedule made;
  made.kind = kind;
  made.members = places.members();
  made.switches = made.members > 1 ? 1 : 0;
  made.chunks = made.members * channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t rank = 0; rank < made.members + made.switches; ++rank) {
      made.lanes.push_back({.rank = rank, .thread_block = channel, .channel = channel, .steps = {}});
    }
  }
  return made;
}

void add_switch_reduction(Lane& lane, std::uint32_t members, std::uint32_t chunk, std::uint32_t owner) {
  const ChunkRange here{.buffer = Buffer::kScratch, .offset = chunk, .count = 1};
  for (std::uint32_t member = 0; member < members; ++member) {
    const bool last = member + 1 == members;
    lane.steps.push_back({.action = member == 0 ? Action::kRecv
                                    : last      ? Action::kRecvReduceSend
                                                : Action::kRecvReduceCopy,
                          .receive_peer = member,
                          .send_peer = last ? owner : 0,
                          .source = here,
                          .destination = here});
  }
}

void add_switch_copies(Lane& lane, std::uint32_t members, std::uint32_t chunk, std::uint32_t owner) {
  const ChunkRange here{.buffer = Buffer::kScratch, .offset = chunk, .count = 1};
  lane.steps.push_back({.action = Action::kRecv, .receive_peer = owner, .source = here, .destination = here});
  for (std::uint32_t member = 0; member < members; ++member) {
    lane.steps.push_back({.action = Action::kSend, .send_peer = member, .source = here, .destination = here});
  }
}

}  // namespace stepcast::collective
