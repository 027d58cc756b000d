#pragma once

#include <functional>

#include "collective/collective.hpp"
#include "collective/ring_plan.hpp"

namespace stepcast::collective {

/// What the messages of a schedule cost in one protocol.
struct StepCosts {
  Duration launch;
  std::function<std::int64_t(std::int64_t payload)> wire_bytes;
  std::function<Duration(bool network, Duration physical)> hop_latency;
};

/// The messages of a schedule as transfers: every matched send and receive is one, of the bytes of its
/// chunks (chunk i of c holds bytes i * S / c to (i + 1) * S / c, rounded down, so that the total is
/// exact). A transfer comes after what its lane has received before, and after the lane's last send
/// has left. Member m of the schedule on channel c is the m-th of ring c.
/// REQUIRES: a schedule that passes the checker, with one channel per ring of the plan.
[[nodiscard]] SteppedTransfers transfers_of(const Schedule& schedule,
                                            Bytes bytes,
                                            const RingPlan& plan,
                                            const StepCosts& costs);

/// Time of the transfers on an idle fabric on which each gets `rate`: the longest chain.
[[nodiscard]] Duration longest_chain(const SteppedTransfers& transfers, double rate);

}  // namespace stepcast::collective
