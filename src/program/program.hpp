#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/id.hpp"
#include "base/units.hpp"
#include "collective/collective.hpp"
#include "compute/kernel.hpp"

namespace stepcast::program {

/// What an operation does (design 2.3).
enum class OpKind : std::uint8_t {
  kCompute,     ///< kernels (target = kernel sequence) or a recorded duration
  kCollective,  ///< target = group slot, detail = CollectiveDetail
  kSend,        ///< target = peer slot, detail = tag
  kRecv,
  kPut,      ///< one-sided write to a peer: target = peer slot
  kGet,      ///< one-sided read from a peer
  kCopy,     ///< local copy engine: bytes at `duration`, or recorded
  kStorage,  ///< target = storage system; flag kWrite
  kDelay,    ///< waits `duration` without using anything
  kLocal,    ///< local reduce or copy of bytes
  kMark,     ///< names a point of the step; takes no time
  kAlloc,    ///< memory effect: + bytes
  kFree,     ///< memory effect: - bytes
  kRepeat,   ///< the next `target` operations run `bytes` times
};
[[nodiscard]] std::string_view name_of(OpKind kind);

enum class StreamKind : std::uint8_t { kHost, kCompute, kCommunication, kCopy };
[[nodiscard]] std::string_view name_of(StreamKind kind);

/// What a dependency waits for.
enum class EdgeKind : std::uint8_t {
  kFinishToStart,  ///< the other has finished (for all its participants on this rank)
  kStartToStart,   ///< the other has started
  kLaunch,         ///< the other (a host operation) has finished, plus the device's launch latency
};
[[nodiscard]] std::string_view name_of(EdgeKind kind);

/// Parallel dimension that an operation's communication belongs to.
enum class Dimension : std::uint8_t { kNone, kTp, kCp, kEp, kDp, kPp };
[[nodiscard]] std::string_view name_of(Dimension dimension);

enum class Phase : std::uint8_t { kNone, kForward, kBackward, kWeight, kOptimizer, kCheckpoint };
[[nodiscard]] std::string_view name_of(Phase phase);

/// Meaning of `bytes` of a collective or message. Never 0 for "unknown".
enum class BytesMeaning : std::uint8_t { kWholeBuffer, kPerRank, kUnknown };

/// Side table entry: what an operation is, for reports. Inside a `repeat` the micro-batch grows by
/// `micro_batch_stride` each iteration.
struct Label {
  std::string name;  ///< "layer forward", "grad reduce-scatter"
  Dimension dimension = Dimension::kNone;
  Phase phase = Phase::kNone;
  std::int32_t layer = -1;
  std::int32_t micro_batch = -1;
  std::int32_t micro_batch_stride = 0;
  std::int32_t chunk = -1;
  friend bool operator==(const Label&, const Label&) = default;
};

/// Side table entry: where an operation came from.
struct SourcePlace {
  std::string file;
  std::int64_t offset = -1;  ///< line of our own format, byte offset of a trace; -1 = generated
  std::string id;            ///< id in the file
  int column = 0;            ///< with a line of our own format; 0 = unknown
  std::string pointer;       ///< JSON pointer in our own format; may be empty
};

/// Side table entry of collectives.
struct CollectiveDetail {
  collective::Kind kind = collective::Kind::kAllReduce;
  std::uint32_t root = 0;
  std::string reduction = "sum";
  std::string algorithm;       ///< hint
  std::string protocol;        ///< hint
  std::uint32_t channels = 0;  ///< hint
  std::vector<Bytes> splits;   ///< uneven all-to-all; empty = even
  /// A step list to be played, of which `algorithm` is the name; no file of ours holds it. Null = none.
  std::shared_ptr<const collective::Schedule> steps = {};
  friend bool operator==(const CollectiveDetail&, const CollectiveDetail&) = default;
};

/// One operation: at most 64 bytes, in a flat array. Streams are first in, first out: an operation
/// starts when its predecessor on the stream has finished and its dependencies hold.
struct Operation {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  static constexpr std::uint8_t kWrite = 1;  ///< storage: write (else read)
  static constexpr std::uint8_t kEager =
      2;  ///< send: starts without the receiver (default: when both are posted)

  OpKind kind = OpKind::kDelay;
  DataType dtype = DataType::kByte;
  std::uint8_t flags = 0;
  std::uint8_t priority = 0;
  std::uint16_t stream = 0;
  std::uint16_t dependency_count = 0;
  std::uint32_t first_dependency = 0;
  std::uint32_t label = kNone;
  std::uint32_t place = kNone;
  std::uint32_t target = kNone;
  std::uint32_t detail = kNone;
  BytesMeaning meaning = BytesMeaning::kWholeBuffer;
  std::int64_t bytes = 0;         ///< payload; repeat: count
  std::int64_t duration_ps = -1;  ///< delay, recorded duration; -1 = ask the model
  std::int64_t recorded_start_ps = -1;
};
static_assert(sizeof(Operation) <= 64);

struct Dependency {
  std::uint32_t operation = 0;  ///< index of the other operation in the same program
  EdgeKind edge = EdgeKind::kFinishToStart;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct Stream {
  std::string name;
  StreamKind kind = StreamKind::kCompute;
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// Kernels that run back to back as one operation.
struct KernelSequence {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What a slot stands for: programs name groups and peers by slot, ranks fill the slots.
enum class SlotKind : std::uint8_t { kGroup, kPeer };
struct Slot {
  std::string name;
  SlotKind kind = SlotKind::kGroup;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// The operations that ranks of one kind run.
///
/// Dependencies across loop levels: inside one body, the same iteration; on an operation outside
/// the loop (before it), its last instance; on an operation of an earlier loop, its last iteration.
struct Program {
  std::string name;
  std::vector<Stream> streams;
  std::vector<Operation> operations;
  std::vector<Dependency> dependencies;
  std::vector<Label> labels;
  std::vector<SourcePlace> places;
  std::vector<CollectiveDetail> collectives;
  std::vector<KernelSequence> sequences;
  std::vector<compute::Kernel> kernels;
  std::vector<Slot> slots;
  SourcePlace origin;  ///< what it was made from: the place of operations that have none of their own
};

/// An ordered list of ranks, small also for 131,072 ranks: nested strides or an explicit list.
/// A list that is one ascending stride is kept as such, so that it equals the strided form.
class Group {
 public:
  struct Stride {
    std::uint32_t step = 1;
    std::uint32_t count = 1;
    friend bool operator==(const Stride&, const Stride&) = default;
  };
  Group() = default;
  [[nodiscard]] static Group strided(std::uint32_t first,
                                     const std::vector<Stride>& strides);  ///< innermost first
  [[nodiscard]] static Group listed(std::vector<std::uint32_t> ranks);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] RankId rank(std::uint32_t index) const;  ///< REQUIRES: index < size()
  [[nodiscard]] std::vector<RankId> ranks() const;
  [[nodiscard]] bool is_listed() const { return !listed_.empty(); }
  [[nodiscard]] std::uint32_t first() const { return first_; }                   ///< REQUIRES: !is_listed()
  [[nodiscard]] const std::vector<Stride>& strides() const { return strides_; }  ///< REQUIRES: !is_listed()
  friend bool operator==(const Group&, const Group&) = default;

 private:
  std::uint32_t size_ = 0;
  std::uint32_t first_ = 0;
  std::vector<Stride> strides_;
  std::vector<std::uint32_t> listed_;
};

/// The programs of a job: which rank runs which, and what its slots mean. A group slot holds a
/// GroupId index, a peer slot a rank index.
struct Programs {
  std::uint32_t ranks = 0;
  std::vector<Program> programs;
  std::vector<std::uint32_t> program_of;  ///< by rank
  IdVector<GroupId, Group> groups;
  std::vector<std::string> group_names;                 ///< by group; may be empty strings
  std::vector<std::vector<std::uint32_t>> slot_values;  ///< by rank, then slot
};

/// Total executions of each operation: the product of the counts of the loops around it (saturating
/// at 2^63). A `repeat` itself counts as often as its own body begins: the loops around it only.
/// REQUIRES: loops nest (as `check` makes sure).
[[nodiscard]] std::vector<std::uint64_t> execution_counts(const Program& program);

/// Loop structure: for each operation, the index of the innermost `repeat` around it (kNone = none).
[[nodiscard]] std::vector<std::uint32_t> enclosing_loops(const Program& program);

/// `text` with the place of an operation in front where it is known: "FILE:LINE:COL: /json/pointer: text".
[[nodiscard]] std::string at_operation(const Program& program,
                                       std::uint32_t operation,
                                       std::string_view text);

/// Checks everything that can be known before the run and throws one InputError with all findings:
/// indices in range, slots filled, loops that nest (at most 64 deep) with counts in [1, 2^31] and at
/// most 2^62 executions in all, dependency cycles (named), every send matched by a recv of equal bytes
/// (per sender, receiver and tag, in program order) and every member of a group joining the same
/// collectives in kind, bytes, root and number. Loops are compared without being expanded. Names
/// ranks, operations and, where known, file and line. Wildcard receives do not exist in the type.
/// Not found here, but by the executor: ranks that wait for each other in a circle.
void check(const Programs& programs);

}  // namespace stepcast::program
