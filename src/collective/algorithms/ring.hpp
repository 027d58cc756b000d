#pragma once

#include <cstdint>

#include "collective/schedule.hpp"

namespace stepcast::collective {

/// A member's view of a ring of `members` in which member r sends to r + 1: what the ring leaves share.
struct RingPlace {
  std::uint32_t members = 0;
  std::uint32_t rank = 0;

  /// The member `distance` places before this one (distance < members).
  [[nodiscard]] std::uint32_t before(std::uint32_t distance) const {
    return (rank + members - distance) % members;
  }

  /// A step of this member on one chunk, with the ring's peers.
  [[nodiscard]] Step step(Action action, Buffer from, Buffer to, std::uint32_t chunk) const {
    Step made;
    made.action = action;
    made.receive_peer = before(1);
    made.send_peer = (rank + 1) % members;
    made.source = {.buffer = from, .offset = chunk, .count = 1};
    made.destination = {.buffer = to, .offset = chunk, .count = 1};
    return made;
  }
};

}  // namespace stepcast::collective
