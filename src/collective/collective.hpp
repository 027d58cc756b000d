#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/id.hpp"
#include "base/units.hpp"
#include "collective/schedule.hpp"
#include "hardware/catalog.hpp"
#include "network/flow_network.hpp"
#include "routing/router.hpp"

namespace stepcast::collective {

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
[[nodiscard]] std::string_view name_of(Protocol protocol);
[[nodiscard]] const std::vector<std::string>& protocol_names();
/// By name as above; nothing for another word.
[[nodiscard]] std::optional<Protocol> find_protocol(std::string_view name);

/// NCCL's MAXCHANNELS.
inline constexpr std::uint32_t kMostChannels = 64;

/// One call of a collective. `bytes` is the nccl-tests "size": the whole buffer (all-gather: the
/// gathered result; reduce-scatter: the full input; all-reduce: the buffer; send/recv: the message).
struct Request {
  Kind kind = Kind::kAllReduce;
  Bytes bytes;
  DataType dtype = DataType::kBf16;
  std::uint32_t root = 0;            ///< index in the group
  std::string algorithm;             ///< hint: name of an algorithm, empty = choose
  std::optional<Protocol> protocol;  ///< hint, none = choose
  std::uint32_t channels = 0;        ///< hint, 0 = choose
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
  std::uint32_t source = 0;  ///< member index in the group
  std::uint32_t destination = 0;
  Duration latency;          ///< arrives this long after the last byte has left
  std::int64_t work = 0;     ///< bytes, protocol overhead included
  std::int64_t payload = 0;  ///< bytes that are really moved
  std::vector<network::Demand> demands;
  std::uint32_t divisor = 1;
  std::vector<std::uint32_t> after;  ///< transfers that must have arrived (or left: same sender)
};

/// A collective as transfers with dependencies (too small to fill the pipe, imported step lists).
struct SteppedTransfers {
  Duration latency;  ///< launch, from a member's arrival to its first step
  std::vector<StepTransfer> steps;
};

/// Which of the two a lowering is asked for.
enum class Form : std::uint8_t { kCoupled, kSteps };

/// What a collective becomes on a fabric, and what was chosen.
struct Lowered {
  std::string algorithm;  ///< name of the leaf; empty for messages and storage
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;
  Form form = Form::kCoupled;
  CoupledActivity coupled;   ///< when form == kCoupled
  SteppedTransfers stepped;  ///< when form == kSteps
  Duration idle_time;        ///< predicted time on an idle fabric
};

/// A ring algorithm in its pipelined steady state: every hop of the ring busy all the time.
struct SteadyState {
  std::int64_t steps = 0;  ///< k: hops one after the other from the first send to the last receive
  /// Bytes that cross every hop of the ring, all channels together: bytes * numerator / denominator.
  std::int64_t share_numerator = 0;
  std::int64_t share_denominator = 1;
  bool last_step_exposed = false;  ///< the last receive is not overlapped with a send (kappa / k more)
};

/// Who decides which member follows which in the ring.
enum class RingOrder : std::uint8_t {
  kByHost,  ///< free: the lowering groups the members by host and spreads channels over rails
  kGroup,   ///< the order of the group is part of the meaning
};

/// A collective algorithm: one leaf in algorithms/, one line in algorithms.def.
struct Algorithm {
  std::string_view name;    ///< "ring_all_reduce"
  std::string_view family;  ///< "ring": what --algo names
  std::string_view summary;
  Kind kind;
  /// Pure schedule for n members in `channels` channels (chunk units, see Schedule).
  Schedule (*schedule)(std::uint32_t members, std::uint32_t channels, std::uint32_t root);
  /// What the schedule amounts to in the steady state, for n >= 2 members.
  SteadyState (*steady_state)(std::uint32_t members);
  RingOrder order = RingOrder::kByHost;
};

/// The rings of a group: all that a coupled collective takes from the fabric. Groups whose rings agree in
/// everything but the resources of `demands` cost the same.
struct Rings {
  RingOrder order = RingOrder::kByHost;
  std::uint32_t members = 0;
  std::uint32_t rings = 0;
  std::uint32_t crossing_hops = 0;  ///< of one ring that cross the network (the largest over rings)
  bool several_hosts = false;
  Duration local_latency;                ///< physical, of the longest hop inside hosts
  Duration network_latency;              ///< ... and over the network
  double rate = 0;                       ///< bytes/s of every hop on the idle fabric
  std::vector<network::Demand> demands;  ///< one byte on every hop of every ring
  std::uint32_t divisor = 1;
};

/// The path of a message: all that it takes from the fabric.
struct MessagePath {
  bool network = false;  ///< leaves the NVLink domain
  Duration latency;
  double rate = 0;  ///< bytes/s on the idle fabric; 0 = sender and receiver are one GPU
  std::vector<network::Demand> demands;
  std::uint32_t divisor = 1;
};

/// All algorithms, in the order of algorithms.def.
[[nodiscard]] std::span<const Algorithm> algorithms();

/// Turns collectives into demands on the resources of one router. Results depend only on the
/// arguments; costs come from the host kind's CollectiveConstants (form in README.md of this folder).
class Lowering {
 public:
  explicit Lowering(const routing::Router& router);

  /// `group`: the GPUs of the members, in group order (size >= 1; one member or zero bytes gives an
  /// activity without demands that lasts the launch latency). Throws InputError for an unknown
  /// algorithm hint and UnsupportedError for a collective kind without algorithm.
  [[nodiscard]] Lowered lower(const Request& request, std::span<const GpuId> group, Form form) const;

  /// Several calls on one group, in their order; the rings are laid out once.
  [[nodiscard]] std::vector<Lowered> lower(std::span<const Request> requests,
                                           std::span<const GpuId> group,
                                           Form form) const;

  /// The rings of a group of at least two members; `most_rings` limits them (0 = no limit).
  [[nodiscard]] Rings rings(std::span<const GpuId> group,
                            RingOrder order,
                            std::uint32_t most_rings = 0) const;

  /// As above in the coupled form, for a group whose rings are known: many requests, or many groups of
  /// equal rings. REQUIRES: rings in the order that the request's algorithm asks for, no channel hint.
  [[nodiscard]] Lowered lower(const Request& request, const Rings& rings) const;

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

  const routing::Router& router_;
};

}  // namespace stepcast::collective
