#include "collective/schedule_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "collective/msccl.hpp"
#include "config/node.hpp"

namespace stepcast::collective {
namespace {

std::uint32_t whole(const config::Node& node, std::uint32_t most) {
  return node.present() ? static_cast<std::uint32_t>(node.integer(0, most)) : 0;
}

ChunkRange range_of(const config::Node& node) {
  node.allow_only({"buffer", "offset", "count"});
  ChunkRange range;
  range.buffer = static_cast<Buffer>(node.require("buffer").one_of({"input", "output", "scratch"}));
  range.offset = whole(node.require("offset"), kMostChunks);
  range.count = node.get("count").present() ? whole(node.get("count"), kMostChunks) : 1;
  return range;
}

/// Our own JSON form.
class JsonReader {
 public:
  explicit JsonReader(const config::Document& document) : root_(document.root()) {}

  ScheduleFile read() {
    root_.allow_only(
        {"name", "kind", "members", "chunks", "channels", "root", "in_place", "protocol", "lanes"});
    ScheduleFile file;
    file.name = root_.get("name").present() ? root_.get("name").name() : std::string("schedule");
    Schedule& schedule = file.schedule;
    schedule.kind = static_cast<Kind>(root_.require("kind").one_of(kind_names()));
    schedule.members = static_cast<std::uint32_t>(root_.require("members").integer(1, kMostMembers));
    schedule.chunks = whole(root_.require("chunks"), kMostChunks);
    schedule.channels = root_.get("channels").present()
                            ? static_cast<std::uint32_t>(root_.get("channels").integer(1, kMostLanes))
                            : 1;
    schedule.root = whole(root_.get("root"), kMostMembers);
    schedule.in_place = !root_.get("in_place").present() || root_.get("in_place").boolean();
    if (root_.get("protocol").present()) {
      file.protocol = static_cast<Protocol>(root_.get("protocol").one_of(protocol_names()));
    }
    for (const config::Node& lane : root_.require("lanes").items()) {
      schedule.lanes.push_back(lane_of(lane));
      steps_ += schedule.lanes.back().steps.size();
      if (steps_ > kMostFileSteps) {
        lane.error(fmt::format("more than {} steps in all", kMostFileSteps),
                   "cut the buffer into fewer chunks");
        break;
      }
    }
    return file;
  }

 private:
  static Lane lane_of(const config::Node& node) {
    node.allow_only({"rank", "thread_block", "channel", "steps"});
    Lane lane;
    lane.rank = whole(node.require("rank"), kMostMembers);
    lane.thread_block = whole(node.get("thread_block"), kMostLanes);
    lane.channel = whole(node.get("channel"), kMostLanes);
    for (const config::Node& step : node.require("steps").items()) {
      lane.steps.push_back(step_of(step));
    }
    return lane;
  }

  static Step step_of(const config::Node& node) {
    node.allow_only({"action", "from", "to", "source", "destination", "after"});
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Action::kRecvReduceCopySend); ++i) {
      names.emplace_back(name_of(static_cast<Action>(i)));
    }
    Step step;
    step.action = static_cast<Action>(node.require("action").one_of(names));
    if (receives(step.action)) {
      step.receive_peer = whole(node.require("from"), kMostMembers);
    }
    if (sends(step.action)) {
      step.send_peer = whole(node.require("to"), kMostMembers);
    }
    step.source = range_of(node.require("source"));
    step.destination = node.get("destination").present() ? range_of(node.get("destination")) : step.source;
    if (node.get("after").present()) {
      for (const config::Node& before : node.get("after").items()) {
        before.allow_only({"lane", "step"});
        step.after.emplace_back(whole(before.require("lane"), kMostLanes),
                                whole(before.require("step"), kMostFileSteps));
      }
    }
    return step;
  }

  config::Node root_;
  std::size_t steps_ = 0;
};

bool looks_like_xml(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string::npos && text[first] == '<';
}

/// Counts what stands for a step before anything is parsed: a tree of too many would not fit into memory.
void check_step_count(const std::string& text, const std::string& name, std::string_view mark) {
  std::size_t steps = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + mark.size())) {
    ++steps;
  }
  if (steps > kMostFileSteps) {
    throw UnsupportedError(
        fmt::format("{}: {} steps, and at most {} are read; cut the buffer into fewer chunks", name, steps,
                    kMostFileSteps));
  }
}

ScheduleFile read_json(const std::string& text, const std::string& name) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, name, diagnostics);
  ScheduleFile file = JsonReader(document).read();
  diagnostics.throw_if_any();
  return file;
}

}  // namespace

ScheduleFile read_schedule(const std::string& text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw InputError(
        fmt::format("{}: the file is empty; give MSCCL XML or the JSON of stepcast dump schedule", name));
  }
  const bool xml = looks_like_xml(text);
  check_step_count(text, name, xml ? "<step" : "\"action\"");
  ScheduleFile file = xml ? read_msccl(text, name) : read_json(text, name);
  // The checker follows every chunk of every member's buffers as a count per contributor.
  constexpr double kMostCounts = 1.5e8;
  const double members = file.schedule.members;
  if (members * members * std::max(file.schedule.chunks, 1U) > kMostCounts) {
    throw UnsupportedError(fmt::format(
        "{}: {} chunks on {} members are too many to be checked; cut the buffer into fewer chunks", name,
        file.schedule.chunks, file.schedule.members));
  }
  const CheckResult checked = check(file.schedule);
  if (!checked.ok) {
    throw InputError(fmt::format("{}: the schedule is no {}: {}; mend the step list", name,
                                 name_of(file.schedule.kind), checked.problem));
  }
  return file;
}

ScheduleFile load_schedule(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    if (in && in.peek() == std::ifstream::traits_type::eof()) {
      return read_schedule({}, path);
    }
    throw InputError(fmt::format("{}: cannot be read; give the path of a step list", path));
  }
  return read_schedule(text.str(), path);
}

}  // namespace stepcast::collective
