#include "program/interfaces.hpp"

#include <algorithm>
#include <cstddef>

namespace stepcast::program {
namespace {

std::vector<std::uint32_t> slots_used(const Program& program,
                                      SlotKind kind,
                                      const std::vector<OpKind>& users) {
  std::vector<bool> used(program.slots.size(), false);
  for (const Operation& operation : program.operations) {
    if (std::find(users.begin(), users.end(), operation.kind) != users.end()) {
      used[operation.target] = true;
    }
  }
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < used.size(); ++slot) {
    if (used[slot] && program.slots[slot].kind == kind) {
      slots.push_back(slot);
    }
  }
  return slots;
}

}  // namespace

Meetings::Meetings(const Programs& programs, SlotKind kind, const std::vector<OpKind>& users) {
  std::vector<std::vector<std::uint32_t>> used;
  for (const Program& program : programs.programs) {
    used.push_back(slots_used(program, kind, users));
    single_.emplace_back(program.slots.size(), Operation::kNone);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_value;  // peer or group, slot
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    begin_.push_back(meetings_.size());
    const std::uint32_t program = programs.program_of[rank];
    by_value.clear();
    for (const std::uint32_t slot : used[program]) {
      by_value.emplace_back(programs.slot_values[rank][slot], slot);
    }
    std::sort(by_value.begin(), by_value.end());
    for (std::size_t i = 0; i < by_value.size();) {
      const std::uint32_t other = by_value[i].first;
      std::vector<std::uint32_t> slots;
      for (; i < by_value.size() && by_value[i].first == other; ++i) {
        slots.push_back(by_value[i].second);
      }
      meetings_.push_back({rank, other, interface_of(program, std::move(slots))});
    }
  }
  begin_.push_back(meetings_.size());
}

std::uint32_t Meetings::interface_of(std::uint32_t program, std::vector<std::uint32_t> slots) {
  const auto next = static_cast<std::uint32_t>(interfaces_.size());
  if (slots.size() == 1) {
    std::uint32_t& known = single_[program][slots[0]];
    if (known == Operation::kNone) {
      known = next;
      interfaces_.push_back({program, std::move(slots)});
    }
    return known;
  }
  const auto [at, is_new] = known_.try_emplace({program, slots}, next);
  if (is_new) {
    interfaces_.push_back({program, std::move(slots)});
  }
  return at->second;
}

std::uint32_t Meetings::find(std::uint32_t rank, std::uint32_t other) const {
  const auto begin = meetings_.begin() + static_cast<std::ptrdiff_t>(begin_[rank]);
  const auto end = meetings_.begin() + static_cast<std::ptrdiff_t>(begin_[rank + 1]);
  const auto at = std::lower_bound(
      begin, end, other, [](const Meeting& meeting, std::uint32_t value) { return meeting.other < value; });
  return at != end && at->other == other ? at->interface : Operation::kNone;
}

}  // namespace stepcast::program
