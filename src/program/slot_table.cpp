#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/suggestion.hpp"
#include "config/quote.hpp"
#include "program/operation_reader.hpp"

namespace stepcast::program {

void SlotTable::read(const config::Node& node, Program& program) {
  if (!node.present()) {
    return;
  }
  for (const auto& [name, slot] : node.members()) {
    slot.allow_only({"group", "peer"});
    const config::Node group = slot.get("group");
    const config::Node peer = slot.get("peer");
    if (group.present() == peer.present()) {
      slot.error("a slot is either a group or a peer", "give \"group\" or \"peer\"");
      continue;
    }
    const config::Node value = group.present() ? group : peer;
    const auto read_one = [&](const config::Node& one) {
      return group.present() ? group_index(one, {})
                             : static_cast<std::uint32_t>(one.integer(0, std::int64_t{ranks_} - 1));
    };
    std::vector<std::uint32_t> values;
    if (value.is_array()) {
      for (const config::Node& one : value.items()) {
        values.push_back(read_one(one));
      }
      if (values.size() != members_) {
        value.error(fmt::format("{} values for the {} ranks of the program", values.size(), members_),
                    "give one value for each rank, in the order of \"ranks\", or one for all");
        values.resize(members_);
      }
    } else {
      values.push_back(read_one(value));
    }
    add(name, group.present() ? SlotKind::kGroup : SlotKind::kPeer, std::move(values), program);
  }
}

std::uint32_t SlotTable::add(std::string_view name,
                             SlotKind kind,
                             std::vector<std::uint32_t> values,
                             Program& program) {
  program.slots.push_back({std::string(name), kind});
  values_.push_back(std::move(values));
  return static_cast<std::uint32_t>(values_.size() - 1);
}

std::vector<std::string> SlotTable::names_of(const Program& program, SlotKind kind) const {
  std::vector<std::string> names;
  for (const Slot& slot : program.slots) {
    if (slot.kind == kind) {
      names.push_back(slot.name);
    }
  }
  return names;
}

std::uint32_t SlotTable::group_index(const config::Node& node,
                                     const std::vector<std::string>& more_names) const {
  const std::string name = node.text();
  const auto at = groups_.find(name);
  if (at != groups_.end()) {
    return at->second;
  }
  std::vector<std::string> known;
  for (const auto& [group, index] : groups_) {
    known.push_back(group);
  }
  known.insert(known.end(), more_names.begin(), more_names.end());
  if (node.is_text()) {
    node.error("unknown group " + config::in_quotes(name),
               known.empty() ? "declare it in \"groups\" of the file" : suggest(name, known));
  }
  return 0;
}

std::uint32_t SlotTable::group(const config::Node& node, Program& program) {
  if (!node.present()) {
    return 0;
  }
  const std::string name = node.text();
  const Slot wanted{name, SlotKind::kGroup};
  const auto at = std::find(program.slots.begin(), program.slots.end(), wanted);
  if (at != program.slots.end()) {
    return static_cast<std::uint32_t>(at - program.slots.begin());
  }
  const std::uint32_t index = group_index(node, names_of(program, SlotKind::kGroup));
  return add(name, SlotKind::kGroup, {index}, program);
}

std::uint32_t SlotTable::peer(const config::Node& node, Program& program) {
  if (!node.present()) {
    return 0;
  }
  if (node.is_text()) {
    const std::string name = node.text();
    const auto at = std::find(program.slots.begin(), program.slots.end(), Slot{name, SlotKind::kPeer});
    if (at != program.slots.end()) {
      return static_cast<std::uint32_t>(at - program.slots.begin());
    }
    if (name == "any" || name == "*") {
      node.error("a wildcard peer is refused: what it matches would depend on timing", "name the rank");
    } else {
      const std::vector<std::string> known = names_of(program, SlotKind::kPeer);
      node.error("unknown peer " + config::in_quotes(name),
                 known.empty() ? "give the number of a rank" : suggest(name, known));
    }
    return 0;
  }
  const auto rank = static_cast<std::uint32_t>(node.integer(0, std::int64_t{ranks_} - 1));
  const std::vector<std::uint32_t> values{rank};
  const Slot wanted{std::to_string(rank), SlotKind::kPeer};
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i] == wanted && values_[i] == values) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return add(wanted.name, SlotKind::kPeer, values, program);
}

std::vector<std::uint32_t> SlotTable::values_of(std::size_t member) const {
  std::vector<std::uint32_t> values;
  values.reserve(values_.size());
  for (const std::vector<std::uint32_t>& of_slot : values_) {
    values.push_back(of_slot.size() == 1 ? of_slot[0] : of_slot[member]);
  }
  return values;
}

}  // namespace stepcast::program
