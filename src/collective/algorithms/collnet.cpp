#include "collective/algorithms/collnet.hpp"

namespace stepcast::collective {

std::string collnet_available(const topology::Cluster& cluster) {
  return cluster.sharp ? std::string()
                       : "the switches of this cluster do not reduce (add \"sharp\" to the cluster file)";
}

std::string collnet_fits(const Places& places) {
  return places.host_count() > 1 ? std::string()
                                 : "the group is on one host, so no fabric switch is on the way";
}

std::uint32_t collnet_channels(const Places& places) {
  return places.rails();
}

void add_switch_edges(std::vector<Edge>& edges, const Places& places, std::uint32_t channel) {
  const auto head = [&](std::uint32_t host) { return places.at(host, rail_of(places, channel)); };
  const auto add = [&](std::uint32_t from, std::uint32_t to, Via via) {
    edges.push_back({.channel = channel, .from = from, .to = to, .exit = from, .weight = 1, .via = via});
  };
  for (std::uint32_t host = 0; host < places.host_count(); ++host) {
    const std::uint32_t other = head(host == 0 ? 1 : 0);
    add(head(host), other, Via::kUp);
    add(other, head(host), Via::kDown);
    add(head(host), other, Via::kTree);
    add(other, head(host), Via::kTree);
  }
}

Lane switch_lane(const Places& places, std::uint32_t channel) {
  Lane lane{.rank = places.members(), .thread_block = channel, .channel = channel};
  const ChunkRange here{.buffer = Buffer::kScratch, .offset = channel, .count = 1};
  for (std::uint32_t host = 0; host < places.host_count(); ++host) {
    lane.steps.push_back({.action = host == 0 ? Action::kRecv : Action::kRecvReduceCopy,
                          .receive_peer = places.at(host, rail_of(places, channel)),
                          .source = here,
                          .destination = here});
  }
  for (std::uint32_t host = 0; host < places.host_count(); ++host) {
    lane.steps.push_back({.action = Action::kSend,
                          .send_peer = places.at(host, rail_of(places, channel)),
                          .source = here,
                          .destination = here});
  }
  return lane;
}

void add_head_steps(Lane& lane, std::uint32_t members, Buffer source) {
  const ChunkRange sent{.buffer = source, .offset = lane.channel, .count = 1};
  const ChunkRange got{.buffer = Buffer::kOutput, .offset = lane.channel, .count = 1};
  lane.steps.push_back({.action = Action::kSend, .send_peer = members, .source = sent, .destination = sent});
  lane.steps.push_back({.action = Action::kRecv, .receive_peer = members, .source = got, .destination = got});
}

}  // namespace stepcast::collective
