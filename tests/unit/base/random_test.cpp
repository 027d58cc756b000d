#include "base/random.hpp"

#include <array>

#include "support/catch.hpp"

using namespace stepcast;

TEST_CASE("a random stream is named by seed, purpose and object") {
  const auto first = [](std::uint64_t seed, std::string_view purpose, std::uint64_t object) {
    return RandomStream(seed, purpose, object).next();
  };
  CHECK(first(1, "ecmp", 2) == first(1, "ecmp", 2));
  CHECK(first(1, "ecmp", 2) != first(2, "ecmp", 2));
  CHECK(first(1, "ecmp", 2) != first(1, "jitter", 2));
  CHECK(first(1, "ecmp", 2) != first(1, "ecmp", 3));
}

TEST_CASE("drawing from one stream does not shift another") {
  RandomStream alone(1, "jitter");
  const std::uint64_t expected = alone.next();
  RandomStream other(1, "ecmp");
  RandomStream jitter(1, "jitter");
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(other.next());
  }
  CHECK(jitter.next() == expected);
}

TEST_CASE("bounded draws stay below the bound and reach every value about equally often") {
  // 8000 draws over 8 values: 1000 each, standard deviation sqrt(8000 * 1/8 * 7/8) = 29.6; 6 of them = 178.
  RandomStream stream(42, "test");
  std::array<int, 8> counts{};
  for (int i = 0; i < 8000; ++i) {
    const std::uint64_t value = stream.below(8);
    REQUIRE(value < 8);
    ++counts[value];
  }
  for (const int count : counts) {
    CHECK(count > 1000 - 178);
    CHECK(count < 1000 + 178);
  }
}
