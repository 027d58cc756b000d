#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "program/program.hpp"
#include "workload/layer_kernels.hpp"

namespace stepcast::workload {

/// Streams of every generated program, in this order.
enum class StreamId : std::uint16_t {
  kCompute,
  kTp,
  kDp,
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
  kStorage,
};

/// Whether an operation is the next link of the chain, or stands beside it.
enum class Link : std::uint8_t { kChained, kSide };

/// What labels say about the operations being added.
struct Context {
  program::Phase phase = program::Phase::kNone;
  std::int32_t layer = -1;
  std::int32_t micro_batch = -1;
  std::int32_t micro_batch_stride = 0;  ///< per iteration of the outermost repeat
  std::int32_t chunk = -1;
};

/// Writes one Program. Internal to workload/.
///
/// The chain: most operations follow the one before in data, whatever stream it was on. A chained
/// operation depends on the last chained one unless both are on one stream (first in, first out).
/// Programs have no dependency on an earlier iteration, so `end_repeat` closes the chain through the
/// stream of the first operation of the body by a wait of no duration.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name);

  [[nodiscard]] Context& context() { return context_; }

  [[nodiscard]] std::uint32_t add_slot(std::string name, program::SlotKind kind);

  /// The next operation also depends on `operation`.
  void after(std::uint32_t operation, program::EdgeKind edge = program::EdgeKind::kFinishToStart);

  // Each adds an operation and returns its index.
  std::uint32_t compute(std::string_view label, const Kernels& kernels);
  std::uint32_t collective(std::string_view label,
                           program::Dimension dimension,
                           StreamId stream,
                           std::uint32_t slot,
                           collective::Kind kind,
                           double bytes,
                           DataType dtype,
                           Link link = Link::kChained);
  std::uint32_t send(
      std::string_view label, StreamId stream, std::uint32_t slot, std::uint32_t tag, double bytes);
  std::uint32_t receive(
      std::string_view label, StreamId stream, std::uint32_t slot, std::uint32_t tag, double bytes);
  std::uint32_t storage_write(std::string_view label, double bytes);
  /// Waits for its dependencies and takes no time.
  std::uint32_t wait(std::string_view label, StreamId stream, Link link = Link::kChained);

  /// Operations so far.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(program_.operations.size()); }

  /// Starts a new chain: what follows depends on nothing but its stream.
  void start_chain() { last_ = program::Operation::kNone; }
  /// Last operation of the chain; kNone at its start.
  [[nodiscard]] std::uint32_t last() const { return last_; }
  /// True when the chain ends on `stream`.
  [[nodiscard]] bool chain_on(StreamId stream) const;

  /// The operations until end_repeat run `count` times; a count of 1 leaves no trace.
  void begin_repeat(std::uint64_t count);
  /// Ends a body whose iterations are one chain.
  void end_chained_repeat();
  /// Ends a body whose iterations are ordered by their streams alone.
  void end_repeat();

  [[nodiscard]] program::Program take() { return std::move(program_); }

 private:
  std::uint32_t add(program::Operation operation,
                    std::string_view label,
                    program::Dimension dimension,
                    Link link);
  std::uint32_t label(std::string_view name, program::Dimension dimension);
  std::uint32_t sequence(const Kernels& kernels);
  std::uint32_t detail(collective::Kind kind);

  using LabelKey = std::tuple<std::string, int, int, int, int, int, int>;
  program::Program program_;
  Context context_;
  std::uint32_t last_ = program::Operation::kNone;
  std::vector<program::Dependency> pending_;
  std::vector<std::uint32_t> open_repeats_;  // index of the repeat, or kNone for a count of 1
  std::map<LabelKey, std::uint32_t> labels_;
};

}  // namespace stepcast::workload
