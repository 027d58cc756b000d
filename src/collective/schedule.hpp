#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast::collective {

enum class Kind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,
  kBarrier,
  kScatter,
  kGather,
};

/// What each member of a kind has and gets.
[[nodiscard]] bool has_root(Kind kind);
/// The buffer is cut into one part for each member (as nccl-tests counts elements).
[[nodiscard]] bool cuts_by_member(Kind kind);
[[nodiscard]] bool reduces(Kind kind);

/// Name as in files and on the command line: "all_reduce", ...
[[nodiscard]] std::string_view name_of(Kind kind);
[[nodiscard]] const std::vector<std::string>& kind_names();

/// nccl-tests bus factor: busbw = algbw * factor (F-N2).
[[nodiscard]] double bus_factor(Kind kind, std::uint32_t members);

/// What one step of a lane does. Fused forms as in NCCL's primitives and MSCCL.
enum class Action : std::uint8_t {
  kSend,            ///< send buffer chunk to peer
  kRecv,            ///< receive from peer into buffer chunk
  kCopy,            ///< local copy
  kReduce,          ///< local reduce of source into destination
  kRecvCopySend,    ///< receive, store, forward
  kRecvReduceSend,  ///< receive, reduce with the local chunk, forward (not stored)
  kRecvReduceCopy,  ///< receive, reduce with the local chunk, store
  kRecvReduceCopySend,
};
[[nodiscard]] bool receives(Action action);
[[nodiscard]] bool sends(Action action);
[[nodiscard]] std::string_view name_of(Action action);

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

/// Chunks [offset, offset + count) of a buffer, in units of the schedule's chunk size.
struct ChunkRange {
  Buffer buffer = Buffer::kInput;
  std::uint32_t offset = 0;
  std::uint32_t count = 1;
};

/// One step of a lane.
struct Step {
  Action action = Action::kSend;
  std::uint32_t receive_peer = 0;  ///< member index, when receives(action)
  std::uint32_t send_peer = 0;     ///< member index, when sends(action)
  ChunkRange source;               ///< read from (send, copy, reduce operand)
  ChunkRange destination;          ///< written to (recv, copy, reduce target)
  /// (lane, step) of the same rank done before; a lane is its index in Schedule::lanes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after = {};
};

/// Steps that run in order: one thread block of one rank, on one channel. Messages are matched in
/// order per (sender, receiver, channel); one lane at each end of it. A send does not block.
struct Lane {
  std::uint32_t rank = 0;  ///< member index, or a switch
  std::uint32_t thread_block = 0;
  std::uint32_t channel = 0;
  std::vector<Step> steps = {};
};

/// A collective as data, before anything is timed. The buffer is cut into `chunks` equal chunks.
/// all-gather and gather: input holds chunks/members chunks, output all; reduce-scatter and scatter the
/// reverse. barrier: as all-reduce.
/// send_recv: every member sends its input to the next member (nccl-tests sendrecv_perf).
/// In place, the small buffer is the member's own part of the large
/// one (input chunk i of member r = output chunk r * chunks/members + i, or the reverse).
///
/// Switches that reduce take part as further ranks, members .. members + switches - 1: they have scratch
/// memory only, and nothing is promised about it.
struct Schedule {
  Kind kind = Kind::kAllReduce;
  std::uint32_t members = 0;
  std::uint32_t switches = 0;
  std::uint32_t chunks = 0;  ///< chunks of the whole buffer
  std::uint32_t channels = 1;
  std::uint32_t root = 0;
  bool in_place = true;  ///< input and output are one buffer
  std::vector<Lane> lanes;
};

/// Chunks of a member's input or output buffer: of the whole, or its part of it. Scratch has no size.
[[nodiscard]] std::uint32_t chunks_of(const Schedule& schedule, Buffer buffer);
/// Where a member's input or output begins in the one buffer of a schedule in place.
[[nodiscard]] std::uint32_t first_chunk_of(const Schedule& schedule, Buffer buffer, std::uint32_t member);

/// What the symbolic checker found. `ok` or the first violation, naming step, rank and chunk.
struct CheckResult {
  bool ok = false;
  std::string problem;
};

/// Executes the schedule symbolically: every chunk is a multiset of contributions. Finds deadlock
/// (who waits for whom), reads before writes, unmatched messages, and a wrong postcondition
/// (contribution missing or counted twice). Time is linear in chunks moved x members.
[[nodiscard]] CheckResult check(const Schedule& schedule);

}  // namespace stepcast::collective
