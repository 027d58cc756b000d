#pragma once

#include <cstdint>
#include <vector>

#include "collective/algorithm.hpp"

// What the all-to-all leaves share.
namespace stepcast::collective {

/// The member that each member sends to, by round: every round is a permutation, so that no receiver is a hot
/// spot. Round 0 is each to itself. NCCL's order: groups of members of one host, the distances between groups
/// in a quadratic sequence, the members of a group in turn. Hosts of unequal numbers: by distance in the
/// group.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> peer_rounds(const Places& places);

/// All pairs of members, equal parts, each by its own NIC.
[[nodiscard]] Pattern all_pairs_pattern(const Places& places, std::uint32_t channels, std::uint32_t root);
/// The same by the NIC of the member of the sender's host that stands where the receiver stands in its own.
[[nodiscard]] Pattern rail_pairs_pattern(const Places& places, std::uint32_t channels, std::uint32_t root);
/// `rounds` hops one after the other.
[[nodiscard]] std::vector<SteadyState> all_pairs_steady_states(const Setting& setting, std::int64_t rounds);
[[nodiscard]] double all_pairs_messages(const Places& places, std::uint32_t channels);
/// Every member sends each part to its receiver. `in_order`: one after the other by rounds, else all at once.
[[nodiscard]] Schedule all_pairs_schedule(const Places& places, std::uint32_t channels, bool in_order);
/// Rounds of a direct all-to-all: NCCL has 8 peers a channel under way.
[[nodiscard]] std::int64_t concurrent_rounds(const Setting& setting);
[[nodiscard]] std::uint32_t single_channel(const Places& places);

}  // namespace stepcast::collective
