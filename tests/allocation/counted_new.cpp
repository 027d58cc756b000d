#include "allocation/counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

// operator new that counts. Apart from its callers, so that no compiler pairs what it inlines.

namespace {
std::atomic<std::uint64_t> count{0};
}  // namespace

std::uint64_t stepcast::test::allocations() {
  return count;
}

void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size > 0 ? size : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
