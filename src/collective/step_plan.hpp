#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collective/collective.hpp"
#include "collective/lane_runner.hpp"
#include "collective/layout.hpp"

namespace stepcast::collective {

/// What the messages of a schedule cost in one protocol.
struct StepCosts {
  Duration launch;
  std::function<std::int64_t(std::int64_t payload)> wire_bytes;
  std::function<Duration(bool network, Duration physical)> hop_latency;
  std::function<Duration(std::int64_t payload)> local_work;
};

/// Which chunks of the whole buffer the messages of a schedule hold, whatever memory they are read from.
class ChunkTracker {
 public:
  /// REQUIRES: a schedule that passes the checker, without switches; it outlives the tracker.
  explicit ChunkTracker(const Schedule& schedule);
  /// Follows a step that ran. The chunks that it sent, valid until the next call; empty when it sent nothing.
  const std::vector<std::uint32_t>& follow(const LaneRunner::Ran& ran);

 private:
  [[nodiscard]] std::uint32_t& slot(std::uint32_t member, Buffer buffer, std::uint32_t index);

  const Schedule& schedule_;
  struct Memory {
    std::vector<std::uint32_t> input;  // in place: the one buffer of both names
    std::vector<std::uint32_t> output;
    std::vector<std::uint32_t> scratch;
  };
  std::vector<Memory> memory_;
  std::vector<std::vector<std::uint32_t>> messages_;  // by number; emptied when received
  std::vector<std::uint32_t> moved_;
};

/// The messages of a schedule as transfers: every matched send and receive is one, of the bytes of its
/// chunks (chunk i of c holds bytes i * S / c to (i + 1) * S / c, rounded down, so that the total is
/// exact; the chunks of an uneven all-to-all have the sizes of its splits; a
/// step list's messages are as large as the chunks that they hold). A transfer comes after what its
/// lane has received before, and after the lane's last send has left. REQUIRES: a schedule that passes the
/// checker, of the members of the layout.
[[nodiscard]] SteppedTransfers transfers_of(const Schedule& schedule,
                                            const Request& request,
                                            const Layout& layout,
                                            const StepCosts& costs);

/// Time of the transfers on an idle fabric: the longest chain, each at `rate`, or with a rate of 0 at what
/// it gets alone.
[[nodiscard]] Duration longest_chain(const SteppedTransfers& transfers,
                                     double rate,
                                     std::span<const routing::Resource> resources);

}  // namespace stepcast::collective
