#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/fingerprint.hpp"
#include "program/findings.hpp"
#include "program/interfaces.hpp"
#include "program/word.hpp"

namespace stepcast::program {
namespace {

std::uint64_t text_symbol(std::string_view text) {
  std::uint64_t symbol = text.size();
  for (const char letter : text) {
    symbol = mix(symbol, static_cast<unsigned char>(letter));
  }
  return symbol;
}

// What all members must agree on: what is done, and everything that its time depends on. Uneven splits
// differ from member to member, and so do their sizes.
std::uint64_t symbol_of(const Operation& op, const CollectiveDetail& detail) {
  std::uint64_t symbol = mix(static_cast<std::uint64_t>(detail.kind), detail.root);
  symbol = mix(symbol, static_cast<std::uint64_t>(op.meaning));
  const std::int64_t bytes = detail.splits.empty() ? op.bytes : -1;
  symbol = mix(symbol, static_cast<std::uint64_t>(bytes));
  symbol = mix(symbol, static_cast<std::uint64_t>(op.dtype));
  symbol = mix(symbol, static_cast<std::uint64_t>(op.duration_ps));
  symbol = mix(symbol, text_symbol(detail.reduction));
  symbol = mix(symbol, text_symbol(detail.algorithm));
  symbol = mix(symbol, text_symbol(detail.protocol));
  return mix(symbol, detail.channels);
}

Word word_of(const Program& program, const Interface& interface) {
  return Word(program, [&](std::uint32_t i) -> std::optional<std::uint64_t> {
    const Operation& op = program.operations[i];
    if (op.kind != OpKind::kCollective ||
        !std::binary_search(interface.slots.begin(), interface.slots.end(), op.target)) {
      return std::nullopt;
    }
    return symbol_of(op, program.collectives[op.detail]);
  });
}

// What an operation says beyond kind, size and root, by name. A hint that is not given says "any".
std::vector<std::pair<std::string_view, std::string>> choices_of(const Operation& op,
                                                                 const CollectiveDetail& detail) {
  const auto hint = [](const std::string& name) { return name.empty() ? std::string("any") : name; };
  return {{"dtype", std::string(name_of(op.dtype))},
          {"reduction", detail.reduction},
          {"algorithm", hint(detail.algorithm)},
          {"protocol", hint(detail.protocol)},
          {"channels", detail.channels == 0 ? std::string("any") : std::to_string(detail.channels)},
          {"duration",
           op.duration_ps < 0 ? std::string("not recorded") : exact_text(Duration::from_ps(op.duration_ps))}};
}

// " with algorithm ring, channels 4": what `operation` says otherwise than `other` does.
std::string differing_choices(const Program& program,
                              std::uint32_t operation,
                              const Program& other_program,
                              std::uint32_t other) {
  const auto choices = [](const Program& of, std::uint32_t i) {
    return choices_of(of.operations[i], of.collectives[of.operations[i].detail]);
  };
  const auto mine = choices(program, operation);
  const auto theirs = choices(other_program, other);
  std::string text;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].second != theirs[i].second) {
      text += fmt::format("{} {} {}", text.empty() ? " with" : ",", mine[i].first, mine[i].second);
    }
  }
  return text;
}

std::string collective_text(const Program& program, std::uint32_t operation) {
  const Operation& op = program.operations[operation];
  const CollectiveDetail& detail = program.collectives[op.detail];
  std::string text(collective::name_of(detail.kind));
  text += op.meaning == BytesMeaning::kUnknown ? " of unknown size"
                                               : fmt::format(" of {}", exact_text(Bytes(op.bytes)));
  if (op.meaning == BytesMeaning::kPerRank) {
    text += " per rank";
  }
  if (collective::has_root(detail.kind)) {
    text += fmt::format(" with root {}", detail.root);
  }
  return text;
}

// A whole buffer made of the members' parts must be countable.
bool per_rank_bytes_overflow(const Operation& op, const CollectiveDetail& detail, std::size_t members) {
  const bool gathers = collective::cuts_by_member(detail.kind) && detail.kind != collective::Kind::kAllToAll;
  return gathers && op.meaning == BytesMeaning::kPerRank &&
         op.bytes > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(members);
}

class CollectiveCheck {
 public:
  CollectiveCheck(const Programs& programs, config::Diagnostics& diagnostics)
      : programs_(programs),
        diagnostics_(diagnostics),
        meetings_(programs, SlotKind::kGroup, {OpKind::kCollective}) {}

  void run() {
    std::map<Digest, std::uint32_t> known{{Digest{}, 0}};
    for (const Interface& interface : meetings_.interfaces()) {
      Word word = word_of(programs_.programs[interface.program], interface);
      const auto at = known.try_emplace(word.digest(), static_cast<std::uint32_t>(known.size())).first;
      class_of_.push_back(at->second);
      word_of_.push_back(std::move(word));
    }
    check_all_groups();
    add_findings(diagnostics_, programs_, findings_, "ranks");
  }

 private:
  // How a rank takes part in the group at hand.
  struct Part {
    std::uint32_t rank = 0;
    std::uint32_t interface = Operation::kNone;
  };

  void check_all_groups() {
    std::vector<const Meeting*> by_group;
    by_group.reserve(meetings_.all().size());
    for (const Meeting& meeting : meetings_.all()) {
      by_group.push_back(&meeting);
    }
    std::stable_sort(by_group.begin(), by_group.end(),
                     [](const Meeting* a, const Meeting* b) { return a->other < b->other; });
    std::vector<std::uint32_t> interface_of(programs_.ranks, Operation::kNone);
    for (std::size_t i = 0; i < by_group.size();) {
      const std::uint32_t group = by_group[i]->other;
      const std::size_t begin = i;
      for (; i < by_group.size() && by_group[i]->other == group; ++i) {
        interface_of[by_group[i]->rank] = by_group[i]->interface;
      }
      check_members(group, interface_of);
      for (std::size_t k = begin; k < i; ++k) {
        const Meeting& meeting = *by_group[k];
        if (interface_of[meeting.rank] != Operation::kNone) {  // members have been cleared
          outsider(group, meeting);
          interface_of[meeting.rank] = Operation::kNone;
        }
      }
    }
  }

  void check_members(std::uint32_t group, std::vector<std::uint32_t>& interface_of) {
    const std::vector<RankId> members = programs_.groups[GroupId{group}].ranks();
    Part first;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint32_t rank = members[i].index();
      const Part part{rank, std::exchange(interface_of[rank], Operation::kNone)};
      if (i == 0) {
        first = part;
      } else {
        compare(group, first, part);
      }
      if (part.interface != Operation::kNone) {
        check_details(group, members.size(), part);
      }
    }
  }

  void compare(std::uint32_t group, const Part& first, const Part& part) {
    const std::pair<std::uint32_t, std::uint32_t> key{class_of(first), class_of(part)};
    if (key.first != key.second) {
      record(mismatches_, key, [&] { return mismatch(group, first, part); });
    }
  }

  // Roots and splits fit the size of the group; once for each interface and size.
  void check_details(std::uint32_t group, std::size_t members, const Part& part) {
    const auto [at, is_new] = detail_checks_.try_emplace({part.interface, members});
    if (!is_new) {
      for (const std::size_t finding : at->second) {
        ++findings_[finding].cases;
      }
      return;
    }
    const Interface& interface = meetings_.interfaces()[part.interface];
    const Program& program = programs_.programs[interface.program];
    for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (op.kind != OpKind::kCollective ||
          !std::binary_search(interface.slots.begin(), interface.slots.end(), op.target)) {
        continue;
      }
      const CollectiveDetail& detail = program.collectives[op.detail];
      std::string problem;
      std::string_view remedy = "correct it: roots count from 0, splits are one size per member";
      if (per_rank_bytes_overflow(op, detail, members)) {
        problem = fmt::format("has {} per rank in {} of {} members, too many bytes for one collective",
                              exact_text(Bytes(op.bytes)), group_text(group), members);
        remedy = "the whole buffer must stay below 2^63 bytes: give fewer bytes";
      } else if (detail.root >= members) {
        problem = fmt::format("has root {} in {} of {} members", detail.root, group_text(group), members);
      } else if (!detail.splits.empty() && detail.splits.size() != members) {
        problem = fmt::format("has {} splits for {} of {} members", detail.splits.size(), group_text(group),
                              members);
      } else if (!detail.splits.empty() &&
                 std::accumulate(detail.splits.begin(), detail.splits.end(), Int128{0},
                                 [](Int128 sum, Bytes split) { return sum + split.count(); }) != op.bytes) {
        problem = fmt::format("has splits that do not add up to its {}", exact_text(Bytes(op.bytes)));
      } else {
        continue;
      }
      at->second.push_back(findings_.size());
      findings_.push_back({interface.program, i,
                           fmt::format("{} {} (rank {})", describe(program, i), problem, part.rank),
                           std::string(remedy)});
    }
  }

  void outsider(std::uint32_t group, const Meeting& meeting) {
    record(outsiders_, {group, meeting.interface}, [&] {
      const std::uint32_t which = programs_.program_of[meeting.rank];
      const std::uint32_t operation = word_of_[meeting.interface].operation_at(0);
      return RankFinding{which, operation,
                         fmt::format("rank {} joins {} by {} but is not a member of it", meeting.rank,
                                     group_text(group), describe(programs_.programs[which], operation)),
                         "add it to the group, or give this rank a group that holds it"};
    });
  }

  [[nodiscard]] RankFinding mismatch(std::uint32_t group, const Part& a, const Part& b) const {
    const Word& word_a = word(a);
    const Word& word_b = word(b);
    const std::uint32_t program_a = programs_.program_of[a.rank];
    const std::uint32_t program_b = programs_.program_of[b.rank];
    const std::uint64_t at = first_difference(word_a, word_b);
    if (at < word_a.length() && at < word_b.length()) {
      const std::uint32_t op_a = word_a.operation_at(at);
      const std::uint32_t op_b = word_b.operation_at(at);
      const Program& at_a = programs_.programs[program_a];
      const Program& at_b = programs_.programs[program_b];
      const std::string text_a = collective_text(at_a, op_a);
      const std::string text_b = collective_text(at_b, op_b);
      // Hints matter where the collectives are otherwise the same.
      const bool same = text_a == text_b;
      const std::string how_a = same ? differing_choices(at_a, op_a, at_b, op_b) : std::string();
      const std::string how_b = same ? differing_choices(at_b, op_b, at_a, op_a) : std::string();
      return {program_b, op_b,
              fmt::format("collective number {} of {}: rank {} runs {}{} ({}), rank {} runs {}{} ({})",
                          at + 1, group_text(group), b.rank, text_b, how_b, describe(at_b, op_b), a.rank,
                          text_a, how_a, describe_with_place(at_a, op_a)),
              same ? "one collective has one time: give all members the same"
                   : "give all members the same collectives in the same order"};
    }
    const bool b_is_short = at == word_b.length();
    const Part& longer = b_is_short ? a : b;
    const Part& shorter = b_is_short ? b : a;
    const std::uint32_t which = programs_.program_of[longer.rank];
    const std::uint32_t operation = word(longer).operation_at(at);
    return {
        which, operation,
        fmt::format(
            "rank {} joins {} of the {} collectives that rank {} runs on {}; the first it misses is {} ({})",
            shorter.rank, at, word(longer).length(), longer.rank, group_text(group),
            describe(programs_.programs[which], operation),
            collective_text(programs_.programs[which], operation)),
        "let every member join every collective of its group"};
  }

  template <class Make>
  void record(std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>& known,
              std::pair<std::uint32_t, std::uint32_t> key,
              const Make& make) {
    const auto [at, is_new] = known.try_emplace(key, findings_.size());
    if (is_new) {
      findings_.push_back(make());
    } else {
      ++findings_[at->second].cases;
    }
  }

  [[nodiscard]] std::uint32_t class_of(const Part& part) const {
    return part.interface == Operation::kNone ? 0 : class_of_[part.interface];
  }
  [[nodiscard]] const Word& word(const Part& part) const {
    return part.interface == Operation::kNone ? silence_ : word_of_[part.interface];
  }
  [[nodiscard]] std::string group_text(std::uint32_t group) const {
    return group < programs_.group_names.size() && !programs_.group_names[group].empty()
               ? fmt::format("group \"{}\"", programs_.group_names[group])
               : fmt::format("group {}", group);
  }

  const Programs& programs_;
  config::Diagnostics& diagnostics_;
  Meetings meetings_;
  Word silence_;                         // of a rank that joins nothing: class 0
  std::vector<Word> word_of_;            // by interface
  std::vector<std::uint32_t> class_of_;  // by interface: equal words have equal classes
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> mismatches_;  // by classes of both
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> outsiders_;   // by group and interface
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::size_t>> detail_checks_;
  std::vector<RankFinding> findings_;
};

}  // namespace

void check_collectives(const Programs& programs, config::Diagnostics& diagnostics) {
  CollectiveCheck(programs, diagnostics).run();
}

}  // namespace stepcast::program
