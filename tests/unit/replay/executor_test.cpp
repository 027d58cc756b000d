#include <numeric>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/replay_text.hpp"

using namespace stepcast;
using test::clean_cluster;
using test::replay_text;
using test::step_ps;

namespace {

std::string one_rank(const std::string& operations) {
  return R"({"format": "stepcast-program", "version": 1, "ranks": 1, "programs": [{"name": "rank", "ranks": "0",
    "operations": [)" +
         operations + "]}]}";
}

std::string error_of(const std::string& program, const std::string& faults = "[]") {
  try {
    static_cast<void>(replay_text(program, clean_cluster(faults)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// Rank 0 of host 0 sends 25 MB to rank 8, the first GPU of host 1: 1 us + 5 us + 25 MB / 25 GB/s = 1.006 ms.
const char* const kNetworkMessage = R"({"format": "stepcast-program", "version": 1, "ranks": 16, "programs": [
  {"name": "sender", "ranks": "0", "operations": [{"id": "s", "op": "send", "peer": 8, "bytes": "25 MB"}]},
  {"name": "receiver", "ranks": "8", "operations": [{"id": "r", "op": "recv", "peer": 0, "bytes": "25 MB"}]},
  {"name": "idle", "ranks": "1-7,9-15", "operations": [{"id": "m", "op": "mark"}]}]})";

}  // namespace

TEST_CASE("a kernel on a slow GPU takes its time over the factor from when the fault begins") {
  const std::string program = one_rank(R"({"id": "k", "op": "compute", "duration": "50 us"})");
  // 20 us at full speed, 30 us of work left at half speed: 20 + 60 us.
  CHECK(step_ps(replay_text(program, clean_cluster(R"([{"gpu": 0, "factor": 0.5, "at": "20 us"}])"))) ==
        80'000'000);
  // Half speed from 20 us to 40 us does 10 us of work; 20 us are left: 60 us.
  CHECK(step_ps(replay_text(
            program, clean_cluster(R"([{"gpu": 0, "factor": 0.5, "at": "20 us", "until": "40 us"}])"))) ==
        60'000'000);
  // Another GPU's fault changes nothing.
  CHECK(step_ps(replay_text(program, clean_cluster(R"([{"gpu": 1, "factor": 0.5}])"))) == 50'000'000);
}

TEST_CASE("a link that degrades in the middle of a transfer stretches the rest of it") {
  CHECK(step_ps(replay_text(kNetworkMessage, clean_cluster())) == 1'006'000'000);
  // The last byte needs 2 us of links, so the transfer runs from 4 us: at 504 us half of the 25 MB are
  // through; the other 12.5 MB take 1 ms at 12.5 GB/s, and 2 us to arrive: 1506 us.
  CHECK(
      step_ps(replay_text(kNetworkMessage,
                          clean_cluster(R"([{"link": "h0.nic0-leaf0", "factor": 0.5, "at": "504 us"}])"))) ==
      1'506'000'000);
}

TEST_CASE("a transfer over a link that stays down names the ranks that wait") {
  const std::string text =
      error_of(kNetworkMessage, R"([{"link": "h0.nic0-leaf0", "factor": 0, "at": "506 us"}])");
  CHECK(text.find(
            "the program cannot finish: after 0.000506 s nothing can happen any more and 2 stream(s) wait") ==
        0);
  CHECK(text.find("rank 0, operation \"s\" (send at program.json:2) is in a transfer that does not end\n") !=
        std::string::npos);
  CHECK(text.find("/faults/0: link \"h0.nic0-leaf0\" is down from 0.000506 s on and for good") !=
        std::string::npos);
}

TEST_CASE("a circle of waits between ranks is an error that says who waits for whom") {
  // Rank 0 receives before it sends, and so does rank 1: counts match, the order cannot work.
  const std::string text = error_of(R"({"format": "stepcast-program", "version": 1, "ranks": 2, "programs": [
    {"name": "a", "ranks": "0", "operations": [
      {"id": "ra", "op": "recv", "peer": 1, "bytes": "1 KiB"},
      {"id": "sa", "op": "send", "peer": 1, "bytes": "1 KiB", "after": ["ra"]}]},
    {"name": "b", "ranks": "1", "operations": [
      {"id": "rb", "op": "recv", "peer": 0, "bytes": "1 KiB"},
      {"id": "sb", "op": "send", "peer": 0, "bytes": "1 KiB", "after": ["rb"]}]}]})");
  CHECK(text.find(
            "rank 0, operation \"ra\" (recv at program.json:3) waits for rank 1 to send message 1 (tag 0)") !=
        std::string::npos);
  CHECK(text.find(
            "rank 1, operation \"rb\" (recv at program.json:6) waits for rank 0 to send message 1 (tag 0)") !=
        std::string::npos);
}

TEST_CASE("collectives of two groups in opposite order on one stream end in a report, not a hang") {
  const std::string text = error_of(R"({"format": "stepcast-program", "version": 1, "ranks": 2,
    "groups": {"x": "0-1", "y": [0, 1]}, "programs": [
    {"name": "a", "ranks": "0", "operations": [
      {"id": "ax", "op": "collective", "collective": "all_reduce", "group": "x", "bytes": "1 KiB", "dtype": "bf16"},
      {"id": "ay", "op": "collective", "collective": "all_reduce", "group": "y", "bytes": "1 KiB", "dtype": "bf16"}]},
    {"name": "b", "ranks": "1", "operations": [
      {"id": "by", "op": "collective", "collective": "all_reduce", "group": "y", "bytes": "1 KiB", "dtype": "bf16"},
      {"id": "bx", "op": "collective", "collective": "all_reduce", "group": "x", "bytes": "1 KiB", "dtype": "bf16"}]}]})");
  CHECK(text.find("rank 0, operation \"ax\" (collective at program.json:4) waits in call 1 on group \"x\" "
                  "for rank(s) 1") != std::string::npos);
  CHECK(text.find("waits in call 1 on group \"y\" for rank(s) 0") != std::string::npos);
}

TEST_CASE("a host operation launches a kernel the launch latency later") {
  const topology::Cluster cluster = clean_cluster();
  const std::int64_t latency = cluster.host.accelerator.launch_per_kernel.ps();
  const std::string program = R"({"format": "stepcast-program", "version": 1, "ranks": 1, "programs": [
    {"name": "rank", "ranks": "0", "streams": [{"name": "cpu", "kind": "host"}, {"name": "gpu", "kind": "compute"}],
     "operations": [
      {"id": "loop", "op": "repeat", "count": 3, "body": [
        {"id": "call", "op": "delay", "stream": "cpu", "duration": "100 us"},
        {"id": "kernel", "op": "compute", "stream": "gpu", "duration": "10 us",
         "after": [{"id": "call", "edge": "launch"}]}]}]}]})";
  // The third call returns at 300 us: the step is bound by the host.
  CHECK(step_ps(replay_text(program, cluster)) == 300'000'000 + latency + 10'000'000);
}

TEST_CASE("breakdown and longest chain sum to the step") {
  for (const char* name :
       {"send_recv", "late_rank", "pipeline", "storage_write", "two_streams", "start_to_start"}) {
    const replay::Timeline& timeline = test::replay_example(name).result.timeline;
    CAPTURE(name);
    const auto sum = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), Duration{}).ps();
    };
    CHECK(sum(timeline.breakdown) == timeline.end.ps());
    CHECK(sum(timeline.critical_path) == timeline.end.ps());
  }
}

TEST_CASE("two runs of one program have the same fingerprint, another duration changes it") {
  const auto fingerprint = [](const std::string& duration) {
    return replay_text(one_rank(R"({"id": "k", "op": "compute", "duration": ")" + duration + "\"}"),
                       clean_cluster())
        .result.timeline.fingerprint;
  };
  CHECK(fingerprint("50 us") == fingerprint("50 us"));
  CHECK(fingerprint("50 us") != fingerprint("51 us"));
}

TEST_CASE("an observer hears how far the run is and changes nothing") {
  class Listener : public replay::RunObserver {
   public:
    void progress(TimePoint now, std::uint64_t done, std::uint64_t total) override {
      CHECK(now >= now_);
      CHECK(done >= done_);
      CHECK(done <= total);
      CHECK(total == 3000);  // 1000 rounds of a kernel and a mark each, and 1000 of the other loop
      now_ = now;
      done_ = done;
      ++calls_;
    }
    TimePoint now_;
    std::uint64_t done_ = 0;
    int calls_ = 0;
  };
  const std::string program = one_rank(R"(
    {"id": "a", "op": "repeat", "count": 1000, "body": [{"id": "k", "op": "compute", "duration": "1 us"},
                                                        {"id": "m", "op": "mark"}]},
    {"id": "b", "op": "repeat", "count": 1000, "body": [{"id": "l", "op": "compute", "duration": "1 us"}]})");
  Listener listener;
  replay::PredictOptions options;
  options.observer = &listener;
  options.steady_state = false;
  const replay::Run run = replay_text(program, clean_cluster(), options);
  CHECK(listener.calls_ == 7);  // 2000 kernels end one after another: a report every 256 of them
  CHECK(step_ps(run) == 2'000'000'000);
  CHECK(run.result.timeline.fingerprint == replay_text(program, clean_cluster()).result.timeline.fingerprint);
}

TEST_CASE("two messages into one GPU share its port") {
  // Ranks 0 and 1 send 1 MB each to rank 2: 1 + 2 us, then 2 MB through one 100 GB/s port: 20 us.
  const char* const program = R"({"format": "stepcast-program", "version": 1, "ranks": 3, "programs": [
    {"name": "sender", "ranks": "0-1", "operations": [{"id": "s", "op": "send", "peer": 2, "bytes": "1 MB"}]},
    {"name": "sink", "ranks": "2", "streams": [{"name": "a", "kind": "communication"}, {"name": "b", "kind": "communication"}],
     "operations": [
      {"id": "r0", "op": "recv", "peer": 0, "bytes": "1 MB", "stream": "a"},
      {"id": "r1", "op": "recv", "peer": 1, "bytes": "1 MB", "stream": "b"}]}]})";
  CHECK(step_ps(replay_text(program, clean_cluster())) == 23'000'000);
}

TEST_CASE("a program without operations takes no time") {
  const replay::Run run = replay_text(one_rank(""), clean_cluster());
  CHECK(step_ps(run) == 0);
  CHECK(run.result.timeline.operations == 0);
}

TEST_CASE("a step beyond the range of simulated time is refused, not wrapped") {
  // 2 x 60 days; the range of int64 picoseconds is 106 days.
  const std::string text = error_of(one_rank(R"({"id": "a", "op": "delay", "duration": "1440 h"},
                                               {"id": "b", "op": "delay", "duration": "1440 h"})"));
  CHECK(text.find("program.json:1:") == 0);
  CHECK(text.find(": the step would last longer than 106 days") != std::string::npos);
}

TEST_CASE("a link that is down for a while delays what needs it, and no more") {
  // 1.006 ms, and 5 ms of standstill in the middle.
  const std::string faults =
      R"([{"link": "h0.nic0-leaf0", "factor": 0, "at": "406 us", "until": "5406 us"}])";
  CHECK(step_ps(replay_text(kNetworkMessage, clean_cluster(faults))) == 6'006'000'000);
}
