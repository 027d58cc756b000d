#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "collective/schedule_file.hpp"
#include "replay/collective_run.hpp"
#include "report/schedule_json.hpp"
#include "small_fabric.hpp"
#include "support/catch.hpp"

// Step lists from files, played on a fabric.

using namespace stepcast;
using namespace stepcast::collective;
using namespace stepcast::collective::test;
using namespace stepcast::literals;

namespace {

/// All-gather of four by hand: every member sends its chunk to the three others, the nearest first.
std::string by_hand() {
  std::string text = R"({"name": "by hand", "kind": "all_gather", "members": 4, "chunks": 4, "lanes": [)";
  for (int rank = 0; rank < 4; ++rank) {
    text += fmt::format(R"({}{{"rank": {}, "steps": [)", rank == 0 ? "" : ",", rank);
    const auto step = [&](const char* action, const char* side, int peer, int chunk) {
      const std::string range = fmt::format(R"({{"buffer": "output", "offset": {}, "count": 1}})", chunk);
      text += fmt::format(R"({}{{"action": "{}", "{}": {}, "source": {}, "destination": {}}})",
                          text.back() == '[' ? "" : ",", action, side, peer, range, range);
    };
    for (int distance = 1; distance < 4; ++distance) {
      step("send", "to", (rank + distance) % 4, rank);
    }
    for (int distance = 1; distance < 4; ++distance) {
      step("recv", "from", (rank + 4 - distance) % 4, (rank + 4 - distance) % 4);
    }
    text += "]}";
  }
  return text + "]}";
}

Request asking_for(const ScheduleFile& file, Bytes bytes) {
  Request request;
  request.kind = file.schedule.kind;
  request.bytes = bytes;
  request.algorithm = file.name;
  request.protocol = file.protocol.value_or(Protocol::kSimple);
  request.steps = std::make_shared<const Schedule>(file.schedule);
  return request;
}

std::int64_t run_ps(const routing::Router& router,
                    const Request& request,
                    const std::vector<GpuId>& group,
                    const replay::CollectiveOptions& options = {},
                    const std::vector<replay::OtherCollective>& others = {}) {
  const std::vector<Bytes> sizes{request.bytes};
  return replay::run_collectives(router, request, sizes, group, options, others).front().time.ps();
}

}  // namespace

TEST_CASE("a hand-written all-gather of four takes its launch, three chunks and a hop",
          "[collective][steps]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  const ScheduleFile file = read_schedule(by_hand(), "by_hand.json");
  // 5 us of launch, 3 x 800,000 B at 80 GB/s (10 us each; no two senders meet at a receiver), 10 us of hop.
  const Request request = asking_for(file, Bytes(3'200'000));
  CHECK(run_ps(router, request, first_gpus(4)) == Approx(45'000'000).margin(5));
  // The same without folding, and what was chosen.
  CHECK(run_ps(router, request, first_gpus(4), {.fold = replay::Fold::kOff}) ==
        run_ps(router, request, first_gpus(4)));
  const std::vector<Bytes> sizes{Bytes(3'200'000), Bytes(0)};
  const auto times = replay::run_collectives(router, request, sizes, first_gpus(4));
  CHECK(times[0].algorithm == "by hand");
  CHECK(times[0].protocol == Protocol::kSimple);
  CHECK(times[0].channels == 1);
  CHECK(times[1].time == 5_us);  // no bytes: the launch
  // Beside its twin on the same host it has half of every link: the chunks take twice as long.
  CHECK(run_ps(router, request, first_gpus(4), {}, {{request, first_gpus(4), {}}}) ==
        Approx(75'000'000).margin(5));
  CHECK_THROWS_AS(run_ps(router, request, first_gpus(4), {.fidelity = "analytic"}), UnsupportedError);
}

TEST_CASE("a leaf written as a step list takes the time that it takes step by step", "[collective][steps]") {
  const topology::Cluster cluster = one_leaf(round_host(4), 2);
  const routing::Router router(cluster, "balanced");
  for (const char* name : {"ring_all_reduce", "ring_all_gather", "halving_doubling_all_reduce"}) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.name != name) {
        continue;
      }
      // One host: the pattern of the leaf and the step list send by the same NICs.
      ScheduleFile file;
      file.schedule = algorithm.schedule(Places::even(4), 1, 0);
      const ScheduleFile again = read_schedule(report::schedule_json(file.schedule), "x.json");
      Request request = asking_for(again, Bytes(4'800'001));
      const std::int64_t played = run_ps(router, request, first_gpus(4));
      request.steps = nullptr;
      request.algorithm = name;
      request.channels = 1;
      CAPTURE(name);
      CHECK(played == run_ps(router, request, first_gpus(4), {.form = Form::kSteps}));
    }
  }
}

TEST_CASE("a message is as large as the chunks that it holds, wherever they are kept",
          "[collective][steps]") {
  // Rank 0 has seven chunks; rank 1 keeps them in scratch, far away, before it passes them on.
  Schedule schedule{
      .kind = Kind::kBroadcast, .members = 3, .chunks = 7, .lanes = {{.rank = 0}, {.rank = 1}, {.rank = 2}}};
  for (std::uint32_t chunk = 0; chunk < 7; ++chunk) {
    const ChunkRange data{.buffer = Buffer::kOutput, .offset = chunk, .count = 1};
    const ChunkRange kept{.buffer = Buffer::kScratch, .offset = 100 - chunk, .count = 1};
    schedule.lanes[0].steps.push_back(
        {.action = Action::kSend, .send_peer = 1, .source = data, .destination = data});
    schedule.lanes[1].steps.push_back(
        {.action = Action::kRecv, .receive_peer = 0, .source = kept, .destination = kept});
    schedule.lanes[1].steps.push_back({.action = Action::kCopy, .source = kept, .destination = data});
    schedule.lanes[1].steps.push_back(
        {.action = Action::kSend, .send_peer = 2, .source = kept, .destination = kept});
    schedule.lanes[2].steps.push_back(
        {.action = Action::kRecv, .receive_peer = 1, .source = data, .destination = data});
  }
  REQUIRE(check(schedule).ok);
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  for (const std::int64_t bytes : {1, 6, 1'000'003}) {
    const Request request =
        asking_for({.name = "chain", .schedule = schedule, .protocol = {}, .min_bytes = {}, .max_bytes = {}},
                   Bytes(bytes));
    const Lowered lowered = Lowering(router).lower(request, first_gpus(3), Form::kCoupled);
    REQUIRE(lowered.form == Form::kSteps);
    REQUIRE(lowered.stepped.steps.size() == 14);
    std::map<std::uint32_t, std::vector<std::int64_t>> sent;
    for (const StepTransfer& step : lowered.stepped.steps) {
      sent[step.source].push_back(step.payload);
    }
    std::vector<std::int64_t> sizes;
    for (std::int64_t chunk = 0; chunk < 7; ++chunk) {
      sizes.push_back((chunk + 1) * bytes / 7 - chunk * bytes / 7);
    }
    CHECK(sent == std::map<std::uint32_t, std::vector<std::int64_t>>{{0, sizes}, {1, sizes}});
  }
}

TEST_CASE("every message of an uneven all-to-all has the size of its split", "[collective][steps]") {
  // A row for each member. Into member 0 come 2 + 3 MB, the most; out of member 1 go 3 + 4 MB at 10 GB/s.
  const topology::Cluster cluster = one_leaf(without_latency(round_host(1)), 3);
  const routing::Router router(cluster, "balanced");
  Request request;
  request.kind = Kind::kAllToAll;
  request.protocol = Protocol::kSimple;
  for (const std::int64_t megabytes : {9, 0, 1, 3, 9, 4, 2, 0, 9}) {
    request.splits.emplace_back(megabytes * 1'000'000);
  }
  request.bytes = Bytes(16'000'000);
  const Lowered lowered = Lowering(router).lower(request, first_gpus(3), Form::kCoupled);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent;
  for (const StepTransfer& step : lowered.stepped.steps) {
    sent[{step.source, step.destination}] += step.payload;
  }
  CHECK(sent == std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>{{{0, 1}, 0},
                                                                                {{0, 2}, 1'000'000},
                                                                                {{1, 0}, 3'000'000},
                                                                                {{1, 2}, 4'000'000},
                                                                                {{2, 0}, 2'000'000},
                                                                                {{2, 1}, 0}});
  CHECK(run_ps(router, request, first_gpus(3)) == Approx(700'000'000).epsilon(1e-6));
}

TEST_CASE("the shipped step list does what it says in two hops", "[collective][steps]") {
  const ScheduleFile file =
      load_schedule(STEPCAST_SOURCE_DIR "/workloads/schedules/all_gather_doubling.json");
  const topology::Cluster cluster = one_leaf(round_host(4), 1);
  const routing::Router router(cluster, "balanced");
  // 5 us, then a chunk of 800,000 B (10 us) and two (20 us) with a hop of 10 us behind each.
  CHECK(run_ps(router, asking_for(file, Bytes(3'200'000)), first_gpus(4)) == Approx(55'000'000).margin(5));
}

TEST_CASE("every MSCCL file that passes the check can be played", "[collective][steps]") {
  // Schedules of others that lie beside a development checkout; nothing to do without them.
  const std::filesystem::path folder =
      std::filesystem::path(STEPCAST_SOURCE_DIR) / ".." / "shared" / "inputs" / "5_schedules";
  if (!std::filesystem::exists(folder)) {
    return;
  }
  const topology::Cluster cluster = one_leaf(round_host(8), 8);
  const routing::Router router(cluster, "balanced");
  int played = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") {
      continue;
    }
    CAPTURE(entry.path().string());
    ScheduleFile file;
    try {
      file = load_schedule(entry.path().string());
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).find("; ") != std::string::npos);  // a reason and a remedy
      ++refused;
      continue;
    }
    const Request request = asking_for(file, 1_MiB);
    const std::int64_t time = run_ps(router, request, first_gpus(file.schedule.members));
    CHECK(time > 5'000'000);
    CHECK(time < 100'000'000'000);
    ++played;
  }
  CHECK(played > 40);
  CHECK(refused < 10);
}
