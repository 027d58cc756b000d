#include "hardware/catalog.hpp"
#include "replay/collective_run.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"

// Collectives that run together share links as their bytes demand. Of the clean cluster: launch 1 us, a
// step 2 us over NVLink (100 GB/s) and 5 us over the network (25 GB/s), then bytes / rate.
// all_reduce of S among n: 2(n-1) steps, 2(n-1)/n S bytes on every hop; all_gather half of both.

using namespace stepcast;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> list) {
  std::vector<GpuId> group;
  for (const std::uint32_t gpu : list) {
    group.emplace_back(gpu);
  }
  return group;
}

collective::Request request(collective::Kind kind, std::int64_t bytes) {
  collective::Request made;
  made.kind = kind;
  made.bytes = Bytes(bytes);
  return made;
}

/// Time of the first and of those beside it, ps.
std::vector<std::int64_t> run(const topology::Cluster& cluster,
                              const replay::OtherCollective& first,
                              const std::vector<replay::OtherCollective>& others) {
  const routing::Router router(cluster, "balanced");
  const std::vector<Bytes> sizes{first.request.bytes};
  const auto times = replay::run_collectives(router, first.request, sizes, first.group, {}, others);
  std::vector<std::int64_t> out{times.front().time.ps()};
  for (const Duration other : times.front().others) {
    out.push_back(other.ps());
  }
  return out;
}

const auto kHost0 = gpus({0, 1, 2, 3, 4, 5, 6, 7});
const auto kHost1 = gpus({8, 9, 10, 11, 12, 13, 14, 15});
const auto kReduce = request(collective::Kind::kAllReduce, kMiB);

}  // namespace

TEST_CASE("collectives of two hosts do not know of each other") {
  // 1 + 14 x 2 us + 2 x 7/8 x 1 MiB / 100 GB/s
  CHECK(run(test::clean_cluster(), {kReduce, kHost0, {}}, {{kReduce, kHost1, {}}}) ==
        std::vector<std::int64_t>{47'350'080, 47'350'080});
}

TEST_CASE("two equal all-reduces on one host take half of NVLink each") {
  // 29 us + 2 x 18.35008 us
  CHECK(run(test::clean_cluster(), {kReduce, kHost0, {}}, {{kReduce, kHost0, {}}}) ==
        std::vector<std::int64_t>{65'700'160, 65'700'160});
}

TEST_CASE("an all-gather that began earlier shares when the all-reduce comes") {
  // all_gather of 4 MiB: from 15 us, 3,670,016 bytes; alone until 29 us it moves 1,400,000. Then both at
  // 50 GB/s until the all-reduce has moved its 1,835,008 (36.70016 us); the last 435,008 go at 100 GB/s.
  CHECK(run(test::clean_cluster(), {kReduce, kHost0, {}},
            {{request(collective::Kind::kAllGather, 4 * kMiB), kHost0, {}}}) ==
        std::vector<std::int64_t>{65'700'160, 70'050'240});
}

TEST_CASE("two pairs over the same NICs take half of them each") {
  // 1 + 2 x 5 us + 2 x (1 MiB / 25 GB/s = 41.94304 us)
  const auto pair = gpus({0, 8});
  CHECK(run(test::clean_cluster(), {kReduce, pair, {}}, {{kReduce, pair, {}}}) ==
        std::vector<std::int64_t>{94'886'080, 94'886'080});
}

TEST_CASE("pairs over different NICs do not meet") {
  CHECK(run(test::clean_cluster(), {kReduce, gpus({0, 8}), {}}, {{kReduce, gpus({1, 9}), {}}}) ==
        std::vector<std::int64_t>{52'943'040, 52'943'040});
}

TEST_CASE("a collective that starts later shares from then on, and its time counts from its own start") {
  // 4 MiB: 7,340,032 bytes from 29 us; alone until the second moves at 20 + 29 us: 2,000,000 bytes. Then
  // half each while the second moves 1,835,008 (36.70016 us); the last 3,505,024 bytes at 100 GB/s.
  CHECK(run(test::clean_cluster(), {request(collective::Kind::kAllReduce, 4 * kMiB), kHost0, {}},
            {{kReduce, kHost0, Duration::from_ps(20'000'000)}}) ==
        std::vector<std::int64_t>{120'750'400, 65'700'160});
}

TEST_CASE("pairs on different hosts share the up-link of their leaf") {
  // Two leaves of two hosts; 16 NICs of 25 GB/s go up over 16:1, which is 25 GB/s. Each pair crosses it once
  // each way: half of it, as long as both move.
  config::Diagnostics diagnostics;
  std::string text = test::clean_cluster_text();
  const std::string small = R"("fabric": {"kind": "fat_tree", "hosts_per_leaf": 2})";
  text.replace(text.find(small), small.size(),
               R"("fabric": {"kind": "fat_tree", "hosts_per_leaf": 2, "leaf_oversubscription": 16})");
  text.replace(text.find(R"("hosts": 2)"), 10, R"("hosts": 4)");
  const config::Document document = config::Document::parse(text, "clean.json", diagnostics);
  const topology::Cluster cluster =
      topology::read_cluster(document, hardware::Catalog::shipped(), diagnostics);
  CHECK(run(cluster, {kReduce, gpus({0, 16}), {}}, {{kReduce, gpus({8, 24}), {}}}) ==
        std::vector<std::int64_t>{94'886'080, 94'886'080});
  CHECK(run(cluster, {kReduce, gpus({0, 16}), {}}, {}) == std::vector<std::int64_t>{52'943'040});
}
