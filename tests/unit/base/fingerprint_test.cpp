#include "base/fingerprint.hpp"

#include "support/catch.hpp"

using namespace stepcast;

TEST_CASE("the mixer is splitmix64") {
  // First output of Vigna's splitmix64.c for state 0 (the state is advanced, then finalised).
  CHECK(mix(0, 0) == 0xe220a8397b1dcdafULL);
}

TEST_CASE("a fingerprint does not depend on the order of operations") {
  Fingerprint forwards;
  forwards.add(mix(0, 1), 1);
  forwards.add(mix(0, 2), 1);
  Fingerprint backwards;
  backwards.add(mix(0, 2), 1);
  backwards.add(mix(0, 1), 1);
  CHECK(forwards.value() == backwards.value());
  CHECK(forwards.value() != Fingerprint().value());
}

TEST_CASE("one operation of multiplicity three equals three operations, wrapped modulo 2^64") {
  Fingerprint folded;
  folded.add(0xffff'ffff'ffff'fff0ULL, 3);
  Fingerprint unfolded;
  for (int i = 0; i < 3; ++i) {
    unfolded.add(0xffff'ffff'ffff'fff0ULL, 1);
  }
  CHECK(folded.value() == unfolded.value());
  CHECK(folded.value() == 0xffff'ffff'ffff'ffd0ULL);  // 3 * (2^64 - 16) = -48 mod 2^64
}
