#include "base/error.hpp"
#include "placement/placement.hpp"
#include "program/native_format.hpp"
#include "replay/executor.hpp"
#include "replay/partition.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"

// The executor runs rank classes with multiplicities: a hand-made equitable partition gives the same
// times, traffic and fingerprint as one class per rank.

using namespace stepcast;

namespace {

program::Programs read(const std::string& text) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "program.json", diagnostics);
  return program::read_programs(document, diagnostics);
}

replay::Timeline run(const program::Programs& programs, const replay::Partition& partition) {
  static const topology::Cluster cluster = test::clean_cluster();
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  return replay::execute(programs, placement::packed(cluster.topology, programs.ranks), router, *compute,
                         partition, {});
}

/// Classes given by rank; groups by class of group, each with its representative.
replay::Partition partition_of(const program::Programs& programs,
                               const std::vector<std::uint32_t>& class_of,
                               const std::vector<std::uint32_t>& group_class_of) {
  replay::Partition partition;
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    const std::uint32_t cls = class_of[rank];
    partition.class_of.emplace_back(cls);
    if (cls == partition.representative.size()) {
      partition.representative.push_back(RankId{rank});
      partition.size.push_back(0);
    }
    ++partition.size[ClassId{cls}];
  }
  partition.group_class_of = group_class_of;
  for (std::uint32_t group = 0; group < group_class_of.size(); ++group) {
    if (group_class_of[group] < partition.group_classes.size()) {
      ++partition.group_classes[group_class_of[group]].multiplicity;
      continue;
    }
    replay::Partition::GroupClass group_class;
    group_class.representative = GroupId{group};
    for (const RankId member : programs.groups[GroupId{group}].ranks()) {
      const ClassId cls = partition.class_of[member.index()];
      std::uint32_t at = 0;
      while (at < group_class.classes.size() && group_class.classes[at] != cls) {
        ++at;
      }
      if (at == group_class.classes.size()) {
        group_class.classes.push_back(cls);
      }
      group_class.member_class.push_back(at);
    }
    partition.group_classes.push_back(std::move(group_class));
  }
  return partition;
}

void check_same(const replay::Timeline& folded, const replay::Timeline& all) {
  CHECK(folded.end == all.end);
  CHECK(folded.fingerprint == all.fingerprint);
  CHECK(folded.breakdown == all.breakdown);
  CHECK(folded.critical_path == all.critical_path);
  CHECK(folded.classes < all.classes);
  REQUIRE(folded.tiers.size() == all.tiers.size());
  for (std::size_t tier = 0; tier < all.tiers.size(); ++tier) {
    CHECK(folded.tiers[tier].bytes == all.tiers[tier].bytes);
    CHECK(folded.tiers[tier].peak == all.tiers[tier].peak);
  }
}

}  // namespace

TEST_CASE("sixteen ranks of one class reduce in two groups and write to one storage as sixteen ranks do") {
  const program::Programs programs = read(R"({"format": "stepcast-program", "version": 1, "ranks": 16,
    "groups": {"first": "0-7", "second": "8-15"}, "programs": [{"name": "rank", "ranks": "0-15",
      "slots": {"mine": {"group": ["first", "first", "first", "first", "first", "first", "first", "first",
                                   "second", "second", "second", "second", "second", "second", "second", "second"]}},
      "operations": [
        {"id": "work", "op": "compute", "duration": "10 us"},
        {"id": "reduce", "op": "collective", "collective": "all_reduce", "group": "mine", "bytes": "1 MiB",
         "dtype": "bf16", "after": ["work"]},
        {"id": "save", "op": "storage", "action": "write", "bytes": "10 MB", "after": ["reduce"]}]}]})");
  const replay::Timeline all = run(programs, replay::identity_partition(programs));
  // 10 us + (1 + 28 + 18.35008) us + 2 us of links + 16 x 10 MB through the storage at 10 GB/s = 16 ms.
  CHECK(all.end.ps() == 10'000'000 + 47'350'080 + 2'000'000 + 16'000'000'000);
  check_same(run(programs, partition_of(programs, std::vector<std::uint32_t>(16, 0), {0, 0})), all);
}

TEST_CASE("eight messages of two classes cross the network as eight ranks' do") {
  const program::Programs programs =
      read(R"({"format": "stepcast-program", "version": 1, "ranks": 16, "programs": [
    {"name": "sender", "ranks": "0-7", "slots": {"peer": {"peer": [8, 9, 10, 11, 12, 13, 14, 15]}},
     "operations": [{"id": "s", "op": "send", "peer": "peer", "bytes": "25 MB"}]},
    {"name": "receiver", "ranks": "8-15", "slots": {"peer": {"peer": [0, 1, 2, 3, 4, 5, 6, 7]}},
     "operations": [{"id": "r", "op": "recv", "peer": "peer", "bytes": "25 MB"}]}]})");
  const replay::Timeline all = run(programs, replay::identity_partition(programs));
  CHECK(all.end.ps() == 1'006'000'000);  // each on its own NIC: 1 us + 5 us + 25 MB / 25 GB/s
  std::vector<std::uint32_t> classes(16, 0);
  std::fill(classes.begin() + 8, classes.end(), 1);
  check_same(run(programs, partition_of(programs, classes, {})), all);
}

TEST_CASE("a partition that puts unequal groups into one class is a defect, not a wrong time") {
  // Groups of 4 and 2 members do not cost the same.
  const program::Programs programs = read(R"({"format": "stepcast-program", "version": 1, "ranks": 6,
    "groups": {"four": "0-3", "two": "4-5"}, "programs": [{"name": "rank", "ranks": "0-5",
      "slots": {"mine": {"group": ["four", "four", "four", "four", "two", "two"]}},
      "operations": [{"id": "reduce", "op": "collective", "collective": "all_reduce", "group": "mine", "bytes": "1 MiB",
                      "dtype": "bf16"}]}]})");
  CHECK_THROWS_AS(run(programs, partition_of(programs, std::vector<std::uint32_t>(6, 0), {0, 0})),
                  InternalError);
}
