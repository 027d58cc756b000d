#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/units.hpp"
#include "collective/collective.hpp"
#include "hardware/catalog.hpp"

namespace stepcast::collective {

inline constexpr std::array kProtocols = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

/// What a protocol is priced on: hops one after the other, and bytes on a wire that is idle otherwise.
struct Passage {
  std::int64_t steps = 1;          ///< k: sequential hops
  std::int64_t network_steps = 0;  ///< those that cross the network, <= steps
  Duration local_latency;          ///< physical latency of a hop of either kind: no hop is faster
  Duration network_latency;
  std::span<const RingHop> ring;       ///< not empty: the steps go around it, each hop with its own latency
  std::int64_t work = 0;               ///< payload bytes on every hop
  double rate = 0;                     ///< bytes/s of every hop on an idle fabric, > 0 unless work is 0
  bool last_step_exposed = false;      ///< kappa applies (LL128 and Simple)
  double efficiency = 1;               ///< useful share of the wire besides that of the protocol
  double nvls_passes = 0;              ///< through NVLink switches that add (Simple)
  std::uint32_t exchange_members = 0;  ///< all-to-all in one NVLink domain: of so many; 0 = something else
  double exchange_ll_rate = 0;         ///< bytes/s at which LL moves one part

  // Channels: a channel moves at most `channel_rate`; 0 = not limited by channels.
  double channel_rate = 0;     ///< bytes/s of one channel on every hop (LL)
  double channel_ceiling = 0;  ///< bytes/s of a hop that all channels in use move at most; 0 = no limit
  double channel_payload = 0;  ///< LL: payload of a hop that fills one channel before the next is used
};

/// A protocol on a passage (form and sources: README.md of this folder).
struct Price {
  Protocol protocol = Protocol::kSimple;
  Duration latency;          ///< launch and the hops that transfer does not hide
  std::int64_t work = 0;     ///< bytes on the wire of every hop, protocol overhead included
  std::int64_t payload = 0;  ///< bytes of the message or buffer alone
  double cap = 0;            ///< bytes/s of every hop by its channels, 0 = none below `rate`
  Duration idle_time;        ///< latency + transfer on an idle fabric
};

/// Latency of one hop: the calibrated constant, or the physical latency when that is longer.
[[nodiscard]] Duration hop_latency(Protocol protocol,
                                   const hardware::CollectiveConstants& constants,
                                   bool network,
                                   Duration physical);

/// Time of a member's own work on `payload` bytes that it received (sums, copies), which nothing hides.
[[nodiscard]] Duration local_work(const hardware::CollectiveConstants& constants, std::int64_t payload);

/// Bytes on the wire for `payload` bytes (rounded up), without the exposed last step.
[[nodiscard]] std::int64_t wire_bytes(Protocol protocol,
                                      const hardware::CollectiveConstants& constants,
                                      std::int64_t payload,
                                      double efficiency = 1);

/// Time of `work` bytes at `rate`, rounded up. Throws InputError beyond the range of a simulation.
[[nodiscard]] Duration wire_time(std::int64_t work, double rate);

[[nodiscard]] Price price(Protocol protocol,
                          const hardware::CollectiveConstants& constants,
                          const Passage& passage);

}  // namespace stepcast::collective
