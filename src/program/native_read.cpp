#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include "config/quote.hpp"
#include "program/findings.hpp"
#include "program/native_format.hpp"
#include "program/native_keys.hpp"
#include "program/operation_reader.hpp"
#include "program/rank_set.hpp"

namespace stepcast::program {
namespace {

constexpr std::uint32_t kMostRanks = 1U << 20;

// The file as a whole: groups, then programs, then which rank runs what.
class FileReader {
 public:
  explicit FileReader(const config::Node& root) : root_(root) {}

  Programs run() {
    root_.allow_only({"format", "version", "description", "ranks", "groups", "programs"});
    static_cast<void>(root_.get("description").text());
    read_format();
    read_ranks();
    programs_.program_of.assign(programs_.ranks, Operation::kNone);
    programs_.slot_values.resize(programs_.ranks);
    read_groups();
    const config::Node programs = root_.require("programs");
    if (programs.present() && programs.is_array() && programs.items().empty()) {
      programs.error("no program", "write at least one");
    }
    for (const config::Node& node : programs.items()) {
      read_program(node);
    }
    if (ranks_known_ && programs.is_array()) {
      require_all_ranks(programs);
    }
    return std::move(programs_);
  }

 private:
  void read_format() {
    const config::Node format = root_.require("format");
    if (format.present() && format.text() != kFormatName) {
      format.error("not a program file", fmt::format("write \"{}\"", kFormatName));
    }
    (void)root_.require("version").integer(kFormatVersion, kFormatVersion);
  }

  void read_ranks() {
    const config::Node ranks = root_.require("ranks");
    const std::size_t errors = ranks.present() ? ranks.diagnostics().size() : 0;
    programs_.ranks = static_cast<std::uint32_t>(ranks.integer(1, kMostRanks));
    ranks_known_ = ranks.present() && ranks.diagnostics().size() == errors;
    if (!ranks_known_) {
      programs_.ranks = kMostRanks;  // so that one mistake is not reported at every rank of the file
    }
  }

  void read_groups() {
    const config::Node groups = root_.get("groups");
    if (!groups.present()) {
      return;
    }
    std::uint64_t memberships = 0;
    for (const auto& [name, node] : groups.members()) {
      if (config::printable(name, name.size()) != name) {
        node.error("the name " + config::in_quotes(name) + " holds control characters", "leave them out");
      }
      const std::size_t errors = node.diagnostics().size();
      const GroupId id = programs_.groups.push_back(read_rank_set(node, programs_.ranks));
      if (node.diagnostics().size() == errors) {
        check_group(node, programs_.groups[id], memberships);
      }
      programs_.group_names.push_back(name);
      group_names_.emplace(name, id.index());
    }
  }

  // What check() would find too, but without the place.
  void check_group(const config::Node& node, const Group& group, std::uint64_t& memberships) {
    if (group.size() == 0) {
      node.error("a group without members", "name at least one rank, or leave the group out");
      return;
    }
    if (memberships <= kMostMemberships && memberships + group.size() > kMostMemberships) {
      node.error(fmt::format("the groups have more than {} members in all", kMostMemberships),
                 "use fewer or smaller groups");
    }
    memberships += group.size();
    std::vector<std::uint32_t> ranks;
    for (const RankId rank : group.ranks()) {
      ranks.push_back(rank.index());
    }
    std::sort(ranks.begin(), ranks.end());
    if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end()) {
      node.error(fmt::format("rank {} is named twice", *twice), "name each member once");
    }
  }

  void read_program(const config::Node& node) {
    node.allow_only({"name", "ranks", "streams", "slots", "operations"});
    Program program;
    program.name = node.require("name").name();
    const config::Place place = node.place();
    program.origin = {place.file, place.line, program.name, place.column, place.pointer};
    const config::Node ranks = node.require("ranks");
    std::vector<RankId> members;
    if (ranks.present()) {
      members = read_rank_set(ranks, programs_.ranks).ranks();
    }
    const auto index = static_cast<std::uint32_t>(programs_.programs.size());
    for (const RankId rank : members) {
      std::uint32_t& runs = programs_.program_of[rank.index()];
      if (runs != Operation::kNone) {
        ranks.error(fmt::format("rank {} already runs program \"{}\"", rank.index(),
                                runs == index ? program.name : programs_.programs[runs].name),
                    "name each rank once");
        break;
      }
      runs = index;
    }
    SlotTable slots(group_names_, programs_.ranks, static_cast<std::uint32_t>(members.size()));
    slots.read(node.get("slots"), program);
    read_operations(node, slots, program);
    for (std::size_t i = 0; i < members.size(); ++i) {
      programs_.slot_values[members[i].index()] = slots.values_of(i);
    }
    programs_.programs.push_back(std::move(program));
  }

  void require_all_ranks(const config::Node& programs) {
    const auto idle = std::find(programs_.program_of.begin(), programs_.program_of.end(), Operation::kNone);
    if (idle != programs_.program_of.end()) {
      programs.error(fmt::format("rank {} runs no program", idle - programs_.program_of.begin()),
                     "name it in the ranks of a program");
    }
  }

  config::Node root_;
  Programs programs_;
  bool ranks_known_ = false;
  GroupNames group_names_;
};

}  // namespace

Programs read_programs(const config::Document& document, config::Diagnostics& diagnostics) {
  Programs programs = FileReader(document.root()).run();
  diagnostics.throw_if_any();
  check(programs);
  return programs;
}

}  // namespace stepcast::program
