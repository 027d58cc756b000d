#include "base/parallel.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include <omp.h>

namespace stepcast {
namespace {

constexpr std::size_t kMostThreads = 256;  // beyond it starting them costs more than they give

}  // namespace

int thread_count() {
  return static_cast<int>(std::min(static_cast<std::size_t>(omp_get_max_threads()), kMostThreads));
}

void set_thread_count(std::size_t threads) {
  const std::size_t wanted = threads == 0 ? static_cast<std::size_t>(omp_get_num_procs()) : threads;
  omp_set_num_threads(static_cast<int>(std::min(wanted, kMostThreads)));
}

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  std::vector<std::exception_ptr> errors(count);  // an exception must not leave the region
  const std::size_t useful = std::min({static_cast<std::size_t>(std::max(threads, 1)), count, kMostThreads});
  const auto run = [&](std::size_t i) {
    try {
      body(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  if (useful < 2) {
    for (std::size_t i = 0; i < count; ++i) {
      run(i);
    }
  } else {
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(useful))
    for (std::size_t i = 0; i < count; ++i) {
      run(i);
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace stepcast
