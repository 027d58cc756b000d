#include "collective/schedule.hpp"

#include <array>

#include "base/check.hpp"

namespace stepcast::collective {
namespace {

constexpr std::array<std::string_view, 10> kKindNames = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "all_to_all", "send_recv",  "barrier",        "scatter",   "gather"};

constexpr std::array<std::string_view, 8> kActionNames = {"send",
                                                          "recv",
                                                          "copy",
                                                          "reduce",
                                                          "recv_copy_send",
                                                          "recv_reduce_send",
                                                          "recv_reduce_copy",
                                                          "recv_reduce_copy_send"};

}  // namespace

std::string_view name_of(Kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  STEPCAST_CHECK(index < kKindNames.size(), "collective kind {}", index);
  return kKindNames[index];
}

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names(kKindNames.begin(), kKindNames.end());
  return names;
}

double bus_factor(Kind kind, std::uint32_t members) {
  STEPCAST_CHECK(members >= 1, "a collective without members");
  const double n = members;
  switch (kind) {
    case Kind::kAllReduce: return 2 * (n - 1) / n;
    case Kind::kAllGather:
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
    case Kind::kScatter:
    case Kind::kGather: return (n - 1) / n;
    case Kind::kBroadcast:
    case Kind::kReduce:
    case Kind::kSendRecv:
    case Kind::kBarrier: return 1;
  }
  return 1;
}

bool has_root(Kind kind) {
  return kind == Kind::kBroadcast || kind == Kind::kReduce || kind == Kind::kScatter || kind == Kind::kGather;
}

bool cuts_by_member(Kind kind) {
  return kind == Kind::kAllGather || kind == Kind::kReduceScatter || kind == Kind::kAllToAll ||
         kind == Kind::kScatter || kind == Kind::kGather;
}

bool reduces(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduceScatter || kind == Kind::kReduce;
}

std::uint32_t chunks_of(const Schedule& schedule, Buffer buffer) {
  const bool gathers = schedule.kind == Kind::kAllGather || schedule.kind == Kind::kGather;
  const bool scatters = schedule.kind == Kind::kReduceScatter || schedule.kind == Kind::kScatter;
  return (buffer == Buffer::kInput && gathers) || (buffer == Buffer::kOutput && scatters)
             ? schedule.chunks / schedule.members
             : schedule.chunks;
}

std::uint32_t first_chunk_of(const Schedule& schedule, Buffer buffer, std::uint32_t member) {
  const std::uint32_t size = chunks_of(schedule, buffer);
  return buffer == Buffer::kScratch || size == schedule.chunks ? 0 : member * size;
}

bool receives(Action action) {
  return action != Action::kSend && action != Action::kCopy && action != Action::kReduce;
}

bool sends(Action action) {
  return action == Action::kSend || action == Action::kRecvCopySend || action == Action::kRecvReduceSend ||
         action == Action::kRecvReduceCopySend;
}

std::string_view name_of(Action action) {
  const auto index = static_cast<std::size_t>(action);
  STEPCAST_CHECK(index < kActionNames.size(), "schedule action {}", index);
  return kActionNames[index];
}

}  // namespace stepcast::collective
