#include "collective/algorithms/tree.hpp"

#include <algorithm>

namespace stepcast::collective {
namespace {

/// Parent of a place in the binary tree whose leaves are the odd places and whose root is 0: a place with
/// lowest set bit b hangs under the place with that bit cleared and the next set, or cleared alone.
std::uint32_t parent_in_order(std::uint32_t place, std::uint32_t count) {
  if (place == 0) {
    return Tree::kNone;
  }
  const std::uint32_t bit = place & (~place + 1);
  const std::uint32_t above = (place ^ bit) | (bit << 1U);
  return above < count ? above : place ^ bit;
}

}  // namespace

std::uint32_t Tree::depth() const {
  std::uint32_t deepest = 0;
  for (std::uint32_t place = 0; place < parent.size(); ++place) {
    std::uint32_t hops = 0;
    for (std::uint32_t at = place; parent[at] != kNone; at = parent[at]) {
      ++hops;
    }
    deepest = std::max(deepest, hops);
  }
  return deepest;
}

Tree binary_tree(std::uint32_t count, bool second) {
  // The second tree is the first in mirrored places, or with an odd number of them shifted by one: inner
  // places become leaves.
  const auto mapped = [&](std::uint32_t place) {
    return !second ? place : count % 2 == 0 ? count - 1 - place : (place + 1) % count;
  };
  Tree tree;
  tree.parent.assign(count, Tree::kNone);
  tree.children.resize(count);
  for (std::uint32_t place = 0; place < count; ++place) {
    const std::uint32_t above = parent_in_order(place, count);
    if (above != Tree::kNone) {
      tree.parent[mapped(place)] = mapped(above);
      tree.children[mapped(above)].push_back(mapped(place));
    }
  }
  return tree;
}

std::uint32_t rail_of(const Places& places, std::uint32_t channel) {
  return channel % places.rails();
}

bool second_tree(const Places& places, std::uint32_t channel) {
  return (channel / places.rails()) % 2 == 1;
}

std::uint32_t tree_channels(const Places& places) {
  return 2 * places.rails();
}

std::uint32_t host_tree_depth(const Places& places) {
  return std::max(binary_tree(places.host_count(), false).depth(),
                  binary_tree(places.host_count(), true).depth());
}

Tree member_tree(const Places& places, std::uint32_t channel) {
  const Tree hosts = binary_tree(places.host_count(), second_tree(places, channel));
  const std::uint32_t rail = rail_of(places, channel);
  Tree tree;
  tree.parent.assign(places.members(), Tree::kNone);
  tree.children.resize(places.members());
  const auto hang = [&](std::uint32_t member, std::uint32_t under) {
    tree.parent[member] = under;
    tree.children[under].push_back(member);
  };
  for (std::uint32_t host = 0; host < places.host_count(); ++host) {
    if (hosts.parent[host] != Tree::kNone) {
      hang(places.at(host, rail), places.at(hosts.parent[host], rail));
    }
    const auto members = static_cast<std::uint32_t>(places.hosts()[host].size());
    for (std::uint32_t i = 1; i < members; ++i) {
      hang(places.at(host, rail + i), places.at(host, rail + i - 1));
    }
  }
  return tree;
}

void add_reduce_steps(Lane& lane,
                      const std::vector<std::uint32_t>& children,
                      std::uint32_t up,
                      std::uint32_t chunk) {
  const ChunkRange in{.buffer = Buffer::kInput, .offset = chunk, .count = 1};
  const ChunkRange out{.buffer = Buffer::kOutput, .offset = chunk, .count = 1};
  if (children.empty() && up != Tree::kNone) {
    lane.steps.push_back({.action = Action::kSend, .send_peer = up, .source = in, .destination = in});
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    const bool forwards = i + 1 == children.size() && up != Tree::kNone;
    lane.steps.push_back({.action = forwards ? Action::kRecvReduceSend : Action::kRecvReduceCopy,
                          .receive_peer = children[i],
                          .send_peer = forwards ? up : 0,
                          .source = i == 0 ? in : out,
                          .destination = out});
  }
}

void add_broadcast_steps(Lane& lane,
                         std::uint32_t up,
                         const std::vector<std::uint32_t>& children,
                         std::uint32_t chunk) {
  const ChunkRange out{.buffer = Buffer::kOutput, .offset = chunk, .count = 1};
  if (up != Tree::kNone) {
    lane.steps.push_back({.action = children.empty() ? Action::kRecv : Action::kRecvCopySend,
                          .receive_peer = up,
                          .send_peer = children.empty() ? 0 : children[0],
                          .source = out,
                          .destination = out});
  }
  for (std::size_t i = up == Tree::kNone ? 0 : 1; i < children.size(); ++i) {
    lane.steps.push_back(
        {.action = Action::kSend, .send_peer = children[i], .source = out, .destination = out});
  }
}

Schedule tree_schedule(Kind kind, const Places& places, std::uint32_t channels) {
  Schedule made;
  made.kind = kind;
  made.members = places.members();
  made.chunks = channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Tree tree = member_tree(places, channel);
    for (std::uint32_t member = 0; member < made.members; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel, .steps = {}};
      add_reduce_steps(lane, tree.children[member], tree.parent[member], channel);
      add_broadcast_steps(lane, tree.parent[member], tree.children[member], channel);
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

Pattern tree_pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Tree tree = member_tree(places, channel);
    for (std::uint32_t member = 0; member < places.members(); ++member) {
      if (const std::uint32_t up = tree.parent[member]; up != Tree::kNone) {
        edges.push_back({.channel = channel, .from = member, .to = up, .exit = member});
        edges.push_back({.channel = channel, .from = up, .to = member, .exit = up});
      }
    }
  }
  return pattern;
}

std::vector<SteadyState> tree_steady_states(const Setting& setting) {
  SteadyState steady;
  steady.network_steps = 2 * std::int64_t{host_tree_depth(setting.places)};
  steady.steps = 2 * std::int64_t{setting.places.largest_host() - 1} + steady.network_steps;
  steady.share_numerator = 1;
  steady.port_weight = 2 * setting.channels;
  return {steady};
}

double tree_messages(const Places& places, std::uint32_t channels) {
  return 2 * (places.members() - 1.0) * channels;
}

}  // namespace stepcast::collective
