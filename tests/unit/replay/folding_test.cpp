#include "replay/folding.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "placement/placement.hpp"
#include "program/native_format.hpp"
#include "replay/compiled.hpp"
#include "replay/executor.hpp"
#include "support/catch.hpp"
#include "support/clean_cluster.hpp"
#include "support/folding.hpp"

// Ranks that behave the same are run once: the same times, traffic and numbers, or the audit says no.

using namespace stepcast;

namespace {

/// Runs of one program file on the clean cluster, folded and not.
struct Runs {
  replay::Timeline folded;
  replay::Timeline all;
};

Runs run(const program::Programs& programs, const topology::Cluster& cluster) {
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  const Placement placement = placement::packed(cluster.topology, programs.ranks);
  replay::ExecutorOptions options;
  options.record_timeline = true;
  options.record_resources = true;
  Runs runs;
  runs.folded = replay::execute(programs, placement, router, *compute, options);
  options.fold = replay::Fold::kOff;
  runs.all = replay::execute(programs, placement, router, *compute, options);
  return runs;
}

void check_same(const Runs& runs) {
  CHECK(test::difference(runs.folded, runs.all) == "");
}

replay::Sites sites_of(const program::Programs& programs, const topology::Cluster& cluster) {
  const routing::Router router(cluster, "balanced");
  const auto compute = compute::make_model("roofline");
  std::vector<replay::CompiledProgram> compiled;
  for (const program::Program& program : programs.programs) {
    compiled.push_back(replay::compile(program, *compute, cluster.host.accelerator));
  }
  return replay::resolve_sites(programs, placement::packed(cluster.topology, programs.ranks),
                               collective::Lowering(router), router, compiled, collective::Form::kCoupled);
}

const char* const kTwoGroups = R"({"format": "stepcast-program", "version": 1, "ranks": 16,
    "groups": {"first": "0-7", "second": "8-15"}, "programs": [{"name": "rank", "ranks": "0-15",
      "slots": {"mine": {"group": ["first", "first", "first", "first", "first", "first", "first", "first",
                                   "second", "second", "second", "second", "second", "second", "second", "second"]}},
      "operations": [
        {"id": "work", "op": "compute", "duration": "10 us"},
        {"id": "reduce", "op": "collective", "collective": "all_reduce", "group": "mine", "bytes": "1 MiB",
         "dtype": "bf16", "after": ["work"]},
        {"id": "save", "op": "storage", "action": "write", "bytes": "10 MB", "after": ["reduce"]}]}]})";

}  // namespace

TEST_CASE("sixteen ranks of one class reduce in two groups and write to one storage as sixteen ranks do") {
  const topology::Cluster cluster = test::clean_cluster();
  const Runs runs = run(test::read_program(kTwoGroups), cluster);
  // 10 us + (1 + 28 + 18.35008) us + 2 us of links + 16 x 10 MB through the storage at 10 GB/s = 16 ms.
  CHECK(runs.all.end.ps() == 10'000'000 + 47'350'080 + 2'000'000 + 16'000'000'000);
  check_same(runs);
  CHECK(runs.folded.classes == 1);
  CHECK(runs.folded.audit == "passed");
  CHECK(runs.all.classes == 16);
  CHECK(runs.all.audit == "off");
}

TEST_CASE("eight messages of two classes cross the network as eight ranks' do") {
  const Runs runs =
      run(test::read_program(R"({"format": "stepcast-program", "version": 1, "ranks": 16, "programs": [
    {"name": "sender", "ranks": "0-7", "slots": {"peer": {"peer": [8, 9, 10, 11, 12, 13, 14, 15]}},
     "operations": [{"id": "s", "op": "send", "peer": "peer", "bytes": "25 MB"}]},
    {"name": "receiver", "ranks": "8-15", "slots": {"peer": {"peer": [0, 1, 2, 3, 4, 5, 6, 7]}},
     "operations": [{"id": "r", "op": "recv", "peer": "peer", "bytes": "25 MB"}]}]})"),
          test::clean_cluster());
  CHECK(runs.all.end.ps() == 1'006'000'000);  // each on its own NIC: 1 us + 5 us + 25 MB / 25 GB/s
  check_same(runs);
  CHECK(runs.folded.classes == 2);
}

TEST_CASE("a ring of messages folds to one rank that sends to itself") {
  // Every rank of a host sends to the next and receives from the one before.
  const Runs runs =
      run(test::read_program(R"({"format": "stepcast-program", "version": 1, "ranks": 8, "programs": [
    {"name": "ring", "ranks": "0-7", "slots": {"next": {"peer": [1, 2, 3, 4, 5, 6, 7, 0]},
                                               "before": {"peer": [7, 0, 1, 2, 3, 4, 5, 6]}},
     "operations": [{"id": "s", "op": "send", "peer": "next", "bytes": "1 MB", "stream": "communication"},
                    {"id": "r", "op": "recv", "peer": "before", "bytes": "1 MB", "stream": "copy"}]}]})"),
          test::clean_cluster());
  CHECK(runs.all.end.ps() == 13'000'000);  // 1 us + 2 us + 1 MB / 100 GB/s
  check_same(runs);
  CHECK(runs.folded.classes == 1);
}

TEST_CASE("a slow device is a class of its own, and so are those it holds up differently") {
  const topology::Cluster cluster = test::clean_cluster(R"([{"gpu": 3, "factor": 0.5}])");
  const Runs runs = run(test::read_program(kTwoGroups), cluster);
  check_same(runs);
  // GPU 3; the seven others of its host, which wait for it; the eight of the other host.
  CHECK(runs.folded.classes == 3);
}

TEST_CASE("two equal faults on two devices leave them in one class") {
  const topology::Cluster cluster =
      test::clean_cluster(R"([{"gpu": 3, "factor": 0.5}, {"gpu": 11, "factor": 0.5}])");
  const Runs runs = run(test::read_program(kTwoGroups), cluster);
  check_same(runs);
  CHECK(runs.folded.classes == 2);
}

TEST_CASE("ranks of one class that come to a group by different slots are different members of it") {
  // Group "a" is slot x of rank 0 and slot y of rank 1, group "b" the other way round.
  const Runs runs = run(test::read_program(R"({"format": "stepcast-program", "version": 1, "ranks": 2,
    "groups": {"a": "0-1", "b": "0-1"},
    "programs": [{"name": "rank", "ranks": "0-1",
      "slots": {"x": {"group": ["a", "b"]}, "y": {"group": ["b", "a"]}},
      "operations": [
        {"id": "late", "op": "delay", "duration": "1 ms", "stream": "copy"},
        {"id": "x", "op": "collective", "collective": "all_reduce", "group": "x", "bytes": "1 MiB", "stream": "communication"},
        {"id": "y", "op": "collective", "collective": "all_reduce", "group": "y", "bytes": "1 MiB",
         "stream": "copy"}]}]})"),
                        test::clean_cluster());
  check_same(runs);
  CHECK(runs.folded.classes == 1);
  CHECK(runs.folded.end.ps() > 1'000'000'000);  // both wait for the rank that comes late
}

TEST_CASE("a wrong partition is caught by the audit, named, and split until it is right") {
  const topology::Cluster cluster = test::clean_cluster(R"([{"gpu": 3, "factor": 0.5}])");
  const replay::Sites sites = sites_of(test::read_program(kTwoGroups), cluster);
  const replay::Partition right = replay::fold(sites);
  CHECK(replay::audit(sites, right).passed());
  REQUIRE(right.ranks.count() == 3);
  // All ranks in one class: rank 3 is of another kind than rank 0.
  replay::Partition wrong = right;
  wrong.ranks = replay::classes_of(std::vector<std::uint64_t>(16, 0));
  const replay::AuditFindings findings = replay::audit(sites, wrong);
  CHECK_FALSE(findings.passed());
  CHECK(std::find(findings.ranks.begin(), findings.ranks.end(), 3) != findings.ranks.end());
  const replay::Partition repaired = replay::repair(sites, wrong);
  CHECK(replay::audit(sites, repaired).passed());
  CHECK(repaired.audit != "passed");  // it says that it had to split
  CHECK(repaired.ranks.of[3] != repaired.ranks.of[0]);
  CHECK(repaired.ranks.of[0] != repaired.ranks.of[8]);
}

TEST_CASE("resources of unequal load in one class are caught by the audit") {
  const topology::Cluster cluster = test::clean_cluster();
  const replay::Sites sites =
      sites_of(test::read_program(R"({"format": "stepcast-program", "version": 1, "ranks": 16, "programs": [
    {"name": "sender", "ranks": "0-7", "slots": {"peer": {"peer": [8, 9, 10, 11, 12, 13, 14, 15]}},
     "operations": [{"id": "s", "op": "send", "peer": "peer", "bytes": "25 MB"}]},
    {"name": "receiver", "ranks": "8-15", "slots": {"peer": {"peer": [0, 1, 2, 3, 4, 5, 6, 7]}},
     "operations": [{"id": "r", "op": "recv", "peer": "peer", "bytes": "25 MB"}]}]})"),
               cluster);
  replay::Partition wrong = replay::fold(sites);
  std::vector<std::uint64_t> colours;
  std::vector<bool> unused;
  for (const std::uint32_t kind : sites.resource_kind) {
    colours.push_back(0);
    unused.push_back(kind == replay::kNone);
  }
  wrong.resources = replay::classes_of(colours, unused);
  CHECK_FALSE(replay::audit(sites, wrong).resources.empty());
}
