#include "base/error.hpp"
#include "program/native_format.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using Catch::Matchers::Contains;

namespace {

// What reading the text complains about; empty when it passes.
std::string complaint(std::string_view text) {
  config::Diagnostics diagnostics;
  try {
    const config::Document document = config::Document::parse(text, "p.json", diagnostics);
    (void)program::read_programs(document, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// A file of two ranks with one program each; operations as JSON.
std::string two_ranks(const std::string& first, const std::string& second) {
  return R"({"format": "stepcast-program", "version": 1, "ranks": 2, "groups": {"all": "0-1"}, "programs": [
{"name": "a", "ranks": "0", "operations": [)" +
         first + "]},\n{\"name\": \"b\", \"ranks\": \"1\", \"operations\": [" + second + "]}]}";
}

std::string one_rank(const std::string& operations) {
  return R"({"format": "stepcast-program", "version": 1, "ranks": 1, "programs": [
{"name": "a", "ranks": "0", "operations": [)" +
         operations + "]}]}";
}

program::Programs read(std::string_view text) {
  config::Diagnostics diagnostics;
  return program::read_programs(config::Document::parse(text, "p.json", diagnostics), diagnostics);
}

std::string complaint(const program::Programs& programs) {
  try {
    program::check(programs);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("messages match per tag in program order, whatever their loops") {
  CHECK(
      complaint(
          two_ranks(
              R"({"id": "l", "op": "repeat", "count": 6, "body": [{"id": "s", "op": "send", "peer": 1, "bytes": "8 B"}]},
               {"id": "t", "op": "send", "peer": 1, "bytes": "4 B", "tag": 7})",
              R"({"id": "t", "op": "recv", "peer": 0, "bytes": "4 B", "tag": 7},
               {"id": "r", "op": "recv", "peer": 0, "bytes": "8 B"},
               {"id": "l", "op": "repeat", "count": 5, "body": [{"id": "q", "op": "recv", "peer": 0, "bytes": "8 B"}]})"))
          .empty());
}

TEST_CASE("a message of another size is found with both operations and its number") {
  const std::string text = complaint(two_ranks(
      R"({"id": "l", "op": "repeat", "count": 1073741824, "body": [{"id": "s", "op": "send", "peer": 1, "bytes": "8 B"}]})",
      R"({"id": "l", "op": "repeat", "count": 1073741823, "body": [{"id": "r", "op": "recv", "peer": 0, "bytes": "8 B"}]},
         {"id": "odd", "op": "recv", "peer": 0, "bytes": "1 KiB"})"));
  // 2^30 - 1 = 1073741823 messages agree; the next does not.
  CHECK_THAT(text, Contains("p.json:2") &&
                       Contains("message number 1073741824 from rank 0 to rank 1 with tag 0") &&
                       Contains("sent as 8 B by \"s\" of program \"a\"") &&
                       Contains("received as 1 KiB by \"odd\" of program \"b\" at p.json:4"));
}

TEST_CASE("a send without receive and a receive without send are both reported") {
  const std::string text =
      complaint(two_ranks(R"({"id": "s", "op": "send", "peer": 1, "bytes": "8 B", "tag": 1})",
                          R"({"id": "r", "op": "recv", "peer": 0, "bytes": "8 B", "tag": 2})"));
  CHECK_THAT(
      text,
      Contains("rank 0 sends 1 messages to rank 1 with tag 1, which receives 0; the first without a "
               "receive is \"s\" of program \"a\"") &&
          Contains("rank 0 sends 0 messages to rank 1 with tag 2, which receives 1; the first without a "
                   "send is \"r\" of program \"b\""));
  // Also when the other side names nobody at all.
  CHECK_THAT(complaint(two_ranks("", R"({"id": "r", "op": "recv", "peer": 0, "bytes": "8 B"})")),
             Contains("rank 0 sends 0 messages to rank 1"));
}

TEST_CASE("one peer behind two slots is one sequence of messages") {
  // Both slots of both programs mean the other rank: next and previous stage of a pipeline of two.
  const std::string text = R"({"format": "stepcast-program", "version": 1, "ranks": 2, "programs": [
    {"name": "stage", "ranks": "0-1", "slots": {"next": {"peer": [1, 0]}, "previous": {"peer": [1, 0]}},
     "operations": [
      {"id": "s", "op": "send", "peer": "next", "bytes": "8 B"},
      {"id": "r", "op": "recv", "peer": "previous", "bytes": "8 B"}]}]})";
  CHECK(complaint(text).empty());
}

TEST_CASE("a member that joins fewer collectives is named with the first one it misses") {
  const auto reduces = [](int count) {
    return R"({"id": "l", "op": "repeat", "count": )" + std::to_string(count) +
           R"(, "body": [{"id": "x", "op": "collective", "collective": "all_reduce", "group": "all", "bytes": "1 MiB"}]})";
  };
  CHECK(complaint(two_ranks(reduces(4), reduces(4))).empty());
  CHECK_THAT(
      complaint(two_ranks(reduces(4), reduces(3))),
      Contains(
          "rank 1 joins 3 of the 4 collectives that rank 0 runs on group \"all\"; the first it misses is "
          "\"x\" of program \"a\" (all_reduce of 1 MiB)"));
  CHECK_THAT(complaint(two_ranks(reduces(4), "")), Contains("rank 1 joins 0 of the 4 collectives"));
  CHECK_THAT(complaint(two_ranks("", reduces(4))), Contains("rank 0 joins 0 of the 4 collectives"));
}

TEST_CASE("collectives of another kind, size or root are told apart") {
  const auto one = [](const std::string& rest) {
    return R"({"id": "x", "op": "collective", "group": "all", )" + rest + "}";
  };
  const std::string reduce = one(R"("collective": "all_reduce", "bytes": "1 MiB")");
  CHECK_THAT(complaint(two_ranks(reduce, one(R"("collective": "all_gather", "bytes": "1 MiB")"))),
             Contains("collective number 1 of group \"all\": rank 1 runs all_gather of 1 MiB") &&
                 Contains("rank 0 runs all_reduce of 1 MiB"));
  CHECK_THAT(complaint(two_ranks(reduce, one(R"("collective": "all_reduce", "bytes": "2 MiB")"))),
             Contains("rank 1 runs all_reduce of 2 MiB"));
  const std::string cast = one(R"("collective": "broadcast", "bytes": "1 MiB")");
  CHECK_THAT(complaint(two_ranks(cast, one(R"("collective": "broadcast", "bytes": "1 MiB", "root": 1)"))),
             Contains("with root 1"));
  CHECK_THAT(complaint(two_ranks(one(R"("collective": "broadcast", "bytes": "8 B", "root": 2)"),
                                 one(R"("collective": "broadcast", "bytes": "8 B", "root": 2)"))),
             Contains("has root 2 in group \"all\" of 2 members"));
}

TEST_CASE("a rank outside a group cannot join it") {
  const std::string text = R"({"format": "stepcast-program", "version": 1, "ranks": 3, "groups": {"g": "0-1"},
    "programs": [{"name": "a", "ranks": "0-2", "operations": [
      {"id": "x", "op": "collective", "collective": "all_reduce", "group": "g", "bytes": "8 B"}]}]})";
  CHECK_THAT(complaint(text),
             Contains("rank 2 joins group \"g\" by \"x\" of program \"a\" but is not a member of it"));
}

TEST_CASE("a dependency cycle is named by its ids, streams included") {
  CHECK_THAT(complaint(one_rank(R"({"id": "a", "op": "compute", "duration": "1 us", "after": ["b"]},
                                   {"id": "b", "op": "copy", "duration": "1 us", "after": ["c"]},
                                   {"id": "c", "op": "delay", "stream": "host", "duration": "1 us", "after": ["a"]})")),
             Contains("dependency cycle: \"a\" of program \"a\" at p.json:2 waits for \"b\"") &&
                 Contains("waits for \"c\"") && Contains("which waits for \"a\""));
  // On one stream the later operation waits for the earlier: the earlier must not wait for it.
  CHECK_THAT(complaint(one_rank(R"({"id": "a", "op": "compute", "duration": "1 us", "after": ["b"]},
                                   {"id": "b", "op": "compute", "duration": "1 us"})")),
             Contains("(ahead of it on its stream)"));
  CHECK_THAT(complaint(one_rank(R"({"id": "a", "op": "compute", "duration": "1 us", "after": ["a"]})")),
             Contains("dependency cycle: \"a\""));
  // Waiting for a later operation of another stream is no cycle.
  CHECK(complaint(one_rank(R"({"id": "a", "op": "compute", "duration": "1 us", "after": ["b"]},
                              {"id": "b", "op": "copy", "duration": "1 us"})"))
            .empty());
}

TEST_CASE("dependencies reach earlier loops but not later ones, and not loops as such") {
  const auto loop = [](const std::string& after) {
    return R"({"id": "l", "op": "repeat", "count": 2, "body": [{"id": "in", "op": "compute", "duration": "1 us")" +
           after + "}]}";
  };
  const auto copy = [](const std::string& after) {
    return R"({"id": "c", "op": "copy", "duration": "1 us")" + after + "}";
  };
  CHECK(complaint(one_rank(loop("") + "," + copy(R"(, "after": ["in"])"))).empty());
  CHECK(complaint(one_rank(copy("") + "," + loop(R"(, "after": ["c"])"))).empty());
  CHECK_THAT(complaint(one_rank(copy(R"(, "after": ["in"])") + "," + loop(""))),
             Contains("comes later and not in the same loop body"));
  CHECK_THAT(complaint(one_rank(loop("") + "," + copy(R"(, "after": ["l"])"))),
             Contains("which is a repeat"));
  CHECK_THAT(complaint(one_rank(loop("") + "," + copy(R"(, "after": [{"id": "in", "edge": "launch"}])"))),
             Contains("not on a host stream"));
}

TEST_CASE("several findings are reported at once") {
  const std::string text = complaint(two_ranks(
      R"({"id": "s", "op": "send", "peer": 1, "bytes": "8 B"},
                             {"id": "a", "op": "compute", "duration": "1 us", "after": ["a"]})",
      R"({"id": "x", "op": "collective", "collective": "barrier", "group": "all", "bytes": "0 B"})"));
  CHECK_THAT(text, Contains("dependency cycle") && Contains("rank 0 sends 1 messages") &&
                       Contains("rank 0 joins 0 of the 1 collectives"));
}

TEST_CASE("loops that run over 2^62 times are refused") {
  // 2^31 x 2^31 x 1 = 2^62 executions of the operation alone, and the loops count too.
  const auto loop = [](const std::string& id, const std::string& body) {
    return R"({"id": ")" + id + R"(", "op": "repeat", "count": 2147483648, "body": [)" + body + "]}";
  };
  const std::string text = one_rank(loop("a", loop("b", R"({"id": "c", "op": "mark"})")));
  CHECK_THAT(complaint(text), Contains("2^62"));
}

TEST_CASE("broken tables of a generated program are findings, not crashes") {
  const program::Programs good = read(two_ranks(R"({"id": "s", "op": "send", "peer": 1, "bytes": "8 B"})",
                                                R"({"id": "r", "op": "recv", "peer": 0, "bytes": "8 B"})"));
  CHECK(complaint(good).empty());
  const auto broken = [&](const auto& change) {
    program::Programs programs = good;
    change(programs);
    return complaint(programs);
  };
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].stream = 9; }),
             Contains("is on stream 9 of 1"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].target = 9; }), Contains("names no peer"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].bytes = -8; }), Contains("has -8 bytes"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].dependency_count = 1; }),
             Contains("past the end"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].place = 9; }), Contains("place 9"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].label = 9; }), Contains("label 9"));
  CHECK_THAT(broken([](auto& p) { p.programs[0].operations[0].meaning = program::BytesMeaning::kUnknown; }),
             Contains("unknown number of bytes"));
  CHECK_THAT(broken([](auto& p) {
               p.programs[0].operations[0].kind = program::OpKind::kRepeat;
               p.programs[0].operations[0].target = 1;
             }),
             Contains("leaves the loop around it"));
  CHECK_THAT(broken([](auto& p) { p.slot_values[0][0] = 0; }), Contains("rank 0 has itself as its peer"));
  CHECK_THAT(broken([](auto& p) { p.slot_values[0][0] = 5; }),
             Contains("rank 0 has rank 5 of 2 as its peer"));
  CHECK_THAT(broken([](auto& p) { p.slot_values[1].clear(); }), Contains("rank 1 fills 0 slots"));
  CHECK_THAT(broken([](auto& p) { p.program_of[1] = 7; }), Contains("rank 1 runs no program"));
  CHECK_THAT(broken([](auto& p) { p.program_of.pop_back(); }), Contains("2 ranks with 1 programs"));
  CHECK_THAT(broken([](auto& p) {
               p.groups[GroupId{0}] = program::Group::listed({1, 0, 1});
             }),
             Contains("group \"all\" has 3 members"));
  CHECK_THAT(broken([](auto& p) {
               p.groups[GroupId{0}] = program::Group::listed({0, 2});
             }),
             Contains("has rank 2 of 2"));
}

TEST_CASE("execution counts multiply over nested loops") {
  const program::Programs programs = read(one_rank(R"({"id": "a", "op": "mark"},
    {"id": "l", "op": "repeat", "count": 3, "body": [
      {"id": "m", "op": "repeat", "count": 4, "body": [{"id": "b", "op": "mark"}]}, {"id": "c", "op": "mark"}]})"));
  // Order: a, l, m, b, c. b runs 3 x 4 = 12 times, c and the beginning of m 3 times.
  CHECK(program::execution_counts(programs.programs[0]) == std::vector<std::uint64_t>{1, 1, 3, 12, 3});
  const std::uint32_t none = program::Operation::kNone;
  CHECK(program::enclosing_loops(programs.programs[0]) == std::vector<std::uint32_t>{none, none, 1, 2, 1});
}

TEST_CASE("a ring over 131,072 ranks with tp and dp groups is checked once per program, not per rank") {
  // One program; slots: tp group of 8 neighbours, dp group of every 8th rank, next and previous rank.
  constexpr std::uint32_t kRanks = 131'072;
  program::Programs programs = read(two_ranks("", ""));
  program::Program program;
  program.name = "rank";
  program.streams = {{"communication", program::StreamKind::kCommunication}};
  program.slots = {{"tp", program::SlotKind::kGroup},
                   {"dp", program::SlotKind::kGroup},
                   {"next", program::SlotKind::kPeer},
                   {"previous", program::SlotKind::kPeer}};
  program.collectives.emplace_back();
  const auto add = [&](program::OpKind kind, std::uint32_t slot) {
    program::Operation op;
    op.kind = kind;
    op.target = slot;
    op.detail = 0;
    op.bytes = 1024;
    program.operations.push_back(op);
  };
  add(program::OpKind::kCollective, 0);
  add(program::OpKind::kSend, 2);
  add(program::OpKind::kRecv, 3);
  add(program::OpKind::kCollective, 1);
  programs.ranks = kRanks;
  programs.programs = {program};
  programs.program_of.assign(kRanks, 0);
  programs.groups = {};
  programs.group_names = {};
  for (std::uint32_t i = 0; i < kRanks / 8; ++i) {
    programs.groups.push_back(program::Group::strided(8 * i, {{1, 8}}));
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    programs.groups.push_back(program::Group::strided(i, {{8, kRanks / 8}}));
  }
  programs.slot_values.clear();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    programs.slot_values.push_back(
        {rank / 8, kRanks / 8 + rank % 8, (rank + 1) % kRanks, (rank + kRanks - 1) % kRanks});
  }
  CHECK(complaint(programs).empty());
  // One rank with the wrong successor: its message arrives nowhere, and its neighbour waits in vain.
  programs.slot_values[1000][2] = 1002;
  CHECK_THAT(complaint(programs), Contains("rank 1000 sends 1 messages to rank 1002") &&
                                      Contains("rank 1000 sends 0 messages to rank 1001"));
}
