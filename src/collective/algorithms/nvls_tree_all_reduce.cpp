// NVLS tree all-reduce: NVLink switches add and multicast inside hosts, binary trees join the hosts.
//
// Scope:        several hosts with equal numbers of members, at least two, and NVLink SHARP.
// Assumes:      all links are busy at the same time; the efficiency of NVLS holds for the trees as well.
// Not covered:  single chunks; the time follows a fitted curve (README.md).
// Source:       NCCL src/transport/nvls.cc, src/device/all_reduce.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/nvls.hpp"
#include "collective/algorithms/tree.hpp"

namespace stepcast::collective {
namespace {

/// Channels as those of trees: half of the part of each rail on each of two binary trees.
struct Heads {
  const Places& places;
  std::uint32_t channel = 0;
  Tree tree = binary_tree(places.host_count(), second_tree(places, channel));

  [[nodiscard]] std::uint32_t of(std::uint32_t host) const {
    return places.at(host, rail_of(places, channel));
  }
  [[nodiscard]] std::uint32_t above(std::uint32_t host) const {
    return tree.parent[host] == Tree::kNone ? Tree::kNone : of(tree.parent[host]);
  }
  [[nodiscard]] std::vector<std::uint32_t> below(std::uint32_t host) const {
    std::vector<std::uint32_t> heads;
    for (const std::uint32_t child : tree.children[host]) {
      heads.push_back(of(child));
    }
    return heads;
  }
};

void add_host_lanes(Schedule& made, const Heads& heads, std::uint32_t host) {
  const std::uint32_t channel = heads.channel;
  const std::uint32_t nvswitch = made.members + host;
  const std::vector<std::uint32_t>& members = heads.places.hosts()[host];
  const ChunkRange in{.buffer = Buffer::kInput, .offset = channel, .count = 1};
  const ChunkRange out{.buffer = Buffer::kOutput, .offset = channel, .count = 1};
  const ChunkRange here{.buffer = Buffer::kScratch, .offset = channel, .count = 1};
  const auto add = [](Lane& lane, Action action, std::uint32_t from, std::uint32_t to,
                      const ChunkRange& chunk) {
    lane.steps.push_back(
        {.action = action, .receive_peer = from, .send_peer = to, .source = chunk, .destination = chunk});
  };
  Lane middle{.rank = nvswitch, .thread_block = channel, .channel = channel};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool last = i + 1 == members.size();
    add(middle,
        i == 0 ? Action::kRecv
        : last ? Action::kRecvReduceSend
               : Action::kRecvReduceCopy,
        members[i], last ? heads.of(host) : 0, here);
  }
  add(middle, Action::kRecv, heads.of(host), 0, here);
  for (const std::uint32_t member : members) {
    add(middle, Action::kSend, 0, member, here);
    Lane lane{.rank = member, .thread_block = channel, .channel = channel};
    add(lane, Action::kSend, 0, nvswitch, in);
    if (member == heads.of(host)) {
      // The sum of the host comes first; then up the tree, down the tree, and back to the switch.
      add(lane, Action::kRecv, nvswitch, 0, out);
      const std::vector<std::uint32_t> below = heads.below(host);
      for (const std::uint32_t child : below) {
        add(lane, Action::kRecvReduceCopy, child, 0, out);
      }
      if (const std::uint32_t above = heads.above(host); above != Tree::kNone) {
        add(lane, Action::kSend, 0, above, out);
        add(lane, Action::kRecv, above, 0, out);
      }
      for (const std::uint32_t child : below) {
        add(lane, Action::kSend, 0, child, out);
      }
      add(lane, Action::kSend, 0, nvswitch, out);
    }
    add(lane, Action::kRecv, nvswitch, 0, out);
    made.lanes.push_back(std::move(lane));
  }
  made.lanes.push_back(std::move(middle));
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = places.members();
  made.chunks = channels;
  made.channels = channels;
  if (made.members == 1) {
    return made;
  }
  made.switches = places.host_count();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Heads heads{.places = places, .channel = channel};
    for (std::uint32_t host = 0; host < places.host_count(); ++host) {
      add_host_lanes(made, heads, host);
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  std::vector<Edge>& edges = made.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Heads heads{.places = places, .channel = channel};
    for (std::uint32_t host = 0; host < places.host_count(); ++host) {
      const std::vector<std::uint32_t>& members = places.hosts()[host];
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t member = members[i];
        const std::uint32_t other = members[(i + 1) % members.size()];
        // The head gives its own data and the sum, and gets its host's sum and the whole one.
        const std::uint32_t weight = member == heads.of(host) ? 2 : 1;
        edges.push_back({.channel = channel,
                         .from = member,
                         .to = other,
                         .exit = member,
                         .weight = weight,
                         .via = Via::kUp});
        edges.push_back({.channel = channel,
                         .from = other,
                         .to = member,
                         .exit = other,
                         .weight = weight,
                         .via = Via::kDown});
      }
      if (const std::uint32_t above = heads.above(host); above != Tree::kNone) {
        edges.push_back({.channel = channel, .from = heads.of(host), .to = above, .exit = heads.of(host)});
        edges.push_back({.channel = channel, .from = above, .to = heads.of(host), .exit = above});
      }
    }
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  SteadyState steady;
  steady.network_steps = 2 * std::int64_t{host_tree_depth(setting.places)};
  steady.steps = 2 + steady.network_steps;
  steady.share_numerator = 1;
  steady.nvls_passes = 2;  // up in the hosts and down again are apart, with the trees between
  steady.port_weight = setting.channels + 2;
  steady.efficiency = setting.efficiency_nvls;
  return {steady};
}

double messages(const Places& places, std::uint32_t channels) {
  return 2.0 * channels * (places.members() + 2.0 * places.host_count() - 1);
}

std::string fits(const Places& places) {
  return places.host_count() > 1 && places.equal() && places.largest_host() > 1
             ? std::string()
             : "it needs several hosts with equal numbers of members, at least two";
}

}  // namespace

Algorithm nvls_tree_all_reduce_algorithm() {
  return {.name = "nvls_tree_all_reduce",
          .family = "nvls_tree",
          .summary = "sums and copies in NVLink switches, binary trees between hosts",
          .kind = Kind::kAllReduce,
          .scope = "several hosts with equal numbers of members and NVLink SHARP (Hopper or later)",
          .source = "NCCL src/transport/nvls.cc; bytes: S(g+1)/g each way per GPU, up to 2S per host on NICs",
          .limits = "the efficiency of NVLS holds for the trees as well; time by a fitted curve",
          .schedule = &schedule,
          .channels = &tree_channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &fits,
          .available = &nvls_available,
          .simple_only = true};
}

}  // namespace stepcast::collective
