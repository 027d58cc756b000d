#include "collective/nccl/channel_search.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "unit/collective/nccl/node_shapes.hpp"

namespace stepcast::collective::nccl {
namespace {

using Rings = std::vector<std::vector<std::uint32_t>>;

Rings first(const ChannelPlan& plan, std::size_t count) {
  return {plan.rings.begin(), plan.rings.begin() + static_cast<std::ptrdiff_t>(count)};
}

// 8 A100: 12 links of 20 = 240 GB/s. Rings of 40 fill them with 6; over 25 a ring is split in two of half the
// speed: 12 x 20. Every graph channel becomes two: 24. No NVLS before Hopper.
TEST_CASE("eight A100 have 24 channels") {
  const NodeShape node = server(80, 8, 12, true, 25, 24);
  const ChannelPlan plan = search_channels(node, everyone(node, 1), {.version = nccl_version(2, 27, 5)});
  CHECK(plan.ring.channels_searched == 6);
  CHECK(plan.ring.channels == 12);
  CHECK(plan.ring.intra_gb_per_s == 20);
  CHECK(plan.collective_channels == 24);
  CHECK(plan.nvls_channels == 0);
  // Send and receive: 2 a link, 24, and 24 channels in all, both up to a power of two.
  CHECK(plan.p2p_channels == 32);
  CHECK(plan.p2p_channels_per_peer == 32);
}

// 8 H100: 18 links of 20.6 = 370.8: 6 rings of 60, split 12 x 30. NVLS: 8 heads load each port 9 times:
// 40 GB/s fit (360), 50 do not (450).
TEST_CASE("eight H100 have 24 channels and 16 for NVLS") {
  const NodeShape node = server(90, 8, 18, true, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 1), {.version = nccl_version(2, 27, 5)});
  CHECK(plan.ring.channels == 12);
  CHECK(plan.ring.intra_gb_per_s == 30);
  CHECK(plan.tree.channels == 12);
  CHECK(plan.nvls.channels == 8);
  CHECK(plan.nvls.intra_gb_per_s == 40);
  CHECK(plan.collective_channels == 24);
  CHECK(plan.nvls_channels == 16);
}

// 8 B200: 18 x 40.1 = 721.8: 8 rings of 90, split 16 x 45 (intra speeds 90, 80, ...).
TEST_CASE("eight B200 have 32 channels") {
  const NodeShape node = server(100, 8, 18, true, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 1), {.version = nccl_version(2, 28, 9)});
  CHECK(plan.ring.channels == 16);
  CHECK(plan.ring.intra_gb_per_s == 45);
  CHECK(plan.collective_channels == 32);
}

// 18 links of 20 = 360 GB/s a GPU. On its rail a ring loads every port once, also where it leaves over the
// GPU beside the NIC, so 8 rings have at most 45 each. The last GPU is the next one on the processor of the
// first.
TEST_CASE("rings between H100 servers stay on their rails in 2.18") {
  const NodeShape node = server(90, 8, 18, true, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 2), {.version = nccl_version(2, 18, 5)});
  CHECK(plan.ring.channels == 8);
  CHECK(plan.ring.intra_gb_per_s == 45);
  CHECK(plan.ring.type_inter == PathType::kPxn);
  CHECK(plan.ring.cross_nic == 0);
  CHECK(plan.ring.nics_in == plan.ring.nics_out);
  CHECK(plan.collective_channels == 16);
  CHECK(first(plan, 3) == Rings{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                {1, 7, 6, 5, 4, 0, 3, 2, 9, 15, 14, 13, 12, 8, 11, 10},
                                {2, 7, 6, 5, 4, 1, 0, 3, 10, 15, 14, 13, 12, 9, 8, 11}});
}

// From 2.20 pairs of channels may exchange NICs: a ring then loads a port 7/8 times, 8 x 48 x 7/8 = 336 of
// 370.8 fit; on every second node the pair is swapped so that each NIC meets the same NIC.
TEST_CASE("rings between H100 servers alternate from 2.20") {
  const NodeShape node = server(90, 8, 18, true, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 2), {.version = nccl_version(2, 23, 4)});
  CHECK(plan.ring.channels == 8);
  CHECK(plan.ring.intra_gb_per_s == 48);
  CHECK(plan.ring.cross_nic == 2);
  CHECK(plan.collective_channels == 16);
  CHECK(first(plan, 2) == Rings{{0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8},
                                {1, 2, 3, 4, 5, 6, 7, 0, 8, 15, 14, 13, 12, 11, 10, 9}});
  // Stay on the rail: 45 again.
  const ChannelPlan rails =
      search_channels(node, everyone(node, 2), {.version = nccl_version(2, 23, 4), .cross_nic = 0});
  CHECK(rails.ring.cross_nic == 0);
  CHECK(rails.ring.intra_gb_per_s == 45);
}

// Twice the NVLink: 8 rings of 47.9 fit on their rails in 2.27. NIC c enters at GPU c; neighbours only, the
// one before preferred.
TEST_CASE("rings between B200 servers go round from each NIC") {
  const NodeShape node = server(100, 8, 18, true, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 2), {.version = nccl_version(2, 27, 7)});
  CHECK(plan.collective_channels == 16);
  CHECK(plan.p2p_channels == 16);
  CHECK(plan.p2p_channels_per_peer == 2);
  CHECK(first(plan, 2) == Rings{{0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9},
                                {1, 0, 7, 6, 5, 4, 3, 2, 9, 8, 15, 14, 13, 12, 11, 10}});
}

// 4 H100 with 6 links of 20 between every two: 120 GB/s a pair carry two rings of 60, and 6 rings of 4 edges
// are two for each of the 12 ordered pairs: all six orders of a ring, each once.
TEST_CASE("four H100 without switches use every ring once") {
  const NodeShape node = server(90, 4, 6, false, 50, 48);
  const ChannelPlan plan = search_channels(node, everyone(node, 1), {.version = nccl_version(2, 18, 5)});
  CHECK(plan.ring.channels_searched == 6);
  CHECK(plan.collective_channels == 24);
  CHECK(plan.nvls_channels == 0);
  Rings six = first(plan, 6);
  std::sort(six.begin(), six.end());
  CHECK(six == Rings{{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}});
  CHECK(plan.p2p_channels_per_peer == 16);  // 2 a link of 6: 12, up to a power of two

  // Between two servers: 4 NICs, 4 rings of 48; few and fast, so split to 8 x 24.
  const ChannelPlan two = search_channels(node, everyone(node, 2), {.version = nccl_version(2, 18, 5)});
  CHECK(two.ring.channels == 8);
  CHECK(two.ring.intra_gb_per_s == 24);
  CHECK(two.collective_channels == 16);
}

// Every A100 with a NIC of its own on its switch: the second GPU of a balanced tree sends over PXN and hears
// from the NIC over the processor. From 2.25 that way is not tried, there is no tree, and the one channel of
// the fallback is all that rings have too; github.com/NVIDIA/nccl/issues/1876 shows the line of a log. Mended
// in 2.29.
TEST_CASE("Ampere loses its trees from 2.25 to 2.28 where each GPU has a switch of its own") {
  const NodeShape node = server(80, 8, 12, true, 25, 24);
  const auto plan = [&](std::uint32_t version) {
    return search_channels(node, everyone(node, 2), {.version = version});
  };
  CHECK(plan(nccl_version(2, 23, 4)).collective_channels == 16);  // 8 NICs, 8 rings of 24, doubled
  CHECK(plan(nccl_version(2, 27, 3)).tree.intra_gb_per_s == 0.1);
  CHECK(plan(nccl_version(2, 27, 3)).collective_channels == 2);
  CHECK(plan(nccl_version(2, 30, 7)).collective_channels == 16);
  // Two GPUs and two NICs a switch, as in a DGX: no processor in between, no loss.
  NodeShape pairs = node;
  for (std::uint32_t g = 0; g < 8; ++g) {
    pairs.gpus[g].place.leaf = pairs.gpus[g].place.root = g / 2;
    pairs.nics[g].place = pairs.gpus[g].place;
  }
  CHECK(search_channels(pairs, everyone(pairs, 2), {.version = nccl_version(2, 27, 3)}).collective_channels ==
        16);
}

TEST_CASE("variables bound the channels") {
  const NodeShape node = server(90, 8, 18, true, 50, 48);
  const auto channels = [&](ChannelSettings settings) {
    settings.version = nccl_version(2, 27, 5);
    return search_channels(node, everyone(node, 1), settings).collective_channels;
  };
  CHECK(channels({.min_channels = 32}) == 32);
  CHECK(channels({.max_channels = 4}) == 4);
  // First the maximum, then the minimum, which repeats the first channels.
  CHECK(channels({.min_channels = 8, .max_channels = 4}) == 8);
  CHECK(channels({.min_channels = 100}) == 64);
  CHECK(search_channels(node, everyone(node, 1), {.nvls = false}).nvls_channels == 0);
}

TEST_CASE("every ring visits every member once, whatever the members") {
  for (const std::uint32_t version :
       {nccl_version(2, 18, 5), nccl_version(2, 23, 4), nccl_version(2, 27, 7), nccl_version(2, 30, 7)}) {
    for (const std::uint32_t generation : {70U, 80U, 90U, 100U}) {
      const NodeShape node = server(generation, 8, 12, true, 50, 24);
      for (const auto& nodes : std::vector<std::vector<std::vector<std::uint32_t>>>{
               {{3}}, {{0}, {0}, {0}}, {{0, 1, 2, 3}}, {{2, 5}, {1, 6}}, {{0, 1, 2}, {4, 5, 6, 7}}}) {
        const ChannelPlan plan = search_channels(node, nodes, {.version = version});
        std::uint32_t members = 0;
        for (const auto& on_node : nodes) {
          members += static_cast<std::uint32_t>(on_node.size());
        }
        REQUIRE(plan.collective_channels > 0);
        REQUIRE(plan.rings.size() == plan.collective_channels);
        for (std::vector<std::uint32_t> ring : plan.rings) {
          std::sort(ring.begin(), ring.end());
          REQUIRE(ring.size() == members);
          for (std::uint32_t m = 0; m < members; ++m) {
            REQUIRE(ring[m] == m);
          }
        }
      }
    }
  }
}

// No NVLink: every GPU sends and receives over its slot; the link between processors bounds the ring.
TEST_CASE("GPUs without NVLink have one ring over the processors") {
  const NodeShape node = server(89, 8, 0, true, 50, 24);
  const ChannelPlan plan = search_channels(node, everyone(node, 1), {.version = nccl_version(2, 25, 1)});
  CHECK(plan.ring.type_intra == PathType::kSys);
  CHECK(plan.ring.channels == 1);
  CHECK(plan.ring.intra_gb_per_s == 10);
  CHECK(plan.p2p_channels_per_peer == 2);
}

}  // namespace
}  // namespace stepcast::collective::nccl
