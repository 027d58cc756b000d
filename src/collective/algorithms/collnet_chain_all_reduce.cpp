// CollNet chain all-reduce: chains inside hosts, sums in the switches of the fabric.
//
// Scope:        several hosts behind switches that reduce (SHARP).
// Assumes:      all links are busy at the same time; as many reduction trees as equal paths share the load.
// Not covered:  setting up trees, limits of single messages inside a call.
// Source:       Graham et al. (SHARP), COM-HPC 2016; NCCL src/transport/coll_net.cc, src/device/all_reduce.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/collnet.hpp"

namespace stepcast::collective {
namespace {

/// The chain of a channel through a host, from its head on.
std::vector<std::uint32_t> chain(const Places& places, std::uint32_t host, std::uint32_t channel) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < places.hosts()[host].size(); ++i) {
    members.push_back(places.at(host, rail_of(places, channel) + i));
  }
  return members;
}

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = places.members();
  made.switches = 1;
  made.chunks = channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t host = 0; host < places.host_count(); ++host) {
      const std::vector<std::uint32_t> members = chain(places, host, channel);
      for (std::size_t i = 0; i < members.size(); ++i) {
        Lane lane{.rank = members[i], .thread_block = channel, .channel = channel};
        std::vector<std::uint32_t> below;
        if (i + 1 < members.size()) {
          below.push_back(members[i + 1]);
        }
        // A head sends to the switches what it has added up, and its sum comes from there.
        add_reduce_steps(lane, below,
                         i == 0 && below.empty() ? Tree::kNone
                         : i == 0                ? made.members
                                                 : members[i - 1],
                         channel);
        if (i == 0 && below.empty()) {
          add_head_steps(lane, made.members, Buffer::kInput);
        } else {
          add_broadcast_steps(lane, i == 0 ? made.members : members[i - 1], below, channel);
        }
        made.lanes.push_back(std::move(lane));
      }
    }
    made.lanes.push_back(switch_lane(places, channel));
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  std::vector<Edge>& edges = made.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t host = 0; host < places.host_count(); ++host) {
      const std::vector<std::uint32_t> members = chain(places, host, channel);
      for (std::size_t i = 1; i < members.size(); ++i) {
        edges.push_back({.channel = channel, .from = members[i], .to = members[i - 1], .exit = members[i]});
        edges.push_back(
            {.channel = channel, .from = members[i - 1], .to = members[i], .exit = members[i - 1]});
      }
    }
    add_switch_edges(edges, places, channel);
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  SteadyState steady;
  steady.network_steps = 2;
  steady.steps = 2 * std::int64_t{setting.places.largest_host() - 1} + steady.network_steps;
  steady.share_numerator = 1;
  steady.port_weight = 2 * setting.channels;
  return {steady};
}

double messages(const Places& places, std::uint32_t channels) {
  return 2.0 * places.members() * channels;
}

}  // namespace

Algorithm collnet_chain_all_reduce_algorithm() {
  return {.name = "collnet_chain_all_reduce",
          .family = "collnet_chain",
          .summary = "chains inside hosts, sums in the fabric switches",
          .kind = Kind::kAllReduce,
          .scope = "several hosts behind switches that reduce (\"sharp\" of the cluster)",
          .source = "Graham et al. (SHARP), COM-HPC 2016; NCCL src/transport/coll_net.cc",
          .limits = "trees and bytes of a call as the cluster says; links between switches carry one copy",
          .schedule = &schedule,
          .channels = &collnet_channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &collnet_fits,
          .available = &collnet_available,
          .simple_only = true,
          .reduces_in_fabric = true};
}

}  // namespace stepcast::collective
