#pragma once

#include <cstddef>
#include <functional>

namespace stepcast {

/// Threads that independent work may use, at least 1. Results never depend on it.
[[nodiscard]] int thread_count();

/// Sets thread_count() for the calling thread; 0 = all cores. More than 256 count as 256.
void set_thread_count(std::size_t threads);

/// Runs body(0) ... body(count - 1) side by side on at most `threads` threads, in any order; the body of `i`
/// may write only what belongs to `i`. When bodies throw, the exception of the lowest `i` goes on, after all
/// have ended. Within a body, calls run one after the other.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace stepcast
