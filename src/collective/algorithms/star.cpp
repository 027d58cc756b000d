#include "collective/algorithms/star.hpp"

namespace stepcast::collective {

Schedule star_schedule(Kind kind, const Places& places, std::uint32_t channels, std::uint32_t root) {
  const std::uint32_t n = places.members();
  const bool scatters = kind == Kind::kScatter;
  Schedule made;
  made.kind = kind;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  made.root = root;
  const Buffer large = scatters ? Buffer::kInput : Buffer::kOutput;
  const Buffer small = scatters ? Buffer::kOutput : Buffer::kInput;
  std::uint32_t block = 0;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < n; ++member) {
      if (member == root) {
        continue;
      }
      const ChunkRange at_root{.buffer = large, .offset = member * channels + channel, .count = 1};
      const ChunkRange at_member{.buffer = small, .offset = channel, .count = 1};
      const std::uint32_t from = scatters ? root : member;
      const std::uint32_t to = scatters ? member : root;
      const ChunkRange& sent = scatters ? at_root : at_member;
      const ChunkRange& kept = scatters ? at_member : at_root;
      made.lanes.push_back(
          {.rank = from,
           .thread_block = block++,
           .channel = channel,
           .steps = {{.action = Action::kSend, .send_peer = to, .source = sent, .destination = sent}}});
      made.lanes.push_back(
          {.rank = to,
           .thread_block = block++,
           .channel = channel,
           .steps = {{.action = Action::kRecv, .receive_peer = from, .source = kept, .destination = kept}}});
    }
  }
  return made;
}

Pattern star_pattern(const Places& places, std::uint32_t channels, std::uint32_t root, bool from_root) {
  Pattern pattern;
  std::vector<Edge>& edges = pattern.phases.emplace_back();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t member = 0; member < places.members(); ++member) {
      if (member != root) {
        const std::uint32_t from = from_root ? root : member;
        edges.push_back({.channel = channel, .from = from, .to = from_root ? member : root, .exit = from});
      }
    }
  }
  return pattern;
}

std::vector<SteadyState> star_steady_states(const Setting& setting) {
  const Places& places = setting.places;
  SteadyState steady;
  steady.steps = concurrent_rounds(setting);
  steady.network_steps = places.host_count() > 1 ? steady.steps : 0;
  steady.share_numerator = 1;
  steady.share_denominator = places.members();
  steady.port_weight = (places.members() - 1) * setting.channels;
  return {steady};
}

double star_messages(const Places& places, std::uint32_t channels) {
  return (places.members() - 1.0) * channels;
}

}  // namespace stepcast::collective
