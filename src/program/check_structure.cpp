#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "program/findings.hpp"

namespace stepcast::program {
namespace {

constexpr std::int64_t kMostRounds = std::int64_t{1} << 31;
constexpr std::uint64_t kMostExecutions = std::uint64_t{1} << 62;
constexpr std::size_t kDeepestNesting = 64;

// Checks one program for itself: every index in range, loops that nest, values that make sense.
class StructureCheck {
 public:
  StructureCheck(const Program& program, config::Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

  void run() {
    for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
      check_indices(i);
      check_kind(i);
    }
    for (std::size_t i = 0; i < program_.sequences.size(); ++i) {
      const KernelSequence& sequence = program_.sequences[i];
      if (std::uint64_t{sequence.first} + sequence.count > program_.kernels.size()) {
        diagnostics_.add(fmt::format("kernel sequence {} of program \"{}\" runs past the {} kernels", i,
                                     program_.name, program_.kernels.size()),
                         "correct its first and count");
      }
    }
    if (check_loops()) {
      check_executions();
    }
  }

 private:
  void add(std::uint32_t operation, const std::string& problem, std::string_view remedy) {
    add_finding(diagnostics_, program_, operation,
                fmt::format("{} {}", describe(program_, operation), problem), remedy);
  }

  void check_indices(std::uint32_t i) {
    const Operation& op = program_.operations[i];
    if (op.kind != OpKind::kRepeat && op.stream >= program_.streams.size()) {
      add(i, fmt::format("is on stream {} of {}", op.stream, program_.streams.size()),
          "declare the stream in the program");
    }
    if (op.label != Operation::kNone && op.label >= program_.labels.size()) {
      add(i, fmt::format("has label {} of {}", op.label, program_.labels.size()), "add the label");
    }
    if (op.place != Operation::kNone && op.place >= program_.places.size()) {
      diagnostics_.add(fmt::format("operation {} of program \"{}\" has place {} of {}", i, program_.name,
                                   op.place, program_.places.size()),
                       "add the place");
    }
    if (std::uint64_t{op.first_dependency} + op.dependency_count > program_.dependencies.size()) {
      add(i, "has dependencies past the end of the table", "correct its first dependency and count");
      return;
    }
    for (std::uint32_t k = 0; k < op.dependency_count; ++k) {
      const std::uint32_t other = program_.dependencies[op.first_dependency + k].operation;
      if (other >= program_.operations.size()) {
        add(i, fmt::format("depends on operation {}, which does not exist", other), "name an operation");
      }
    }
  }

  void check_kind(std::uint32_t i) {
    const Operation& op = program_.operations[i];
    if (op.kind != OpKind::kRepeat && op.bytes < 0) {
      add(i, fmt::format("has {} bytes", op.bytes), "give the size as zero or more");
    }
    if (op.duration_ps < -1) {
      add(i, fmt::format("lasts {} ps", op.duration_ps), "give a duration of zero or more");
    }
    check_unknown_bytes(i);
    switch (op.kind) {
      case OpKind::kCompute:
        if (op.target == Operation::kNone ? op.duration_ps < 0 : op.target >= program_.sequences.size()) {
          add(i, "has neither kernels nor a duration", "give one of them");
        }
        break;
      case OpKind::kDelay:
        if (op.duration_ps < 0) {
          add(i, "has no duration", "give one");
        }
        break;
      case OpKind::kCollective:
        check_slot(i, SlotKind::kGroup, "group");
        if (op.detail >= program_.collectives.size()) {
          add(i, "has no collective", "say which collective it is");
        }
        break;
      case OpKind::kSend:
      case OpKind::kRecv:
      case OpKind::kPut:
      case OpKind::kGet: check_slot(i, SlotKind::kPeer, "peer"); break;
      case OpKind::kStorage:
        if (op.target == Operation::kNone) {
          add(i, "names no storage system", "give the index of one");
        }
        break;
      case OpKind::kRepeat:
        if (op.bytes < 1 || op.bytes > kMostRounds) {
          add(i, fmt::format("repeats {} times", op.bytes), "repeat between 1 and 2147483648 times");
        }
        if (op.dependency_count != 0) {
          add(i, "has dependencies of its own", "put them on the operations of its body");
        }
        break;
      case OpKind::kCopy:
      case OpKind::kLocal:
      case OpKind::kMark:
      case OpKind::kAlloc:
      case OpKind::kFree: break;
    }
  }

  void check_unknown_bytes(std::uint32_t i) {
    const Operation& op = program_.operations[i];
    if (op.meaning != BytesMeaning::kUnknown) {
      return;
    }
    const bool may_be_recorded = op.kind == OpKind::kCollective || op.kind == OpKind::kCopy ||
                                 op.kind == OpKind::kLocal || op.kind == OpKind::kStorage;
    if (!may_be_recorded || op.duration_ps < 0) {
      add(i, "has an unknown number of bytes, so that its time cannot be known",
          may_be_recorded ? "give its bytes, or the duration that was recorded" : "give its bytes");
    }
  }

  void check_slot(std::uint32_t i, SlotKind kind, std::string_view word) {
    const Operation& op = program_.operations[i];
    if (op.target >= program_.slots.size() || program_.slots[op.target].kind != kind) {
      add(i, fmt::format("names no {}", word), fmt::format("give it a slot for a {}", word));
    }
  }

  // Loops must nest; returns false when they do not, and nothing that walks loops may run.
  bool check_loops() {
    std::vector<std::uint64_t> open_end;
    const std::uint64_t count = program_.operations.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      while (!open_end.empty() && open_end.back() == i) {
        open_end.pop_back();
      }
      const Operation& op = program_.operations[i];
      if (op.kind != OpKind::kRepeat) {
        continue;
      }
      const std::uint64_t end = std::uint64_t{i} + 1 + op.target;
      if (op.target == 0 || end > (open_end.empty() ? count : open_end.back())) {
        add(i, op.target == 0 ? "has an empty body" : "has a body that leaves the loop around it",
            "give it the operations that follow it");
        return false;
      }
      open_end.push_back(end);
      if (open_end.size() > kDeepestNesting) {
        add(i, fmt::format("is nested more than {} deep", kDeepestNesting), "merge loops");
        return false;
      }
    }
    return diagnostics_.empty();
  }

  void check_executions() {
    const std::vector<std::uint64_t> counts = execution_counts(program_);
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > kMostExecutions - total) {
        add(i, "brings the program over 2^62 executions", "repeat less often");
        return;
      }
      total += counts[i];
    }
  }

  const Program& program_;
  config::Diagnostics& diagnostics_;
};

// Slots that some operation uses, with the first such operation.
std::vector<std::pair<std::uint32_t, std::uint32_t>> used_slots(const Program& program) {
  std::vector<std::uint32_t> first_use(program.slots.size(), Operation::kNone);
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    switch (program.operations[i].kind) {
      case OpKind::kCollective:
      case OpKind::kSend:
      case OpKind::kRecv:
      case OpKind::kPut:
      case OpKind::kGet: {
        std::uint32_t& first = first_use[program.operations[i].target];
        first = std::min(first, i);
        break;
      }
      default: break;
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> used;
  for (std::uint32_t slot = 0; slot < first_use.size(); ++slot) {
    if (first_use[slot] != Operation::kNone) {
      used.emplace_back(slot, first_use[slot]);
    }
  }
  return used;
}

// What is wrong with the value of a slot for a rank; empty when nothing.
std::string slot_problem(const Programs& programs,
                         const Slot& slot,
                         std::uint32_t rank,
                         std::uint32_t value) {
  if (slot.kind == SlotKind::kGroup) {
    return value < programs.groups.size()
               ? std::string{}
               : fmt::format("has group {} of {} in slot \"{}\"", value, programs.groups.size(), slot.name);
  }
  if (value >= programs.ranks) {
    return fmt::format("has rank {} of {} as its peer \"{}\"", value, programs.ranks, slot.name);
  }
  return value == rank ? fmt::format("has itself as its peer \"{}\"", slot.name) : std::string{};
}

void check_slot_values(const Programs& programs, config::Diagnostics& diagnostics) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> used;
  std::vector<std::vector<std::size_t>> finding_of;  // by program and used slot: index + 1
  for (const Program& program : programs.programs) {
    used.push_back(used_slots(program));
    finding_of.emplace_back(used.back().size(), 0);
  }
  std::vector<RankFinding> findings;
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    const std::uint32_t which = programs.program_of[rank];
    const Program& program = programs.programs[which];
    const std::vector<std::uint32_t>& values = programs.slot_values[rank];
    if (values.size() != program.slots.size()) {
      diagnostics.add(fmt::format("rank {} fills {} slots, its program \"{}\" has {}", rank, values.size(),
                                  program.name, program.slots.size()),
                      "fill each slot once");
      continue;
    }
    for (std::size_t k = 0; k < used[which].size(); ++k) {
      const auto [slot, operation] = used[which][k];
      const std::string problem = slot_problem(programs, program.slots[slot], rank, values[slot]);
      if (problem.empty()) {
        continue;
      }
      if (finding_of[which][k] != 0) {
        ++findings[finding_of[which][k] - 1].cases;
        continue;
      }
      findings.push_back(
          {which, operation,
           fmt::format("rank {} {}, which {} uses", rank, problem, describe(program, operation)),
           program.slots[slot].kind == SlotKind::kGroup
               ? "name a group of the file"
               : "name another rank of the job (within a rank: a local operation)"});
      finding_of[which][k] = findings.size();
    }
  }
  add_findings(diagnostics, programs, findings, "ranks");
}

void check_groups(const Programs& programs, config::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> seen(programs.ranks, Operation::kNone);
  std::uint64_t memberships = 0;
  for (std::uint32_t g = 0; g < programs.groups.size(); ++g) {
    const Group& group = programs.groups[GroupId{g}];
    const std::string name = g < programs.group_names.size() && !programs.group_names[g].empty()
                                 ? fmt::format("group \"{}\"", programs.group_names[g])
                                 : fmt::format("group {}", g);
    if (group.size() == 0 || group.size() > programs.ranks) {
      diagnostics.add(fmt::format("{} has {} members, the job {} ranks", name, group.size(), programs.ranks),
                      "give it between one and all ranks");
      continue;
    }
    memberships += group.size();
    if (memberships > kMostMemberships) {
      diagnostics.add(fmt::format("{} brings the groups over {} members in all", name, kMostMemberships),
                      "use fewer or smaller groups");
      return;
    }
    for (const RankId rank : group.ranks()) {
      if (rank.index() >= programs.ranks) {
        diagnostics.add(fmt::format("{} has rank {} of {}", name, rank.index(), programs.ranks),
                        "ranks count from 0");
        break;
      }
      if (seen[rank.index()] == g) {
        diagnostics.add(fmt::format("{} has rank {} twice", name, rank.index()), "name each member once");
        break;
      }
      seen[rank.index()] = g;
    }
  }
}

}  // namespace

void check_structure(const Programs& programs, config::Diagnostics& diagnostics) {
  if (programs.ranks == 0 || programs.program_of.size() != programs.ranks ||
      programs.slot_values.size() != programs.ranks) {
    diagnostics.add(fmt::format("{} ranks with {} programs and {} slot tables", programs.ranks,
                                programs.program_of.size(), programs.slot_values.size()),
                    "give each of at least one rank one of both");
    return;
  }
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    if (programs.program_of[rank] >= programs.programs.size()) {
      diagnostics.add(fmt::format("rank {} runs no program", rank), "name it in the ranks of one program");
      return;
    }
  }
  check_groups(programs, diagnostics);
  for (const Program& program : programs.programs) {
    StructureCheck(program, diagnostics).run();
  }
  if (diagnostics.empty()) {
    check_slot_values(programs, diagnostics);
  }
}

}  // namespace stepcast::program
