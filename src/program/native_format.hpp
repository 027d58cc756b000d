#pragma once

#include <string>
#include <string_view>

#include "config/node.hpp"
#include "program/program.hpp"

namespace stepcast::program {

/// Reads a program file of our own format (README.md of this folder). Throws InputError with all
/// findings, `check` included.
[[nodiscard]] Programs read_programs(const config::Document& document, config::Diagnostics& diagnostics);

/// Writes the same format. read_programs(parse(write(x))) equals x up to the order and sharing of side
/// tables, the places, and names: what has no name, id or an ambiguous one gets its own.
/// REQUIRES: check(programs) passes.
[[nodiscard]] std::string write_programs(const Programs& programs);

}  // namespace stepcast::program
