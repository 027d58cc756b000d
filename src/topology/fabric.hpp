#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/id.hpp"
#include "base/units.hpp"
#include "topology/builder.hpp"

namespace stepcast::topology {

/// Latency of a link between two switches that builders take when a file gives none.
inline constexpr std::string_view kDefaultLinkLatency = "500 ns";
inline constexpr std::string_view kLinkLatencySource =
    "assumed: one switch crossing and some tens of metres of fibre at 5 ns/m";

/// Latency of a link in a file: at most 1 s, as the options of the builders.
[[nodiscard]] Duration read_link_latency(const config::Node& node);

/// NIC `nic` of host `host` in the node order of add_hosts.
[[nodiscard]] NodeId nic_node(const hardware::HostKind& kind, std::uint32_t host, std::uint32_t nic);

/// Joins a NIC to its leaf switch at NIC rates and sets the destination number of the NIC and of the
/// GPUs that use it.
void attach_nic(const BuildContext& context,
                std::uint32_t host,
                std::uint32_t nic,
                NodeId leaf,
                std::uint32_t route_key,
                Topology::Draft& draft);

/// How far a draft was filled before a part of it was added.
struct DraftSize {
  std::size_t nodes = 0;
  std::size_t links = 0;
  std::size_t gpus = 0;
  std::size_t tiers = 0;
};
[[nodiscard]] DraftSize size_of(const Topology::Draft& draft);

/// Puts what was added after `from` into an order of its own, so that the order of a file shows nowhere:
/// nodes by host, kind, tier, index and name (numbers in names as numbers), cables by their ends and then
/// from the slowest, tiers as the cables name them. REQUIRES: the links came by add_cable; `gpu_nics` has an
/// entry for every GPU.
void order_draft(const DraftSize& from, Topology::Draft& draft);

/// A link between switches: payload rate = capacity x the NIC's payload share (same protocol).
[[nodiscard]] Link switch_link(const hardware::HostKind& kind,
                               Bandwidth capacity,
                               Duration latency,
                               std::uint16_t tier);

/// Up-links of one switch, so that capacity down : capacity up is the asked ratio exactly.
struct Uplinks {
  std::uint32_t count = 0;     ///< up-links of one switch
  std::uint32_t switches = 0;  ///< switches above that they are spread over
  std::uint32_t parallel = 0;  ///< links to each of those switches
  Bandwidth capacity;          ///< of one up-link, rounded to 1 b/s
  bool exact = false;          ///< capacity is the asked port rate
};

/// `down` capacity, `ratio` down : up, `rate` of a port, `above` switches above (0 = one per up-link).
/// Ports are rounded up; where they then offer more than asked each carries its exact share.
[[nodiscard]] Uplinks plan_uplinks(Bandwidth down, double ratio, Bandwidth rate, std::uint32_t above);

/// Records for the report that ports of `plan` do not run at the asked rate.
void note_rounding(const Uplinks& plan, Bandwidth rate, std::string_view which, Topology::Draft& draft);

/// Most cables of a cluster: beyond this a file is a mistake, and memory (100 B a cable) the next limit.
inline constexpr std::uint64_t kMostCables = 50'000'000;

/// True when `cables` more cables are not too many; else an error at the fabric.
[[nodiscard]] bool check_size(const config::Node& where, std::uint64_t cables);

/// Cables inside one host of a kind.
[[nodiscard]] std::uint64_t cables_per_host(const hardware::HostKind& kind);

/// Down-capacity of a leaf with `ports` NICs.
[[nodiscard]] Bandwidth times(std::int64_t ports, Bandwidth rate);

}  // namespace stepcast::topology
