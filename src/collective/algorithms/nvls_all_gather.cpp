// All-gather in the NVLink switches: each member multicasts its part.
//
// Scope:        members of one NVLink domain whose switches reduce; float types, as NCCL.
// Assumes:      all links to the switches are busy at the same time; a hop is up and down.
// Not covered:  single chunks; the time follows a fitted curve (README.md).
// Source:       NCCL src/transport/nvls.cc, src/device/all_gather.h.
// Validated by: tests/property/schedule_property_test.cpp, tests/unit/collective/truths_test.cpp.
#include "collective/algorithms/nvls.hpp"

namespace stepcast::collective {
namespace {

Schedule schedule(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  Schedule made = nvls_schedule(Kind::kAllGather, places, channels);
  const std::uint32_t n = made.members;
  if (n == 1) {
    return made;
  }
  for (Lane& lane : made.lanes) {
    const auto chunk = [&](std::uint32_t owner) { return owner * channels + lane.channel; };
    const auto at = [&](Buffer buffer, std::uint32_t offset) {
      return ChunkRange{.buffer = buffer, .offset = offset, .count = 1};
    };
    if (lane.rank == n) {
      for (std::uint32_t owner = 0; owner < n; ++owner) {
        add_switch_copies(lane, n, chunk(owner), owner);
      }
      continue;
    }
    const ChunkRange own = at(Buffer::kOutput, chunk(lane.rank));
    lane.steps.push_back({.action = Action::kSend, .send_peer = n, .source = own, .destination = own});
    for (std::uint32_t owner = 0; owner < n; ++owner) {
      const ChunkRange out = at(Buffer::kOutput, chunk(owner));
      lane.steps.push_back({.action = Action::kRecv, .receive_peer = n, .source = out, .destination = out});
    }
  }
  return made;
}

Pattern pattern(const Places& places, std::uint32_t channels, std::uint32_t /*root*/) {
  return nvls_pattern(places, channels, 1, places.members());
}

std::vector<SteadyState> steady_states(const Setting& setting) {
  return nvls_steady_states(setting, 1, setting.places.members());
}

double messages(const Places& places, std::uint32_t channels) {
  return (places.members() + 1.0) * places.members() * channels;
}

}  // namespace

Algorithm nvls_all_gather_algorithm() {
  return {.name = "nvls_all_gather",
          .family = "nvls",
          .summary = "the NVLink switch multicasts every part",
          .kind = Kind::kAllGather,
          .scope = "members of one NVLink domain with NVLink SHARP (Hopper or later, NVLink switches)",
          .source = "NCCL src/transport/nvls.cc; bytes: S/n up and S down per GPU",
          .limits = "types and reductions of NCCL's NVLS alone; time by a fitted curve",
          .schedule = &schedule,
          .channels = &nvls_channels,
          .pattern = &pattern,
          .steady_states = &steady_states,
          .messages = &messages,
          .fits = &nvls_fits,
          .available = &nvls_available,
          .simple_only = true};
}

}  // namespace stepcast::collective
