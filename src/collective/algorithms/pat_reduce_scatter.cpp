// PAT reduce-scatter: every part goes up a binomial tree rooted at its owner, far hops last.
//
// Scope:        one member on each host.
// Assumes:      the trees of all parts are busy at the same time.
// Not covered:  the limited staging space, which makes the real algorithm walk its trees in pieces.
// Source:       Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
//               2506.20252, 2025; NCCL 2.23 src/device/reduce_scatter.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/pat.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kReduceScatter;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  const std::vector<std::uint32_t> distances = power_distances(n);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      const auto chunk = [&](std::uint32_t place) { return (member + n - place) % n * channels + channel; };
      for (const std::uint32_t distance : distances) {
        const std::uint32_t after = (member + distance) % n;
        const std::uint32_t before = (member + n - distance) % n;
        const std::vector<std::uint32_t> holders = pat_holders(n, distance);
        for (const std::uint32_t place : holders) {
          lane.steps.push_back(chunk_step(Action::kSend, 0, before, Buffer::kInput, chunk(place + distance)));
        }
        for (const std::uint32_t place : holders) {
          lane.steps.push_back(chunk_step(Action::kRecvReduceCopy, after, 0, Buffer::kInput, chunk(place)));
        }
      }
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return pat_pattern(places, channels, false);
}

}  // namespace

Algorithm pat_reduce_scatter_algorithm() {
  return {.name = "pat_reduce_scatter",
          .family = "pat",
          .summary = "a binomial tree for every part: a logarithm of hops",
          .kind = Kind::kReduceScatter,
          .scope = "one member on each host, as NCCL by default",
          .source = "Jeaugey, arXiv 2506.20252, 2025; NCCL 2.23",
          .limits = "unlimited staging space: every tree is walked at once",
          .schedule = &schedule,
          .channels = &pat_channels,
          .pattern = &pattern,
          .steady_states = &pat_steady_states,
          .messages = &pat_messages,
          .fits = &pat_fits,
          .simple_only = true};
}

}  // namespace stepcast::collective
