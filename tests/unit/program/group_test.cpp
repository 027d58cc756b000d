#include "base/error.hpp"
#include "program/program.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using program::Group;

namespace {

std::vector<std::uint32_t> indices(const Group& group) {
  std::vector<std::uint32_t> out;
  for (const RankId rank : group.ranks()) {
    out.push_back(rank.index());
  }
  return out;
}

}  // namespace

TEST_CASE("nested strides list their ranks innermost first") {
  // first 2; inner: 2, 2+1; outer: both again 8 further on.
  const Group group = Group::strided(2, {{1, 2}, {8, 2}});
  CHECK(indices(group) == std::vector<std::uint32_t>{2, 3, 10, 11});
  CHECK(group.size() == 4);
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    CHECK(group.rank(i) == group.ranks()[i]);
  }
}

TEST_CASE("a list keeps its order") {
  const Group group = Group::listed({5, 1, 3});
  CHECK(group.is_listed());
  CHECK(indices(group) == std::vector<std::uint32_t>{5, 1, 3});
  CHECK(group.rank(2) == RankId{3});
}

TEST_CASE("a list that is one stride equals that stride, and strides that continue each other are one") {
  CHECK(Group::listed({4, 12, 20}) == Group::strided(4, {{8, 3}}));
  // 0..7, eight times 8 apart, is 0..63.
  CHECK(Group::strided(0, {{1, 8}, {8, 8}}) == Group::strided(0, {{1, 64}}));
  CHECK(Group::strided(0, {{5, 1}}) == Group::listed({0}));
}

TEST_CASE("a group of 131,072 ranks in strides is small and a member past its end is a defect") {
  const Group group = Group::strided(0, {{16, 8192}, {1, 16}});
  CHECK(group.size() == 131'072);
  CHECK(group.strides().size() == 2);
  CHECK(group.rank(131'071) == RankId{16 * 8191 + 15});
  CHECK_THROWS_AS(group.rank(131'072), InternalError);
  CHECK(Group{}.ranks().empty());
}
