#include "base/parallel.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace stepcast;

TEST_CASE("every index runs once, whatever the number of threads") {
  for (const int threads : {0, 1, 2, 7, 100'000}) {
    std::vector<int> runs(100, 0);
    parallel_for(runs.size(), threads, [&](std::size_t i) { ++runs[i]; });
    CHECK(runs == std::vector<int>(100, 1));
  }
  parallel_for(0, 2, [](std::size_t) { FAIL("there is nothing to run"); });
}

TEST_CASE("the exception of the lowest index goes on, after all have run") {
  for (const int threads : {1, 2}) {
    std::vector<int> runs(20, 0);
    std::string caught;
    try {
      parallel_for(runs.size(), threads, [&](std::size_t i) {
        ++runs[i];
        if (i % 7 == 5) {  // 5, 12, 19
          throw std::runtime_error(std::to_string(i));
        }
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught == "5");
    CHECK(runs == std::vector<int>(20, 1));
  }
}

TEST_CASE("calls within a body give the same") {
  std::vector<std::vector<int>> runs(4, std::vector<int>(4, 0));
  parallel_for(4, 2, [&](std::size_t i) { parallel_for(4, 2, [&](std::size_t j) { ++runs[i][j]; }); });
  CHECK(runs == std::vector<std::vector<int>>(4, std::vector<int>(4, 1)));
}

TEST_CASE("the number of threads can be set, and is at least one") {
  const int before = thread_count();
  CHECK(before >= 1);
  set_thread_count(3);
  CHECK(thread_count() == 3);
  set_thread_count(1'000'000);
  CHECK(thread_count() == 256);
  set_thread_count(static_cast<std::size_t>(before));
}
