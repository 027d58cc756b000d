#include "collective/algorithms/levels.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace stepcast::collective {
namespace {

Step level_step(const LevelRing& ring, Action action, std::uint32_t piece) {
  const auto size = static_cast<std::uint32_t>(ring.order.size());
  const ChunkRange range{
      .buffer = Buffer::kOutput, .offset = ring.first + piece * ring.count, .count = ring.count};
  return {.action = action,
          .receive_peer = ring.order[(ring.position + size - 1) % size],
          .send_peer = ring.order[(ring.position + 1) % size],
          .source = range,
          .destination = range};
}

}  // namespace

void add_level_reduce_scatter(Lane& lane, const LevelRing& ring) {
  const auto size = static_cast<std::uint32_t>(ring.order.size());
  const auto before = [&](std::uint32_t distance) { return (ring.position + size - distance) % size; };
  if (size == 1) {
    return;
  }
  lane.steps.push_back(level_step(ring, Action::kSend, before(1)));
  for (std::uint32_t distance = 2; distance < size; ++distance) {
    lane.steps.push_back(level_step(ring, Action::kRecvReduceSend, before(distance)));
  }
  lane.steps.push_back(level_step(ring, Action::kRecvReduceCopy, ring.position));
}

void add_level_all_gather(Lane& lane, const LevelRing& ring) {
  const auto size = static_cast<std::uint32_t>(ring.order.size());
  const auto before = [&](std::uint32_t distance) { return (ring.position + size - distance) % size; };
  if (size == 1) {
    return;
  }
  lane.steps.push_back(level_step(ring, Action::kSend, ring.position));
  for (std::uint32_t distance = 1; distance + 1 < size; ++distance) {
    lane.steps.push_back(level_step(ring, Action::kRecvCopySend, before(distance)));
  }
  lane.steps.push_back(level_step(ring, Action::kRecv, before(size - 1)));
}

std::vector<std::uint32_t> near_factors(std::uint32_t n, std::uint32_t parts) {
  std::vector<std::uint32_t> factors;
  for (std::uint32_t left = parts; left > 1; --left) {
    // The largest divisor that is not above the root of what is left: the others are at least as large.
    auto factor = static_cast<std::uint32_t>(std::floor(std::pow(n, 1.0 / left) + 1e-9));
    while (n % factor != 0) {
      --factor;
    }
    factors.push_back(factor);
    n /= factor;
  }
  factors.push_back(n);
  factors.erase(std::remove(factors.begin(), factors.end(), 1U), factors.end());
  std::sort(factors.begin(), factors.end(), std::greater<>());
  return factors;
}

}  // namespace stepcast::collective
