#include "base/units.hpp"

#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::literals;

TEST_CASE("a transfer time is rounded up to the next picosecond") {
  // 1 byte at 3 b/s: 8/3 s = 2.666... s = 2,666,666,666,666.67 ps, up.
  CHECK(transfer_time(1_B, Bandwidth::from_bits_per_second(3)) == Duration::from_ps(2'666'666'666'667));
  // 1 MiB at 400 Gb/s: 8,388,608 bit / 4e11 bit/s = 20.971520 us exactly.
  CHECK(transfer_time(1_MiB, 400_Gbps) == Duration::from_ps(20'971'520));
}

TEST_CASE("two spellings of a rate are one rate") {
  CHECK(400_Gbps == 50_GBps);
}
