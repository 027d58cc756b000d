#include <array>

#include <fmt/core.h>

#include "program/findings.hpp"
#include "program/program.hpp"

namespace stepcast::program {
namespace {

struct Unit {
  std::int64_t size;
  std::string_view name;
};

std::string in_largest_unit(std::int64_t count, const auto& units) {
  for (const Unit& unit : units) {
    if (count != 0 && count % unit.size == 0) {
      return fmt::format("{} {}", count / unit.size, unit.name);
    }
  }
  return fmt::format("{} {}", count, units.back().name);
}

const SourcePlace* place_of(const Program& program, std::uint32_t operation) {
  const std::uint32_t place = program.operations[operation].place;
  return place < program.places.size() ? &program.places[place] : nullptr;
}

/// Where an operation stands in a file, or what it was generated from; without file when neither is known.
config::Place file_place(const Program& program, std::uint32_t operation) {
  const SourcePlace* own = place_of(program, operation);
  const SourcePlace* place = own == nullptr ? &program.origin : own;
  config::Place at;
  at.file = place->file;
  at.pointer = place->pointer;
  if (place->column > 0) {
    at.line = static_cast<int>(place->offset);
    at.column = place->column;
  } else if (place->offset >= 0 && !at.file.empty()) {
    at.file += fmt::format(":{}", place->offset);
  }
  return at;
}

}  // namespace

std::string exact_text(Bytes bytes) {
  static constexpr std::array<Unit, 4> kUnits{
      {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}};
  return in_largest_unit(bytes.count(), kUnits);
}

std::string exact_text(Duration duration) {
  static constexpr std::array<Unit, 5> kUnits{
      {{1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}, {1, "ps"}}};
  return in_largest_unit(duration.ps(), kUnits);
}

config::Place origin_of(const Program& program) {
  config::Place at;
  at.file = program.origin.file;
  at.line = program.origin.column > 0 ? static_cast<int>(program.origin.offset) : 0;
  at.column = program.origin.column;
  return at;
}

std::string describe(const Program& program, std::uint32_t operation) {
  if (const SourcePlace* place = place_of(program, operation); place != nullptr && !place->id.empty()) {
    return fmt::format("\"{}\" of program \"{}\"", place->id, program.name);
  }
  const Operation& op = program.operations[operation];
  if (op.label < program.labels.size() && !program.labels[op.label].name.empty()) {
    return fmt::format("operation {} ({}) of program \"{}\"", operation, program.labels[op.label].name,
                       program.name);
  }
  return fmt::format("operation {} ({}) of program \"{}\"", operation, name_of(op.kind), program.name);
}

std::string describe_with_place(const Program& program, std::uint32_t operation) {
  const SourcePlace* place = place_of(program, operation);
  if (place == nullptr || place->file.empty()) {
    return describe(program, operation);
  }
  const std::string where =
      place->offset < 0 ? place->file : fmt::format("{}:{}", place->file, place->offset);
  return fmt::format("{} at {}", describe(program, operation), where);
}

void add_finding(config::Diagnostics& diagnostics,
                 const Program& program,
                 std::uint32_t operation,
                 std::string_view problem,
                 std::string_view remedy) {
  diagnostics.add(file_place(program, operation), problem, remedy);
}

void add_unsupported(config::Diagnostics& diagnostics,
                     const Program& program,
                     std::uint32_t operation,
                     std::string_view problem,
                     std::string_view remedy) {
  diagnostics.add_unsupported(file_place(program, operation), problem, remedy);
}

void add_findings(config::Diagnostics& diagnostics,
                  const Programs& programs,
                  const std::vector<RankFinding>& findings,
                  std::string_view what) {
  for (const RankFinding& finding : findings) {
    std::string problem = finding.problem;
    if (finding.cases > 1) {
      problem += fmt::format(" (and {} more {} likewise)", finding.cases - 1, what);
    }
    add_finding(diagnostics, programs.programs[finding.program], finding.operation, problem, finding.remedy);
  }
}

void check(const Programs& programs) {
  config::Diagnostics diagnostics;
  check_structure(programs, diagnostics);
  diagnostics.throw_if_any();
  for (const Program& program : programs.programs) {
    check_dependencies(program, diagnostics);
  }
  check_messages(programs, diagnostics);
  check_collectives(programs, diagnostics);
  diagnostics.throw_if_any();
}

}  // namespace stepcast::program
