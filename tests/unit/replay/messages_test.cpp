#include "support/catch.hpp"
#include "support/message_scenarios.hpp"

// Many messages through the executor, every rank run; the times are derived in message_scenarios.hpp.

using namespace stepcast;
using test::LeafSpineRun;

TEST_CASE("a ring all-reduce of 64 ranks, message by message, ends when its longest chain of chunks does") {
  // 126 sends of 16 MiB at 50 GB/s, 335.54432 us each, and 4 x 64 + 4 x 8 - 4 = 284 us of links.
  CHECK(test::ring_ps(64) == 126 * 335'544'320LL + 284'000'000);
  CHECK(test::ring_ps(64) == 42'562'584'320);
  const replay::Timeline timeline = LeafSpineRun(64).every_rank(test::ring_messages(64));
  CHECK(timeline.end.ps() == test::ring_ps(64));
  CHECK(timeline.classes == 64);
  CHECK(timeline.operations == 2 * 126 * 64);  // a send and a receive for each message
  CHECK(timeline.skipped_iterations == 0);
}

TEST_CASE("a ring that crosses leaves more often than not takes as much longer as its links") {
  // Nine ranks on three leaves: 16 sends of 40 KB, 800 ns each, and 4 x 9 + 4 x 3 - 4 = 44 us.
  CHECK(LeafSpineRun(9).every_rank(test::ring_messages(9, 360'000)).end.ps() == 16 * 800'000 + 44'000'000);
}

TEST_CASE("messages between all pairs of 64 ranks at once share the host links equally") {
  // 63 MiB out of each host and into each: 63 x 20.97152 us, and 4 us of links.
  CHECK(test::all_to_all_ps(64) == 63 * 20'971'520LL + 4'000'000);
  CHECK(test::all_to_all_ps(64) == 1'325'205'760);
  const replay::Timeline timeline = LeafSpineRun(64).every_rank(test::all_to_all_messages(64));
  CHECK(timeline.end.ps() == test::all_to_all_ps(64));
  CHECK(timeline.operations == 2 * 63 * 64);
}

TEST_CASE("steady states and folding change neither the end of a ring of messages nor its traffic") {
  const LeafSpineRun fabric(16);
  const program::Programs ring = test::ring_messages(16);
  const replay::Timeline all = fabric.every_rank(ring);
  replay::ExecutorOptions options;
  const replay::Timeline usual =
      execute(ring, placement::packed(fabric.cluster.topology, 16), fabric.router, *fabric.compute, options);
  CHECK(usual.end == all.end);
  CHECK(usual.fingerprint == all.fingerprint);
  REQUIRE(usual.tiers.size() == all.tiers.size());
  for (std::size_t tier = 0; tier < all.tiers.size(); ++tier) {
    CHECK(usual.tiers[tier].bytes == all.tiers[tier].bytes);
  }
}

TEST_CASE("a ring as one all-reduce ends when its messages do") {
  // 30 chunks of 64 MiB and 4 x 16 + 4 x 4 - 4 = 76 us of links on the longest way of 30 hops.
  CHECK(test::ring_ps(16) == 30 * (test::kRingBuffer / 16) * test::kPsPerByte + 76'000'000LL);
  CHECK(LeafSpineRun(16).every_rank(test::ring_collective(16)).end.ps() == test::ring_ps(16));
}
