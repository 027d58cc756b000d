#pragma once

#include <functional>
#include <span>

#include "collective/collective.hpp"
#include "collective/layout.hpp"

namespace stepcast::collective {

/// What the messages of a schedule cost in one protocol.
struct StepCosts {
  Duration launch;
  std::function<std::int64_t(std::int64_t payload)> wire_bytes;
  std::function<Duration(bool network, Duration physical)> hop_latency;
  std::function<Duration(std::int64_t payload)> local_work;
};

/// The messages of a schedule as transfers: every matched send and receive is one, of the bytes of its
/// chunks (chunk i of c holds bytes i * S / c to (i + 1) * S / c, rounded down, so that the total is
/// exact; the chunks of an uneven all-to-all have the sizes of its splits). A transfer comes after what its
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
