#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"
#include "program/program.hpp"

namespace stepcast::program {

/// Groups of the file: name to index.
using GroupNames = std::map<std::string, std::uint32_t, std::less<>>;

/// The slots of one program while it is read: those that the file declares, and one for each group
/// or rank that an operation names directly.
class SlotTable {
 public:
  /// `members`: ranks that run the program.
  SlotTable(const GroupNames& groups, std::uint32_t ranks, std::uint32_t members)
      : groups_(groups), ranks_(ranks), members_(members) {}

  /// Reads "slots" (may be absent) into the program.
  void read(const config::Node& node, Program& program);

  /// Slot that `node` (a group's or slot's name; for peers also a rank) means.
  std::uint32_t group(const config::Node& node, Program& program);
  std::uint32_t peer(const config::Node& node, Program& program);

  /// Values of all slots for the `member`-th rank of the program.
  [[nodiscard]] std::vector<std::uint32_t> values_of(std::size_t member) const;

 private:
  std::uint32_t add(std::string_view name,
                    SlotKind kind,
                    std::vector<std::uint32_t> values,
                    Program& program);
  [[nodiscard]] std::uint32_t group_index(const config::Node& node,
                                          const std::vector<std::string>& more_names) const;
  [[nodiscard]] std::vector<std::string> names_of(const Program& program, SlotKind kind) const;

  const GroupNames& groups_;
  std::uint32_t ranks_;
  std::uint32_t members_;
  std::vector<std::vector<std::uint32_t>> values_;  ///< by slot: one for all ranks, or one for each
};

/// Reads "streams" and "operations" of a program.
void read_operations(const config::Node& program_node, SlotTable& slots, Program& program);

}  // namespace stepcast::program
