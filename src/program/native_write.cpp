#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "program/findings.hpp"
#include "program/native_format.hpp"
#include "program/native_keys.hpp"
#include "program/native_parts.hpp"
#include "program/rank_set.hpp"

namespace stepcast::program {
namespace {

// Names that are neither empty nor taken twice, from names that may be.
std::vector<std::string> unique_names(const std::vector<std::string>& wanted, std::string_view word) {
  std::set<std::string> taken(wanted.begin(), wanted.end());
  std::set<std::string> given;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::string name = wanted[i];
    if (name.empty() || given.contains(name)) {
      name = fmt::format("{}{}", word, i);
      while (taken.contains(name)) {
        name += "_";
      }
      taken.insert(name);
    }
    given.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

// Items on one line each.
std::string joined_lines(const std::vector<std::string>& items, std::string_view indent) {
  std::string text;
  for (const std::string& item : items) {
    text += fmt::format("{}\n{}{}", text.empty() ? "" : ",", indent, item);
  }
  return text;
}

class ProgramWriter {
 public:
  ProgramWriter(const Programs& programs, std::uint32_t index, const std::vector<std::string>& group_names)
      : programs_(programs), program_(programs.programs[index]), group_names_(group_names) {
    for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
      if (programs.program_of[rank] == index) {
        members_.push_back(rank);
      }
    }
    std::vector<std::string> ids(program_.operations.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint32_t place = program_.operations[i].place;
      ids[i] = place == Operation::kNone ? std::string{} : program_.places[place].id;
    }
    ids_ = unique_names(ids, "op");
    std::vector<std::string> slots;
    for (const Slot& slot : program_.slots) {
      slots.push_back(slot.name);
    }
    slots_ = unique_names(slots, "slot");
    std::vector<std::string> streams;
    for (const Stream& stream : program_.streams) {
      streams.push_back(stream.name);
    }
    streams_ = unique_names(streams, "stream");
  }

  [[nodiscard]] std::string run() const {
    std::string text = fmt::format("{{\"name\": {}, \"ranks\": {},", json_text(program_.name),
                                   rank_set_json(Group::listed(members_)));
    std::vector<std::string> streams;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams.push_back(fmt::format("{{\"name\": {}, \"kind\": {}}}", json_text(streams_[i]),
                                    json_text(name_of(program_.streams[i].kind))));
    }
    text += fmt::format("\n     \"streams\": [{}],", joined_lines(streams, "      "));
    if (!slots_.empty()) {
      std::vector<std::string> slots;
      for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        slots.push_back(fmt::format("{}: {}", json_text(slots_[slot]), slot_json(slot)));
      }
      text += fmt::format("\n     \"slots\": {{{}}},", joined_lines(slots, "      "));
    }
    const auto count = static_cast<std::uint32_t>(program_.operations.size());
    text += fmt::format("\n     \"operations\": [{}]}}", body_json(0, count, "      "));
    return text;
  }

 private:
  [[nodiscard]] std::string slot_json(std::uint32_t slot) const {
    const bool is_group = program_.slots[slot].kind == SlotKind::kGroup;
    const auto value_json = [&](std::uint32_t rank) {
      const std::uint32_t value = programs_.slot_values[rank][slot];
      return is_group ? json_text(group_names_[value]) : std::to_string(value);
    };
    bool uniform = true;
    for (const std::uint32_t rank : members_) {
      uniform = uniform && programs_.slot_values[rank][slot] == programs_.slot_values[members_[0]][slot];
    }
    std::string values;
    if (uniform && !members_.empty()) {
      values = value_json(members_[0]);
    } else {
      for (const std::uint32_t rank : members_) {
        values += (values.empty() ? "" : ", ") + value_json(rank);
      }
      values = "[" + values + "]";
    }
    return fmt::format("{{\"{}\": {}}}", is_group ? "group" : "peer", values);
  }

  [[nodiscard]] std::string body_json(std::uint32_t begin,
                                      std::uint32_t end,
                                      const std::string& indent) const {
    std::vector<std::string> items;
    for (std::uint32_t i = begin; i < end; ++i) {
      const Operation& op = program_.operations[i];
      if (op.kind != OpKind::kRepeat) {
        items.push_back(operation_json(i) + "}");
        continue;
      }
      items.push_back(fmt::format("{}, \"count\": {}, \"body\": [{}]}}", operation_json(i), op.bytes,
                                  body_json(i + 1, i + 1 + op.target, indent + " ")));
      i += op.target;
    }
    return joined_lines(items, indent);
  }

  // An operation without its closing brace.
  [[nodiscard]] std::string operation_json(std::uint32_t index) const {
    const Operation& op = program_.operations[index];
    std::string text = fmt::format("{{\"id\": {}, \"op\": \"{}\"", json_text(ids_[index]), name_of(op.kind));
    const auto add = [&](std::string_view key, std::string_view json) {
      text += fmt::format(", \"{}\": {}", key, json);
    };
    if (op.kind != OpKind::kRepeat) {
      add("stream", json_text(streams_[op.stream]));
      add_kind(op, add);
      if (op.dependency_count > 0) {
        add("after", after_json(op));
      }
      if (op.priority != 0) {
        add("priority", std::to_string(op.priority));
      }
      if (op.dtype != DataType::kByte) {
        add("dtype", json_text(name_of(op.dtype)));
      }
      if (op.duration_ps >= 0) {
        add("duration", json_text(exact_text(Duration::from_ps(op.duration_ps))));
      }
      if (op.recorded_start_ps >= 0) {
        add("recorded_start", json_text(exact_text(Duration::from_ps(op.recorded_start_ps))));
      }
    }
    if (op.label != Operation::kNone) {
      add("label", label_json(program_.labels[op.label]));
    }
    return text;
  }

  void add_kind(const Operation& op, const auto& add) const {
    if (op.kind == OpKind::kCollective) {
      add_collective(op, add);
    }
    if (has_bytes(op.kind)) {
      add("bytes",
          op.meaning == BytesMeaning::kUnknown ? "\"unknown\"" : json_text(exact_text(Bytes(op.bytes))));
    }
    switch (op.kind) {
      case OpKind::kCompute: add_kernels(op, add); break;
      case OpKind::kSend:
      case OpKind::kRecv:
        if (op.detail != 0 && op.detail != Operation::kNone) {
          add("tag", std::to_string(op.detail));
        }
        if ((op.flags & Operation::kEager) != 0) {
          add("eager", "true");
        }
        [[fallthrough]];
      case OpKind::kPut:
      case OpKind::kGet: add("peer", json_text(slots_[op.target])); break;
      case OpKind::kStorage:
        add("action", (op.flags & Operation::kWrite) != 0 ? "\"write\"" : "\"read\"");
        add("storage", std::to_string(op.target));
        break;
      default: break;
    }
  }

  void add_kernels(const Operation& op, const auto& add) const {
    if (op.target == Operation::kNone || op.duration_ps >= 0) {
      return;
    }
    const KernelSequence& sequence = program_.sequences[op.target];
    std::string kernels;
    for (std::uint32_t k = 0; k < sequence.count; ++k) {
      kernels += (k > 0 ? ", " : "") + kernel_json(program_.kernels[sequence.first + k]);
    }
    add("kernels", "[" + kernels + "]");
  }

  void add_collective(const Operation& op, const auto& add) const {
    const CollectiveDetail& detail = program_.collectives[op.detail];
    add("collective", json_text(collective::name_of(detail.kind)));
    add("group", json_text(slots_[op.target]));
    if (op.meaning == BytesMeaning::kPerRank) {
      add("meaning", "\"per_rank\"");
    }
    if (detail.root != 0) {
      add("root", std::to_string(detail.root));
    }
    if (detail.reduction != CollectiveDetail{}.reduction) {
      add("reduction", json_text(detail.reduction));
    }
    if (!detail.algorithm.empty()) {
      add("algorithm", json_text(detail.algorithm));
    }
    if (!detail.protocol.empty()) {
      add("protocol", json_text(detail.protocol));
    }
    if (detail.channels != 0) {
      add("channels", std::to_string(detail.channels));
    }
    if (!detail.splits.empty()) {
      std::string splits;
      for (const Bytes split : detail.splits) {
        splits += (splits.empty() ? "" : ", ") + json_text(exact_text(split));
      }
      add("splits", "[" + splits + "]");
    }
  }

  [[nodiscard]] std::string after_json(const Operation& op) const {
    std::string text;
    for (std::uint32_t k = 0; k < op.dependency_count; ++k) {
      const Dependency& dependency = program_.dependencies[op.first_dependency + k];
      const std::string id = json_text(ids_[dependency.operation]);
      text += text.empty() ? "" : ", ";
      text += dependency.edge == EdgeKind::kFinishToStart
                  ? id
                  : fmt::format("{{\"id\": {}, \"edge\": \"{}\"}}", id, name_of(dependency.edge));
    }
    return "[" + text + "]";
  }

  const Programs& programs_;
  const Program& program_;
  const std::vector<std::string>& group_names_;
  std::vector<std::uint32_t> members_;
  std::vector<std::string> ids_;
  std::vector<std::string> slots_;
  std::vector<std::string> streams_;
};

}  // namespace

std::string write_programs(const Programs& programs) {
  std::vector<std::string> wanted = programs.group_names;
  wanted.resize(programs.groups.size());
  const std::vector<std::string> group_names = unique_names(wanted, "group");
  std::string text = fmt::format("{{\"format\": \"{}\", \"version\": {}, \"ranks\": {},", kFormatName,
                                 kFormatVersion, programs.ranks);
  std::vector<std::string> groups;
  for (std::uint32_t g = 0; g < group_names.size(); ++g) {
    groups.push_back(
        fmt::format("{}: {}", json_text(group_names[g]), rank_set_json(programs.groups[GroupId{g}])));
  }
  text += fmt::format("\n \"groups\": {{{}}},", joined_lines(groups, "  "));
  std::vector<std::string> written;
  for (std::uint32_t i = 0; i < programs.programs.size(); ++i) {
    written.push_back(ProgramWriter(programs, i, group_names).run());
  }
  return text + fmt::format("\n \"programs\": [{}]}}\n", joined_lines(written, "    "));
}

}  // namespace stepcast::program
