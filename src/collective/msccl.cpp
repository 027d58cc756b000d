#include "collective/msccl.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "config/node.hpp"
#include "config/quote.hpp"

namespace stepcast::collective {
namespace {

using Dependency = std::pair<std::uint32_t, std::uint32_t>;  // lane and step

/// One thread block while it is read: steps as in the file, some of which only wait.
struct Block {
  std::uint32_t lane = 0;
  std::vector<std::uint32_t> real_before;         // by step of the file: steps of the lane up to and with it
  std::vector<std::vector<Dependency>> waits_of;  // by step of the file: what a nop waits for, in file terms
};

struct StepType {
  std::string_view name;
  Action action;
};
constexpr StepType kTypes[] = {{"s", Action::kSend},
                               {"r", Action::kRecv},
                               {"cpy", Action::kCopy},
                               {"re", Action::kReduce},
                               {"rcs", Action::kRecvCopySend},
                               {"rrs", Action::kRecvReduceSend},
                               {"rrc", Action::kRecvReduceCopy},
                               {"rrcs", Action::kRecvReduceCopySend}};

class MscclReader {
 public:
  MscclReader(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  ScheduleFile read() {
    const pugi::xml_parse_result parsed = xml_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      refuse(parsed.offset, fmt::format("not well-formed XML: {}", parsed.description()), "mend the file");
    }
    const pugi::xml_node algo = xml_.document_element();
    if (std::string_view(algo.name()) != "algo") {
      refuse(algo.offset_debug(), fmt::format("the outermost element is <{}>", algo.name()),
             "MSCCL files begin with <algo>");
    }
    read_head(algo);
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      read_gpu(gpu);
    }
    if (gpus_ != file_.schedule.members) {
      refuse(algo.offset_debug(),
             fmt::format("ngpus is {} but {} GPUs follow", file_.schedule.members, gpus_),
             "give each GPU one <gpu> element");
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(std::ptrdiff_t offset, std::string_view problem, std::string_view remedy) const {
    const std::size_t end =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), text_.size());
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n') + 1;
    throw InputError(fmt::format("{}:{}: {}; {}", name_, line, problem, remedy));
  }

  /// A whole number in [lower, upper]; `fallback` when the attribute is absent (below lower: it must be
  /// there).
  std::int64_t number(const pugi::xml_node& node,
                      const char* attribute,
                      std::int64_t lower,
                      std::int64_t upper,
                      std::int64_t fallback) const {
    const pugi::xml_attribute found = node.attribute(attribute);
    if (!found) {
      if (fallback < lower) {
        refuse(node.offset_debug(), fmt::format("<{}> has no {}", node.name(), attribute), "add it");
      }
      return fallback;
    }
    const std::string_view text = found.value();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || value < lower || value > upper) {
      refuse(node.offset_debug(),
             fmt::format("{}=\"{}\" of <{}> is not a whole number from {} to {}", attribute,
                         config::printable(text, 40), node.name(), lower, upper),
             "give one");
    }
    return value;
  }

  std::uint32_t small(const pugi::xml_node& node, const char* attribute, std::uint32_t upper) const {
    return static_cast<std::uint32_t>(number(node, attribute, 0, upper, -1));
  }

  void read_head(const pugi::xml_node& algo) {
    Schedule& schedule = file_.schedule;
    file_.name = config::printable(algo.attribute("name").as_string("msccl"), 255);
    const std::vector<std::pair<std::string, Kind>> kinds{
        {"allreduce", Kind::kAllReduce},          {"allgather", Kind::kAllGather},
        {"reduce_scatter", Kind::kReduceScatter}, {"alltoall", Kind::kAllToAll},
        {"broadcast", Kind::kBroadcast},          {"reduce", Kind::kReduce}};
    const std::string coll = algo.attribute("coll").as_string();
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) { return known.first == coll; });
    if (coll == "custom") {
      throw UnsupportedError(
          fmt::format("{}: coll=\"custom\" promises nothing that could be checked; use one of "
                      "allreduce, allgather, reduce_scatter, alltoall, broadcast, reduce",
                      name_));
    }
    if (kind == kinds.end()) {
      std::vector<std::string> names;
      names.reserve(kinds.size());
      for (const auto& known : kinds) {
        names.push_back(known.first);
      }
      refuse(algo.offset_debug(), fmt::format("unknown coll \"{}\"", config::printable(coll, 40)),
             suggest(coll, names));
    }
    schedule.kind = kind->second;
    schedule.members = static_cast<std::uint32_t>(number(algo, "ngpus", 1, kMostMembers, 0));
    schedule.channels = static_cast<std::uint32_t>(number(algo, "nchannels", 1, kMostLanes, 1));
    schedule.root = static_cast<std::uint32_t>(number(algo, "root", 0, kMostMembers, 0));
    schedule.in_place = number(algo, "inplace", 0, 1, 1) == 1;
    const std::string proto = algo.attribute("proto").as_string();
    file_.protocol = find_protocol(proto);
    if (!proto.empty() && !file_.protocol) {
      refuse(algo.offset_debug(), fmt::format("unknown proto \"{}\"", config::printable(proto, 40)),
             "use Simple, LL or LL128");
    }
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
    file_.min_bytes = Bytes(number(algo, "minBytes", 0, kMostBytes, 0));
    file_.max_bytes = Bytes(number(algo, "maxBytes", 0, kMostBytes, 0));
  }

  void read_gpu(const pugi::xml_node& gpu) {
    const std::uint32_t rank = small(gpu, "id", kMostMembers);
    if (rank >= file_.schedule.members) {
      refuse(gpu.offset_debug(), fmt::format("GPU {} of {}", rank, file_.schedule.members),
             "count GPUs from 0");
    }
    ++gpus_;
    // The whole buffer: the larger of input and output (0 = it is the other one, in place).
    for (const char* attribute : {"i_chunks", "o_chunks"}) {
      file_.schedule.chunks = std::max(file_.schedule.chunks, small(gpu, attribute, kMostChunks));
    }
    std::map<std::uint32_t, Block> blocks;
    for (const pugi::xml_node tb : gpu.children("tb")) {
      const std::uint32_t id = small(tb, "id", kMostLanes);
      Block block;
      block.lane = static_cast<std::uint32_t>(file_.schedule.lanes.size());
      Lane lane;
      lane.rank = rank;
      lane.thread_block = id;
      lane.channel = static_cast<std::uint32_t>(number(tb, "chan", 0, kMostLanes, 0));
      file_.schedule.channels = std::max(file_.schedule.channels, lane.channel + 1);
      file_.schedule.lanes.push_back(lane);
      read_steps(tb, block);
      if (!blocks.try_emplace(id, std::move(block)).second) {
        refuse(tb.offset_debug(), fmt::format("thread block {} of GPU {} is there twice", id, rank),
               "number them apart");
      }
    }
    resolve(gpu, blocks);
  }

  /// Steps of a block with dependencies still in terms of the file: (thread block id, step of the file).
  void read_steps(const pugi::xml_node& tb, Block& block) {
    Lane& lane = file_.schedule.lanes[block.lane];
    const std::int64_t send = number(tb, "send", -1, kMostMembers, -2);
    const std::int64_t receive = number(tb, "recv", -1, kMostMembers, -2);
    std::vector<Dependency> waiting;  // of nops before the next step
    for (const pugi::xml_node node : tb.children("step")) {
      if (++steps_ > kMostFileSteps) {
        throw UnsupportedError(
            fmt::format("{}: more than {} steps; cut the buffer into fewer chunks", name_, kMostFileSteps));
      }
      const std::int64_t before = number(node, "depid", -1, kMostLanes, -1);
      if (before >= 0) {
        waiting.emplace_back(static_cast<std::uint32_t>(before),
                             static_cast<std::uint32_t>(number(node, "deps", 0, kMostFileSteps, -1)));
      }
      const std::string_view type = node.attribute("type").as_string();
      if (type == "nop") {
        block.real_before.push_back(static_cast<std::uint32_t>(lane.steps.size()));
        block.waits_of.push_back(waiting);
        continue;
      }
      lane.steps.push_back(step_of(node, type, send, receive));
      lane.steps.back().after = std::exchange(waiting, {});
      block.real_before.push_back(static_cast<std::uint32_t>(lane.steps.size()));
      block.waits_of.emplace_back();
    }
  }

  [[nodiscard]] Step step_of(const pugi::xml_node& node,
                             std::string_view type,
                             std::int64_t send,
                             std::int64_t receive) const {
    const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [&](const StepType& one) { return one.name == type; });
    if (known == std::end(kTypes)) {
      refuse(node.offset_debug(),
             fmt::format("unknown step type \"{}\"", config::printable(std::string(type), 40)),
             "use s, r, cpy, re, rcs, rrs, rrc, rrcs or nop");
    }
    Step step;
    step.action = known->action;
    if (sends(step.action) && send < 0) {
      refuse(node.offset_debug(), fmt::format("a step of type {} in a thread block without send peer", type),
             "give the <tb> a send peer");
    }
    if (receives(step.action) && receive < 0) {
      refuse(node.offset_debug(), fmt::format("a step of type {} in a thread block without recv peer", type),
             "give the <tb> a recv peer");
    }
    step.send_peer = sends(step.action) ? static_cast<std::uint32_t>(send) : 0;
    step.receive_peer = receives(step.action) ? static_cast<std::uint32_t>(receive) : 0;
    const auto count = static_cast<std::uint32_t>(number(node, "cnt", 1, kMostChunks, 0));
    step.source = range_of(node, "srcbuf", "srcoff", count);
    step.destination = range_of(node, "dstbuf", "dstoff", count);
    return step;
  }

  ChunkRange range_of(const pugi::xml_node& node,
                      const char* buffer,
                      const char* offset,
                      std::uint32_t count) const {
    const std::string_view name = node.attribute(buffer).as_string();
    ChunkRange range;
    range.count = count;
    if (name == "i") {
      range.buffer = Buffer::kInput;
    } else if (name == "o") {
      range.buffer = Buffer::kOutput;
    } else if (name == "s") {
      range.buffer = Buffer::kScratch;
    } else {
      refuse(node.offset_debug(), fmt::format("{}=\"{}\"", buffer, config::printable(std::string(name), 40)),
             "use i (input), o (output) or s (scratch)");
    }
    // An unused side says -1.
    range.offset =
        static_cast<std::uint32_t>(std::max<std::int64_t>(number(node, offset, -1, kMostChunks, -2), 0));
    return range;
  }

  /// Dependencies of a GPU in terms of lanes: one on a nop is one on what came before it and on what it waits
  /// for.
  void resolve(const pugi::xml_node& gpu, const std::map<std::uint32_t, Block>& blocks) {
    for (const auto& [id, block] : blocks) {
      for (Step& step : file_.schedule.lanes[block.lane].steps) {
        std::vector<Dependency> open = std::exchange(step.after, {});
        std::vector<Dependency> seen;
        while (!open.empty()) {
          const Dependency wait = open.back();
          open.pop_back();
          if (std::find(seen.begin(), seen.end(), wait) != seen.end()) {
            continue;
          }
          seen.push_back(wait);
          const auto other = blocks.find(wait.first);
          if (other == blocks.end() || wait.second >= other->second.real_before.size()) {
            refuse(gpu.offset_debug(),
                   fmt::format(
                       "thread block {} waits for step {} of thread block {}, which GPU {} does not have", id,
                       wait.second, wait.first, small(gpu, "id", kMostMembers)),
                   "mend depid and deps");
          }
          if (const std::uint32_t real = other->second.real_before[wait.second]; real > 0) {
            step.after.emplace_back(other->second.lane, real - 1);
          }
          const auto& nested = other->second.waits_of[wait.second];
          open.insert(open.end(), nested.begin(), nested.end());
        }
        std::sort(step.after.begin(), step.after.end());
        step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
      }
    }
  }

  const std::string& text_;
  const std::string& name_;
  pugi::xml_document xml_;
  ScheduleFile file_;
  std::uint32_t gpus_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

ScheduleFile read_msccl(const std::string& text, const std::string& name) {
  return MscclReader(text, name).read();
}

}  // namespace stepcast::collective
