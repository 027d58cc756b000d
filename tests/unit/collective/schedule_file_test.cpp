#include "collective/schedule_file.hpp"

#include "base/error.hpp"
#include "report/schedule_json.hpp"
#include "support/catch.hpp"

// Step lists from files: MSCCL XML and our own JSON.

using namespace stepcast;
using Catch::Matchers::Contains;

namespace {

/// All-reduce of two GPUs by exchange through scratch: each sends both chunks, then adds what came.
/// `nop` stands between the receive and the reduction, as compilers of step lists write it.
std::string exchange(const std::string& dependency = R"(depid="0" deps="0" hasdep="0")",
                     const std::string& coll = "allreduce") {
  std::string text = R"(<algo name="exchange" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll=")" +
                     coll + R"(" inplace="1" outofplace="0" minBytes="0" maxBytes="65536">)" + "\n";
  for (const char* const gpu : {"0", "1"}) {
    const std::string other = gpu[0] == '0' ? "1" : "0";
    text +=
        std::string("<gpu id=\"") + gpu + R"(" i_chunks="2" o_chunks="0" s_chunks="2">)" +
        "\n<tb id=\"0\" send=\"" + other + "\" recv=\"" + other + "\" chan=\"0\">\n" +
        R"(<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/></tb>
<tb id="1" send="-1" recv="-1" chan="0">
<step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" )" +
        dependency + R"(/>
<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="0" deps="1" hasdep="0"/></tb></gpu>
)";
  }
  return text + "</algo>\n";
}

}  // namespace

TEST_CASE("MSCCL XML becomes lanes, and nop steps become dependencies") {
  const collective::ScheduleFile file = collective::read_schedule(exchange(), "x.xml");
  CHECK(file.name == "exchange");
  CHECK(file.protocol == collective::Protocol::kLl);
  CHECK(file.max_bytes == Bytes(65536));
  const collective::Schedule& schedule = file.schedule;
  CHECK(schedule.kind == collective::Kind::kAllReduce);
  CHECK(schedule.members == 2);
  CHECK(schedule.chunks == 2);
  REQUIRE(schedule.lanes.size() == 4);
  REQUIRE(schedule.lanes[1].steps.size() == 1);  // the nop is gone
  const collective::Step& reduce = schedule.lanes[1].steps[0];
  CHECK(reduce.action == collective::Action::kReduce);
  // It waits for the send that the nop waits for, and for the receive that it names itself.
  CHECK(reduce.after == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 0}, {0, 1}});
}

TEST_CASE("what a schedule file says is what our own JSON says again") {
  const collective::ScheduleFile first = collective::read_schedule(exchange(), "x.xml");
  const std::string json = report::schedule_json(first.schedule);
  const collective::ScheduleFile again = collective::read_schedule(json, "x.json");
  CHECK(report::schedule_json(again.schedule) == json);
}

TEST_CASE("a step list that does not do what it says is refused with the rank and the chunk") {
  // The same steps as an all-gather: each GPU would hold the sum where it should hold the other's part.
  CHECK_THROWS_WITH(collective::read_schedule(exchange(R"(depid="0" deps="0")", "allgather"), "x.xml"),
                    Contains("x.xml: the schedule is no all_gather: rank"));
}

TEST_CASE("mistakes in a step list carry their line") {
  // Thread block 1 waits for step 7 of thread block 0, which has two.
  CHECK_THROWS_WITH(collective::read_schedule(exchange(R"(depid="0" deps="7" hasdep="0")"), "x.xml"),
                    Contains("x.xml:2: thread block 1 waits for step 7 of thread block 0"));
  CHECK_THROWS_WITH(collective::read_schedule(exchange(R"(depid="5" deps="0" hasdep="0")"), "x.xml"),
                    Contains("thread block 5, which GPU 0 does not have"));
  std::string text = exchange();
  text.replace(text.find("type=\"re\""), 9, "type=\"rx\"");
  CHECK_THROWS_WITH(collective::read_schedule(text, "x.xml"), Contains("x.xml:8: unknown step type \"rx\""));
  text = exchange();
  text.replace(text.find("send=\"1\""), 8, "send=\"-1\"");
  CHECK_THROWS_WITH(collective::read_schedule(text, "x.xml"), Contains("without send peer"));
  text = exchange();
  text.replace(text.find("ngpus=\"2\""), 9, "ngpus=\"3\"");
  CHECK_THROWS_WITH(collective::read_schedule(text, "x.xml"), Contains("ngpus is 3 but 2 GPUs follow"));
  CHECK_THROWS_WITH(collective::read_schedule("<algo", "x.xml"), Contains("x.xml:1: not well-formed XML"));
  CHECK_THROWS_WITH(collective::read_schedule("<other/>", "x.xml"),
                    Contains("MSCCL files begin with <algo>"));
  CHECK_THROWS_WITH(collective::read_schedule("", "x.xml"), Contains("the file is empty"));
}

TEST_CASE("a step list that waits in a circle is refused, not run") {
  // Both GPUs receive first and send after it.
  std::string text = exchange();
  const auto replace_all = [&text](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace_all("type=\"s\"", "type=\"x\"");
  replace_all("type=\"r\"", "type=\"s\"");
  replace_all("type=\"x\"", "type=\"r\"");
  replace_all("srcbuf=\"i\"", "srcbuf=\"o\"");
  CHECK_THROWS_AS(collective::read_schedule(text, "x.xml"), InputError);
}

TEST_CASE("a collective without postcondition is not covered") {
  CHECK_THROWS_AS(collective::read_schedule(exchange(R"(depid="0" deps="0")", "custom"), "x.xml"),
                  UnsupportedError);
}

TEST_CASE("ten million steps are refused before they are parsed") {
  const auto ten_million = [](std::string text, const std::string& step) {
    std::string thousand;
    for (int i = 0; i < 1'000; ++i) {
      thousand += step;
    }
    text.reserve(text.size() + 10'000 * thousand.size());
    for (int i = 0; i < 10'000; ++i) {
      text += thousand;
    }
    return text;
  };
  CHECK_THROWS_WITH(
      collective::read_schedule(
          ten_million("<algo name=\"long\" ngpus=\"1\" coll=\"allreduce\"><gpu id=\"0\"><tb id=\"0\">",
                      "<step/>"),
          "long.xml"),
      "long.xml: 10000000 steps, and at most 4000000 are read; cut the buffer into fewer chunks");
  CHECK_THROWS_AS(
      collective::read_schedule(
          ten_million(R"({"kind": "all_reduce", "lanes": [{"rank": 0, "steps": [)", R"({"action": "copy"},)"),
          "long.json"),
      UnsupportedError);
}
