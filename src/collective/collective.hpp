#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/id.hpp"
#include "base/units.hpp"
#include "collective/algorithm.hpp"
#include "collective/places.hpp"
#include "collective/schedule.hpp"
#include "hardware/catalog.hpp"
#include "network/flow_network.hpp"
#include "routing/router.hpp"

namespace stepcast::collective {

namespace nccl {
class Chooser;
struct GroupCosts;
struct Candidate;
}  // namespace nccl

/// NCCL's MAXCHANNELS.
inline constexpr std::uint32_t kMostChannels = 64;

/// One call of a collective. `bytes` is the nccl-tests "size": the whole buffer (all-gather: the
/// gathered result; reduce-scatter and scatter: the full input; gather: the result; all-to-all: all that a
/// member sends; all-reduce, broadcast, reduce: the buffer; send/recv: the message; barrier: not used).
struct Request {
  Kind kind = Kind::kAllReduce;
  Bytes bytes;
  DataType dtype = DataType::kBf16;
  std::uint32_t root = 0;  ///< index in the group
  /// Hint: name of an algorithm, which may be followed by its shape (":8x4=ring,tree"); empty = choose.
  std::string algorithm;
  std::optional<Protocol> protocol;  ///< hint, none = choose
  std::uint32_t channels = 0;        ///< hint, 0 = choose
  /// All-to-all: bytes that every member sends to each member, adding up to `bytes`; or of every member in
  /// turn (members x members), adding up to at most `bytes` each. Empty = equal parts.
  std::vector<Bytes> splits = {};
  /// A checked step list of this kind, for as many members as the group has, to be played instead of an
  /// algorithm; `algorithm` is then its name. Null = none.
  std::shared_ptr<const Schedule> steps = {};
  Reduction reduction = Reduction::kSum;
  friend bool operator==(const Request&, const Request&) = default;
};

/// A collective as one coupled activity of the flow network (right in the pipelined steady state).
struct CoupledActivity {
  Duration latency;          ///< from the arrival of the last member to the start of transfer
  std::int64_t work = 0;     ///< units of progress (bytes per hop and channel), protocol terms included
  std::int64_t payload = 0;  ///< of these, bytes that are really moved
  std::vector<network::Demand> demands;
  std::uint32_t divisor = 1;
  std::uint32_t fairness = 1;
  double cap = 0;                           ///< progress per second, 0 = none
  std::vector<Duration> completion_offset;  ///< by member: done this long after the activity; empty = 0
};

/// One transfer of a schedule played step by step.
struct StepTransfer {
  /// Member indices in the group. Equal where the other end is a switch that reduces.
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  Duration latency;          ///< arrives this long after the last byte has left
  std::int64_t work = 0;     ///< bytes, protocol overhead included
  std::int64_t payload = 0;  ///< bytes that are really moved
  std::vector<network::Demand> demands;
  std::uint32_t divisor = 1;
  std::vector<std::uint32_t> after;       ///< transfers that must have arrived
  std::vector<std::uint32_t> after_left;  ///< transfers of the same sender whose last byte must have left
};

/// A collective as transfers with dependencies (too small to fill the pipe, uneven, imported step lists).
struct SteppedTransfers {
  Duration latency;  ///< launch, from a member's arrival to its first step
  std::vector<StepTransfer> steps;
};

/// Which of the two a lowering is asked for.
enum class Form : std::uint8_t { kCoupled, kSteps };

/// What a collective becomes on a fabric, and what was chosen.
struct Lowered {
  std::string
      algorithm;  ///< name of the leaf, with a shape that was asked for; empty for messages and storage
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;
  Form form = Form::kCoupled;
  CoupledActivity coupled;  ///< when form == kCoupled
  /// Activities that follow it one after the other, each after its own latency: algorithms whose phases
  /// do not overlap. Completion offsets count from the end of the last.
  std::vector<CoupledActivity> then;
  SteppedTransfers stepped;     ///< when form == kSteps: asked for, or the only right one
  std::uint32_t footprint = 0;  ///< lowered on footprints: which of them
  Duration idle_time;           ///< predicted time on an idle fabric
};

/// A hop of a ring: its physical latency.
struct RingHop {
  Duration latency;
  bool network = false;
  friend bool operator==(const RingHop&, const RingHop&) = default;
};

/// All that a coupled collective takes from the fabric: the pattern of an algorithm on a group. Groups whose
/// footprints agree in everything but the resources of `demands` cost the same.
struct Footprint {
  struct Phase {
    Duration local_latency;    ///< physical, of the longest hop inside hosts
    Duration network_latency;  ///< ... and over the network
    /// Of a ring whose hops over the network differ, some longer than a protocol's own latency: its hops in
    /// order, of the channel where they add up to most. Else empty: the longest stands for all.
    std::vector<RingHop> ring;
    double rate = 0;                       ///< bytes/s of a weight of one on the idle fabric
    std::vector<network::Demand> demands;  ///< one unit of progress
    std::uint32_t divisor = 1;
  };
  std::shared_ptr<const Places> places;
  std::shared_ptr<const nccl::GroupCosts> costs;  ///< what a choice on this group goes by
  Pattern (*pattern)(const Places& places, std::uint32_t channels, std::uint32_t root) = nullptr;
  std::uint32_t channels = 0;
  std::uint32_t crossing_hops = 0;  ///< of one channel that cross the network (the largest over channels)
  bool several_hosts = false;
  std::vector<Phase> phases;
};

/// The path of a message: all that it takes from the fabric.
struct MessagePath {
  bool network = false;  ///< leaves the NVLink domain
  Duration latency;
  double rate = 0;  ///< bytes/s on the idle fabric; 0 = sender and receiver are one GPU
  std::vector<network::Demand> demands;
  std::uint32_t divisor = 1;
};

class Layout;

/// Turns collectives into demands on the resources of one router. Results depend only on the
/// arguments; costs come from the host kind's CollectiveConstants (form in README.md of this folder).
/// The layouts of the last group are kept for the next call, so several threads need one each.
class Lowering {
 public:
  /// Throws InputError for what the cluster says of NCCL.
  explicit Lowering(const routing::Router& router);

  /// `group`: the GPUs of the members, in group order (size >= 1; one member or zero bytes gives an
  /// activity without demands that lasts the launch latency). Throws InputError for an unknown algorithm
  /// hint, one that cannot run on this group, or a protocol that it cannot use.
  /// Without a hint: as NCCL's rules choose (nccl/), for kinds that it has no tables for the first leaf that
  /// can run, and among leaves that NCCL does not have the one with the least idle time.
  /// A request with a step list is always lowered to steps.
  [[nodiscard]] Lowered lower(const Request& request, std::span<const GpuId> group, Form form) const;

  /// Several calls on one group, in their order; each pattern is laid out once.
  [[nodiscard]] std::vector<Lowered> lower(std::span<const Request> requests,
                                           std::span<const GpuId> group,
                                           Form form) const;

  /// The footprints of all patterns that calls of these kinds may take on a group of at least two members
  /// when they leave the choice to the rules. REQUIRES: kinds that NCCL has tables for.
  [[nodiscard]] std::vector<Footprint> footprints(std::span<const Kind> kinds,
                                                  std::span<const GpuId> group) const;

  /// As above in the coupled form, for a group whose footprints are known: many requests, or many groups of
  /// equal footprints. REQUIRES: a kind that the footprints were made for, no hints.
  [[nodiscard]] Lowered lower(const Request& request, std::span<const Footprint> footprints) const;

  /// What a call is chosen among, in NCCL's order, with its hints as reasons; empty for kinds without tables
  /// and for one member.
  [[nodiscard]] std::vector<nccl::Candidate> candidates(const Request& request,
                                                        std::span<const GpuId> group) const;
  /// What the rules see of a group, for `--explain`.
  [[nodiscard]] std::string group_text(std::span<const GpuId> group) const;
  [[nodiscard]] const nccl::Chooser& chooser() const { return *chooser_; }

  /// A point-to-point message (one activity on its path).
  [[nodiscard]] Lowered lower_message(Bytes bytes, GpuId from, GpuId to) const;
  [[nodiscard]] MessagePath message_path(GpuId from, GpuId to) const;
  /// As above for a path between two different GPUs that is known; `network`: it leaves the NVLink domain.
  [[nodiscard]] MessagePath message_path(const routing::Path& path, bool network) const;
  [[nodiscard]] Lowered lower_message(Bytes bytes, const MessagePath& path) const;

  /// A storage read or write by a GPU.
  [[nodiscard]] Lowered lower_storage(Bytes bytes, GpuId gpu, std::uint32_t storage, bool write) const;

 private:
  struct Layouts;
  [[nodiscard]] Lowered lower_on(const Request& request,
                                 std::span<const GpuId> group,
                                 Form form,
                                 Layouts& layouts) const;
  [[nodiscard]] Lowered lower_with(const Algorithm& algorithm,
                                   const Request& request,
                                   const Footprint& footprint) const;
  [[nodiscard]] Lowered step_by_step(Lowered lowered,
                                     const Algorithm& algorithm,
                                     const Request& request,
                                     const Layout& layout) const;
  [[nodiscard]] Lowered play(const Request& request, const Layout& layout) const;

  /// Layouts of a group: those of the last call, or fresh ones.
  [[nodiscard]] Layouts& layouts_of(std::span<const GpuId> group) const;
  struct Decision;
  [[nodiscard]] Decision decide(const Request& request,
                                const std::vector<const Algorithm*>& possible,
                                Layouts& layouts) const;
  /// Index in its host of each member's GPU.
  [[nodiscard]] std::vector<std::uint32_t> local_of(std::span<const GpuId> group) const;

  const routing::Router& router_;
  std::shared_ptr<const nccl::Chooser> chooser_;
  std::vector<std::uint32_t> local_;  // by GPU
  mutable std::shared_ptr<Layouts> last_;
};

}  // namespace stepcast::collective
