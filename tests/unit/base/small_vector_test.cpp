#include "base/small_vector.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace stepcast;

namespace {

using List = SmallVector<std::uint32_t, 2>;

List counted(std::uint32_t size) {
  List list;
  for (std::uint32_t i = 0; i < size; ++i) {
    list.push_back(i);
  }
  return list;
}

std::vector<std::uint32_t> items(const List& list) {
  return {list.begin(), list.end()};
}

}  // namespace

TEST_CASE("a short list holds what was put in, inside itself and beyond") {
  for (const std::uint32_t size : {0U, 1U, 2U, 3U, 4U, 5U, 100U}) {
    const List list = counted(size);
    CHECK(list.size() == size);
    CHECK(list.empty() == (size == 0));
    for (std::uint32_t i = 0; i < size; ++i) {
      CHECK(list[i] == i);
    }
  }
}

TEST_CASE("copies of a short list are lists of their own, and a moved one is empty and usable") {
  for (const std::uint32_t size : {0U, 2U, 9U}) {
    List list = counted(size);
    List copy = list;
    copy.push_back(77);
    CHECK(items(list) == items(counted(size)));
    list = copy;
    CHECK(items(list) == items(copy));
    const List moved = std::move(list);
    CHECK(items(moved) == items(copy));
    list = counted(1);
    CHECK(items(list) == std::vector<std::uint32_t>{0});
    copy = std::move(list);
    CHECK(items(copy) == std::vector<std::uint32_t>{0});
  }
}

TEST_CASE("a short list loses items from its front, keeps its room when cleared, and takes its own items") {
  List list = counted(5);
  list.drop_front(2);
  CHECK(items(list) == std::vector<std::uint32_t>{2, 3, 4});
  list.drop_front(3);
  CHECK(list.empty());
  list = counted(2);
  list.push_back(list.front());  // the list grows while its item is read
  CHECK(items(list) == std::vector<std::uint32_t>{0, 1, 0});
  list.clear();
  list.push_back(9);
  CHECK(items(list) == std::vector<std::uint32_t>{9});
}
