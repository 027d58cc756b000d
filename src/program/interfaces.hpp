#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace stepcast::program {

/// How a rank meets one peer or one group: its program, and the slots of it that mean that peer or
/// group (more than one when, say, the next and the previous stage are the same rank). The same for
/// many ranks, so that work is done per interface and not per rank.
struct Interface {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> slots;  ///< ascending
};

/// One use of an interface: by `rank`, towards the peer or group `other`.
struct Meeting {
  std::uint32_t rank = 0;
  std::uint32_t other = 0;
  std::uint32_t interface = 0;
};

/// All meetings of a job through slots of one kind that operations of the given kinds use.
class Meetings {
 public:
  /// REQUIRES: check_structure found nothing.
  Meetings(const Programs& programs, SlotKind kind, const std::vector<OpKind>& users);

  [[nodiscard]] const std::vector<Interface>& interfaces() const { return interfaces_; }
  /// By rank, then by peer or group.
  [[nodiscard]] const std::vector<Meeting>& all() const { return meetings_; }
  /// The interface of `rank` towards `other`, or Operation::kNone.
  [[nodiscard]] std::uint32_t find(std::uint32_t rank, std::uint32_t other) const;

 private:
  std::uint32_t interface_of(std::uint32_t program, std::vector<std::uint32_t> slots);

  std::vector<Interface> interfaces_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known_;
  std::vector<std::vector<std::uint32_t>> single_;  // by program and slot: interface of that slot alone
  std::vector<Meeting> meetings_;
  std::vector<std::size_t> begin_;  // by rank, and one past the last
};

}  // namespace stepcast::program
