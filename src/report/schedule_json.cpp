#include "report/schedule_json.hpp"

#include <nlohmann/json.hpp>

namespace stepcast::report {
namespace {

using Json = nlohmann::ordered_json;

Json range(const collective::ChunkRange& chunks) {
  constexpr const char* kNames[] = {"input", "output", "scratch"};
  return Json{{"buffer", kNames[static_cast<std::size_t>(chunks.buffer)]},
              {"offset", chunks.offset},
              {"count", chunks.count}};
}

Json step_json(const collective::Step& step) {
  Json out;
  out["action"] = collective::name_of(step.action);
  if (collective::receives(step.action)) {
    out["from"] = step.receive_peer;
  }
  if (collective::sends(step.action)) {
    out["to"] = step.send_peer;
  }
  out["source"] = range(step.source);
  out["destination"] = range(step.destination);
  for (const auto& [lane, before] : step.after) {
    out["after"].push_back(Json{{"lane", lane}, {"step", before}});
  }
  return out;
}

}  // namespace

std::string schedule_json(const collective::Schedule& schedule) {
  Json out;
  out["kind"] = collective::name_of(schedule.kind);
  out["members"] = schedule.members;
  out["chunks"] = schedule.chunks;
  out["channels"] = schedule.channels;
  out["root"] = schedule.root;
  out["in_place"] = schedule.in_place;
  Json& lanes = out["lanes"] = Json::array();
  for (const collective::Lane& lane : schedule.lanes) {
    Json steps = Json::array();
    for (const collective::Step& step : lane.steps) {
      steps.push_back(step_json(step));
    }
    lanes.push_back(Json{{"rank", lane.rank},
                         {"thread_block", lane.thread_block},
                         {"channel", lane.channel},
                         {"steps", steps}});
  }
  return out.dump(1) + "\n";
}

}  // namespace stepcast::report
