// CollNet direct all-reduce: members give each head its share, sums in the switches of the fabric.
//
// Scope:        several hosts behind switches that reduce (SHARP).
// Assumes:      all links are busy at the same time; as many reduction trees as equal paths share the load.
// Not covered:  setting up trees, limits of single messages inside a call.
// Source:       Graham et al. (SHARP), COM-HPC 2016; NCCL src/transport/coll_net.cc, src/device/all_reduce.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/collnet.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = places.members();
  made.switches = 1;
  made.chunks = channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (const std::vector<std::uint32_t>& host : places.hosts()) {
      const std::uint32_t head = places.at(places.host_of(host[0]), rail_of(places, channel));
      std::vector<std::uint32_t> others;
      for (const std::uint32_t member : host) {
        if (member != head) {
          others.push_back(member);
          Lane lane{.rank = member, .thread_block = channel, .channel = channel};
          add_reduce_steps(lane, {}, head, channel);
          add_broadcast_steps(lane, head, {}, channel);
          made.lanes.push_back(std::move(lane));
        }
      }
      Lane lane{.rank = head, .thread_block = channel, .channel = channel};
      if (others.empty()) {
        add_head_steps(lane, made.members, Buffer::kInput);
      } else {
        add_reduce_steps(lane, others, made.members, channel);
        add_broadcast_steps(lane, made.members, others, channel);
      }
      made.lanes.push_back(std::move(lane));
    }
    made.lanes.push_back(switch_lane(places, channel));
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Pattern made;
  std::vector<Edge>& edges = made.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (const std::vector<std::uint32_t>& host : places.hosts()) {
      const std::uint32_t head = places.at(places.host_of(host[0]), rail_of(places, channel));
      for (const std::uint32_t member : host) {
        if (member != head) {
          edges.push_back({.channel = channel, .from = member, .to = head, .exit = member});
          edges.push_back({.channel = channel, .from = head, .to = member, .exit = head});
        }
      }
    }
    add_switch_edges(edges, places, channel);
  }
  return made;
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  SteadyState steady;
  steady.network_steps = 2;
  steady.steps = (setting.places.largest_host() > 1 ? 2 : 0) + steady.network_steps;
  steady.share_numerator = 1;
  steady.port_weight = 2 * setting.places.largest_host();
  return {steady};
}

double messages(const Places& places, std::uint32_t channels) {
  return 2.0 * places.members() * channels;
}

}  // namespace

Algorithm collnet_direct_all_reduce_algorithm() {
  return {.name = "collnet_direct_all_reduce",
          .family = "collnet_direct",
          .summary = "each member gathers a share of its host; sums in the fabric switches",
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
