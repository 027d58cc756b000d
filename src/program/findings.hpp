#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "config/node.hpp"
#include "program/program.hpp"

namespace stepcast::program {

/// Text that reads back as the same value: the largest unit that divides it ("1 MiB", "1500 B").
[[nodiscard]] std::string exact_text(Bytes bytes);
/// "10 us", "1500 ps".
[[nodiscard]] std::string exact_text(Duration duration);

/// An operation in a message: `"ar0" of program "trainer"`, with its file and line when asked and known.
[[nodiscard]] std::string describe(const Program& program, std::uint32_t operation);
[[nodiscard]] std::string describe_with_place(const Program& program, std::uint32_t operation);

/// Records a finding at the place of an operation, or without place when it was generated.
void add_finding(config::Diagnostics& diagnostics,
                 const Program& program,
                 std::uint32_t operation,
                 std::string_view problem,
                 std::string_view remedy);
/// The same of what is valid but not covered; `remedy` names what is.
void add_unsupported(config::Diagnostics& diagnostics,
                     const Program& program,
                     std::uint32_t operation,
                     std::string_view problem,
                     std::string_view remedy);

/// Where a program comes from; a place without file when that is not known.
[[nodiscard]] config::Place origin_of(const Program& program);

/// A finding about some rank that may hold for many like it: kept once, with a count.
struct RankFinding {
  std::uint32_t program = 0;
  std::uint32_t operation = 0;
  std::string problem;
  std::string remedy;
  std::uint64_t cases = 1;
};
void add_findings(config::Diagnostics& diagnostics,
                  const Programs& programs,
                  const std::vector<RankFinding>& findings,
                  std::string_view what);

/// Members of all groups together: 512 groups around each of 131,072 ranks.
inline constexpr std::uint64_t kMostMemberships = std::uint64_t{1} << 26;

/// Parts of `check`. The later ones require that check_structure found nothing.
void check_structure(const Programs& programs, config::Diagnostics& diagnostics);
void check_dependencies(const Program& program, config::Diagnostics& diagnostics);
void check_messages(const Programs& programs, config::Diagnostics& diagnostics);
void check_collectives(const Programs& programs, config::Diagnostics& diagnostics);

}  // namespace stepcast::program
