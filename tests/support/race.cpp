// A race between two bodies of parallel_for. scripts/sanitize thread runs it and expects to be told; with
// STEPCAST_NO_RACE each body writes only its own, and nothing may be said.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/parallel.hpp"

int main() {
  std::array<int, 2> counts{};
  std::atomic<int> arrived = 0;
  stepcast::parallel_for(2, 2, [&](std::size_t i) {
    // Each waits for the other, so that two threads take part; a relaxed count orders nothing between them.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2 && std::chrono::steady_clock::now() < give_up) {
    }
#ifdef STEPCAST_NO_RACE
    ++counts[i];
#else
    ++counts[i / 2];
#endif
  });
  return counts[0] > 0 ? 0 : 1;
}
