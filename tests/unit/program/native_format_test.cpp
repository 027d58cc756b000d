#include "program/native_format.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using Catch::Matchers::Contains;

namespace {

program::Programs read(std::string_view text) {
  config::Diagnostics diagnostics;
  return program::read_programs(config::Document::parse(text, "p.json", diagnostics), diagnostics);
}

std::string complaint(std::string_view text) {
  try {
    (void)read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string file(const std::string& programs,
                 const std::string& head = R"("ranks": 4, "groups": {"all": "0-3"})") {
  return R"({"format": "stepcast-program", "version": 1, )" + head + R"(, "programs": [)" + programs + "]}";
}

// One program that all four ranks run.
std::string all_ranks(const std::string& operations) {
  return file(R"({"name": "p", "ranks": "0-3", "operations": [)" + operations + "]}");
}

// Side tables resolved, so that programs can be compared whatever the order and sharing of their tables.
void check_equal(const program::Programs& a, const program::Programs& b) {
  CHECK(a.ranks == b.ranks);
  CHECK(a.program_of == b.program_of);
  CHECK(a.group_names == b.group_names);
  CHECK(a.slot_values == b.slot_values);
  REQUIRE(a.groups.size() == b.groups.size());
  for (std::uint32_t g = 0; g < a.groups.size(); ++g) {
    CHECK(a.groups[GroupId{g}] == b.groups[GroupId{g}]);
  }
  REQUIRE(a.programs.size() == b.programs.size());
  for (std::size_t p = 0; p < a.programs.size(); ++p) {
    const program::Program& x = a.programs[p];
    const program::Program& y = b.programs[p];
    CAPTURE(x.name);
    CHECK(x.name == y.name);
    CHECK(x.streams == y.streams);
    CHECK(x.slots == y.slots);
    REQUIRE(x.operations.size() == y.operations.size());
    for (std::size_t i = 0; i < x.operations.size(); ++i) {
      const program::Operation& m = x.operations[i];
      const program::Operation& n = y.operations[i];
      CAPTURE(i);
      CHECK(m.kind == n.kind);
      CHECK(m.dtype == n.dtype);
      CHECK(m.flags == n.flags);
      CHECK(m.priority == n.priority);
      CHECK(m.stream == n.stream);
      CHECK(m.meaning == n.meaning);
      CHECK(m.bytes == n.bytes);
      CHECK(m.duration_ps == n.duration_ps);
      CHECK(m.recorded_start_ps == n.recorded_start_ps);
      const auto dependencies = [](const program::Program& program, const program::Operation& op) {
        const auto begin = program.dependencies.begin() + op.first_dependency;
        return std::vector<program::Dependency>(begin, begin + op.dependency_count);
      };
      CHECK(dependencies(x, m) == dependencies(y, n));
      CHECK((m.label == program::Operation::kNone) == (n.label == program::Operation::kNone));
      if (m.label != program::Operation::kNone) {
        CHECK(x.labels[m.label] == y.labels[n.label]);
      }
      CHECK(x.places[m.place].id == y.places[n.place].id);
      if (m.kind == program::OpKind::kCollective) {
        CHECK(x.collectives[m.detail] == y.collectives[n.detail]);
      } else {
        CHECK(m.detail == n.detail);
      }
      if (m.kind == program::OpKind::kCompute && m.target != program::Operation::kNone) {
        const auto kernels = [](const program::Program& program, std::uint32_t sequence) {
          const auto begin = program.kernels.begin() + program.sequences[sequence].first;
          return std::vector<compute::Kernel>(begin, begin + program.sequences[sequence].count);
        };
        CHECK(kernels(x, m.target) == kernels(y, n.target));
      } else {
        CHECK(m.target == n.target);
      }
    }
  }
}

// Every key of the format at least once.
constexpr std::string_view kEverything = R"({
  "format": "stepcast-program", "version": 1, "description": "everything", "ranks": 16,
  "groups": {"even": "0-14/2", "odd": [1, 3, 5, 7, 9, 11, 13, 15], "pair": [9, 1],
             "blocks": {"first": 0, "strides": [{"step": 1, "count": 2}, {"step": 8, "count": 2}]}},
  "programs": [
    {"name": "even ranks", "ranks": "0-14/2",
     "streams": [{"name": "h", "kind": "host"}, {"name": "k", "kind": "compute"},
                 {"name": "n", "kind": "communication"}, {"name": "c", "kind": "copy"}],
     "slots": {"mine": {"group": "even"}, "right": {"peer": [1, 3, 5, 7, 9, 11, 13, 15]}},
     "operations": [
       {"id": "launch", "op": "delay", "stream": "h", "duration": "5 us"},
       {"id": "layer", "op": "compute", "priority": 3, "label": {"name": "layer", "phase": "forward", "layer": 2},
        "after": [{"id": "launch", "edge": "launch"}],
        "kernels": [
          {"kind": "gemm", "m": 128, "n": 256, "k": 512, "dtype": "bf16"},
          {"kind": "gemm", "m": 128, "n": 256, "k": 512, "dtype": "fp16", "flops": 1e9, "bytes": "1 KiB"},
          {"kind": "batched_gemm", "batch": 3, "m": 16, "n": 16, "k": 32, "dtype": "bf16"},
          {"kind": "flash_forward", "flops": 1.5e12, "bytes": "3 MiB", "tiles": 64, "dtype": "bf16"},
          {"kind": "flash_backward", "flops": 3e12},
          {"kind": "elementwise", "bytes": "7 B"}, {"kind": "optimizer", "bytes": "1 GiB", "dtype": "fp32"},
          {"kind": "fixed", "duration": "1500 ps"}]},
       {"id": "sum", "op": "collective", "stream": "n", "collective": "all_reduce", "group": "mine", "bytes": "1 MiB",
        "dtype": "bf16", "reduction": "max", "algorithm": "ring", "protocol": "Simple", "channels": 4,
        "label": {"name": "grad", "dimension": "dp", "micro_batch": 1, "micro_batch_stride": 2, "chunk": 0},
        "after": ["layer", {"id": "launch", "edge": "start_to_start"}]},
       {"id": "gather", "op": "collective", "collective": "all_gather", "group": "even", "bytes": "64 KiB",
        "meaning": "per_rank"},
       {"id": "old", "op": "collective", "collective": "broadcast", "root": 3, "group": "mine", "bytes": "unknown",
        "duration": "3 ms", "recorded_start": "1 s"},
       {"id": "uneven", "op": "collective", "collective": "all_to_all", "group": "mine", "bytes": "36 B",
        "splits": ["1 B", "2 B", "3 B", "4 B", "5 B", "6 B", "7 B", "8 B"]},
       {"id": "loop", "op": "repeat", "count": 1000, "label": "loop", "body": [
         {"id": "to", "op": "send", "peer": "right", "bytes": "8 KiB", "tag": 5, "eager": true},
         {"id": "inner", "op": "repeat", "count": 2, "body": [
           {"id": "copy", "op": "copy", "bytes": "2 KiB"}, {"id": "timed", "op": "copy", "duration": "1 ns"}]},
         {"id": "from", "op": "recv", "peer": "right", "bytes": "4 KiB"}]},
       {"id": "put", "op": "put", "peer": 5, "bytes": "9 B"}, {"id": "get", "op": "get", "peer": 7, "bytes": "9 B"},
       {"id": "load", "op": "storage", "action": "read", "bytes": "1 GiB", "storage": 2},
       {"id": "save", "op": "storage", "action": "write", "bytes": "1 GiB"},
       {"id": "local", "op": "local", "bytes": "1 KiB", "dtype": "fp32"},
       {"id": "alloc", "op": "alloc", "bytes": "1 GiB"}, {"id": "free", "op": "free", "bytes": "1 GiB"},
       {"id": "end", "op": "mark", "label": "end \"of\" step"}]},
    {"name": "odd ranks", "ranks": [1, 3, 5, 7, 9, 11, 13, 15],
     "slots": {"left": {"peer": [0, 2, 4, 6, 8, 10, 12, 14]}},
     "operations": [
       {"id": "both", "op": "repeat", "count": 1000, "body": [
         {"id": "in", "op": "recv", "peer": "left", "bytes": "8 KiB", "tag": 5},
         {"id": "out", "op": "send", "peer": "left", "bytes": "4 KiB"}]}]}]})";

}  // namespace

TEST_CASE("a program that uses every key is written and read back as it was") {
  const program::Programs once = read(kEverything);
  const std::string written = program::write_programs(once);
  const program::Programs twice = read(written);
  check_equal(once, twice);
  CHECK(program::write_programs(twice) == written);
}

TEST_CASE("operations are read as they are written") {
  const program::Programs programs = read(kEverything);
  const program::Program& even = programs.programs[0];
  REQUIRE(even.operations.size() == 20);
  CHECK(programs.program_of[4] == 0);
  CHECK(programs.program_of[5] == 1);
  const program::Operation& sum = even.operations[2];
  CHECK(sum.bytes == (1_MiB).count());
  CHECK(even.streams[sum.stream].name == "n");
  CHECK(even.collectives[sum.detail].kind == collective::Kind::kAllReduce);
  CHECK(sum.dependency_count == 2);
  CHECK(even.dependencies[sum.first_dependency + 1] ==
        program::Dependency{0, program::EdgeKind::kStartToStart});
  const program::Operation& loop = even.operations[6];
  CHECK(loop.kind == program::OpKind::kRepeat);
  CHECK(loop.bytes == 1000);
  CHECK(loop.target == 5);  // to, inner, copy, timed, from
  // Gemm without flops: 2 x 128 x 256 x 512 = 33,554,432; bytes: (128x512 + 512x256 + 128x256) x 2 = 458,752.
  CHECK(even.kernels[0].flops == 33'554'432);
  CHECK(even.kernels[0].bytes == 458'752);
  CHECK(even.kernels[1].flops == 1e9);
  CHECK(even.kernels[7].bytes == 1500);  // a fixed kernel holds picoseconds
  CHECK(even.places[sum.place].id == "sum");
  CHECK(even.places[sum.place].file == "p.json");
  CHECK(even.places[sum.place].offset == 22);
  // Slot values of rank 4, the third even rank: group 0, peer 5; then what operations name directly:
  // group "even" again under its own name, peers 5 and 7.
  CHECK(programs.slot_values[4] == std::vector<std::uint32_t>{0, 5, 0, 5, 7});
}

TEST_CASE("without streams an operation runs on the stream of its kind") {
  const program::Programs programs = read(all_ranks(R"(
    {"id": "a", "op": "compute", "duration": "1 us"},
    {"id": "b", "op": "collective", "collective": "all_reduce", "group": "all", "bytes": "1 KiB"},
    {"id": "c", "op": "copy", "bytes": "1 KiB"}, {"id": "d", "op": "delay", "stream": "host", "duration": "1 us"})"));
  const program::Program& program = programs.programs[0];
  REQUIRE(program.streams.size() == 4);
  for (std::uint16_t i = 0; i < 4; ++i) {
    CHECK(program.operations[i].stream == i);
    CHECK(program.streams[i].name == name_of(program.streams[i].kind));
  }
}

TEST_CASE("equal labels and kernels are held once") {
  const std::string layer =
      R"("op": "compute", "label": "layer", "kernels": [{"kind": "gemm", "m": 1, "n": 2, "k": 3}]})";
  const program::Programs programs = read(all_ranks(R"({"id": "a", )" + layer + R"(, {"id": "b", )" + layer));
  CHECK(programs.programs[0].labels.size() == 1);
  CHECK(programs.programs[0].sequences.size() == 1);
  CHECK(programs.programs[0].kernels.size() == 1);
}

TEST_CASE("mistakes in operations are refused with their place and a way out") {
  const auto says = [](const std::string& operation) { return complaint(all_ranks(operation)); };
  CHECK_THAT(says(R"({"id": "a", "op": "recv", "peer": "any", "bytes": "1 B"})"), Contains("wildcard"));
  CHECK_THAT(says(R"({"id": "a", "op": "recv", "bytes": "1 B"})"), Contains("wildcard"));
  CHECK_THAT(says(R"({"id": "a", "op": "send", "bytes": "1 B"})"), Contains("missing key \"peer\""));
  CHECK_THAT(says(R"({"id": "a", "op": "send", "peer": 9, "bytes": "1 B"})"), Contains("9 is out of range"));
  CHECK_THAT(says(R"({"id": "a", "op": "send", "peer": 0, "bytes": "1 B"})"),
             Contains("rank 0 has itself as its peer"));
  CHECK_THAT(says(R"({"id": "a", "op": "send", "peer": 1})"), Contains("missing key \"bytes\""));
  CHECK_THAT(says(R"({"id": "a", "op": "send", "peer": 1, "bytes": "unknown"})"), Contains("unknown bytes"));
  CHECK_THAT(
      says(
          R"({"id": "a", "op": "collective", "collective": "all_reduce", "group": "all", "bytes": "unknown"})"),
      Contains("unknown bytes"));
  CHECK_THAT(says(R"({"id": "a", "op": "copy"})"), Contains("missing key \"bytes\""));
  CHECK_THAT(says(R"({"id": "a", "op": "local", "bytes": 5})"), Contains("needs a unit"));
  CHECK_THAT(says(R"({"id": "a", "op": "compute"})"), Contains("either kernels or a duration"));
  CHECK_THAT(says(R"({"id": "a", "op": "delay"})"), Contains("duration"));
  CHECK_THAT(says(R"({"id": "a", "op": "computer"})"), Contains("did you mean \"compute\"?"));
  CHECK_THAT(says(R"({"id": "a", "op": "mark", "bytes": "1 B"})"), Contains("unknown key \"bytes\""));
  CHECK_THAT(says(R"({"id": "a", "op": "mark", "lable": "x"})"), Contains("did you mean \"label\"?"));
  CHECK_THAT(says(R"({"op": "mark"})"), Contains("id"));
  CHECK_THAT(says(R"({"id": "a", "op": "mark"}, {"id": "a", "op": "mark"})"),
             Contains("\"a\" is already taken"));
  CHECK_THAT(says(R"({"id": "alpha", "op": "mark"}, {"id": "b", "op": "mark", "after": ["alpa"]})"),
             Contains("unknown operation \"alpa\"") && Contains("did you mean \"alpha\"?"));
  CHECK_THAT(says(R"({"id": "a", "op": "mark", "stream": "compue"})"), Contains("did you mean \"compute\"?"));
  CHECK_THAT(
      says(R"({"id": "a", "op": "collective", "collective": "all_reduce", "group": "al", "bytes": "1 B"})"),
      Contains("unknown group \"al\""));
  CHECK_THAT(says(R"({"id": "a", "op": "repeat", "count": 0, "body": [{"id": "b", "op": "mark"}]})"),
             Contains("0 is out of range"));
  CHECK_THAT(says(R"({"id": "a", "op": "repeat", "count": 2, "body": []})"), Contains("empty body"));
  CHECK_THAT(
      says(R"({"id": "a", "op": "repeat", "count": 2, "after": ["b"], "body": [{"id": "b", "op": "mark"}]})"),
      Contains("unknown key \"after\""));
}

TEST_CASE("mistakes around the operations are refused") {
  const std::string mark = R"("operations": [{"id": "a", "op": "mark"}]})";
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-2", )" + mark)), Contains("rank 3 runs no program"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3", )" + mark + R"(, {"name": "q", "ranks": "3", )" +
                            mark)),
             Contains("rank 3 already runs program \"p\""));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-4", )" + mark)), Contains("not a range of ranks"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "3-1", )" + mark)), Contains("not a range of ranks"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3/0", )" + mark)), Contains("not a range of ranks"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3,", )" + mark)), Contains("not a range of ranks"));
  CHECK_THAT(complaint(file("")), Contains("no program"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3", )" + mark,
                            R"("ranks": 4, "groups": {"g": [0, 1, 0]})")),
             Contains("/groups/g: rank 0 is named twice; name each member once"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3", )" + mark, R"("ranks": 0)")),
             Contains("0 is out of range") && !Contains("runs no program"));
  CHECK_THAT(complaint(R"({"format": "stepcast-programme", "version": 2, "ranks": 1, "programs": []})"),
             Contains("not a program file") && Contains("2 is out of range") && Contains("no program"));
  CHECK_THAT(complaint(file(R"({"name": "p", "ranks": "0-3", "slots": {"s": {"peer": [1, 2]}}, )" + mark)),
             Contains("2 values for the 4 ranks"));
  CHECK_THAT(
      complaint(file(R"({"name": "p", "ranks": "0-3", "streams": [{"name": "c", "kind": "copy"}], )" + mark)),
      Contains("no stream of kind \"compute\""));
}

TEST_CASE("a program without names is written with some and reads back") {
  program::Programs programs = read(
      all_ranks(R"({"id": "a", "op": "collective", "collective": "barrier", "group": "all", "bytes": "0 B"},
    {"id": "b", "op": "mark", "after": ["a"]})"));
  programs.group_names.clear();
  programs.programs[0].slots[0].name.clear();
  programs.programs[0].places.clear();
  for (program::Operation& op : programs.programs[0].operations) {
    op.place = program::Operation::kNone;
  }
  const program::Programs again = read(program::write_programs(programs));
  CHECK(again.group_names == std::vector<std::string>{"group0"});
  CHECK(again.programs[0].slots[0].name == "slot0");
  CHECK(again.programs[0].places[1].id == "op1");
  CHECK(again.programs[0].dependencies == programs.programs[0].dependencies);
}

TEST_CASE("every example program reads, and is written and read back as it was") {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/workloads/programs")) {
    if (entry.path().extension() == ".json") {
      paths.push_back(entry.path());
    }
  }
  CHECK(paths.size() >= 10);
  for (const std::filesystem::path& path : paths) {
    CAPTURE(path.string());
    config::Diagnostics diagnostics;
    const program::Programs once =
        program::read_programs(config::Document::load(path.string(), diagnostics), diagnostics);
    check_equal(once, read(program::write_programs(once)));
  }
}
