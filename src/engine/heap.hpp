#pragma once

#include <cstddef>
#include <vector>

namespace stepcast::engine {

/// Children per node of every heap here; measured in tests/bench (README.md).
inline constexpr std::size_t kHeapArity = 4;

/// Puts `item` where it belongs on the way from `slot` to the root; `slot` is free. `before(a, b)`
/// orders items; `moved(item, slot)` hears where every item lands.
template <std::size_t Arity = kHeapArity, class Item, class Before, class Moved>
void heap_rise(std::vector<Item>& heap, std::size_t slot, const Item item, Before before, Moved moved) {
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / Arity;
    if (!before(item, heap[parent])) {
      break;
    }
    heap[slot] = heap[parent];
    moved(heap[slot], slot);
    slot = parent;
  }
  heap[slot] = item;
  moved(item, slot);
}

/// Puts `item` where it belongs on the way from `slot` to the leaves; `slot` is free.
template <std::size_t Arity = kHeapArity, class Item, class Before, class Moved>
void heap_sink(std::vector<Item>& heap, std::size_t slot, const Item item, Before before, Moved moved) {
  const std::size_t size = heap.size();
  for (;;) {
    const std::size_t first = slot * Arity + 1;
    if (first >= size) {
      break;
    }
    const std::size_t end = first + Arity < size ? first + Arity : size;
    std::size_t lowest = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      lowest = before(heap[child], heap[lowest]) ? child : lowest;
    }
    if (!before(heap[lowest], item)) {
      break;
    }
    heap[slot] = heap[lowest];
    moved(heap[slot], slot);
    slot = lowest;
  }
  heap[slot] = item;
  moved(item, slot);
}

}  // namespace stepcast::engine
