#pragma once

// Scanning of JSON text without building anything, for the sources of config/ only: where tokens
// begin and end, and what is wrong with a text that the parser refused.

#include <cstddef>
#include <string>
#include <string_view>

namespace stepcast::config {

/// First offset from `at` on that is neither blank nor in a comment; the offset of a comment that is
/// never closed; the size at the end.
[[nodiscard]] std::size_t skip_blanks(std::string_view text, std::size_t at);

/// End of the string token at `at` (past its closing quote), or the size when it has none.
[[nodiscard]] std::size_t string_end(std::string_view text, std::size_t at);

/// End of the longest JSON number at `at`, `at` when there is none.
[[nodiscard]] std::size_t number_end(std::string_view text, std::size_t at);

/// What the parser had read last, and hence what is due next.
enum class After { kStart, kOpening, kKey, kValue };
/// What it was in.
enum class Inside { kNothing, kArray, kObject };

/// A syntax error: where, what and what to do.
struct SyntaxError {
  std::size_t at = 0;
  bool number_too_large = false;  // the syntax is right, the value does not fit
  bool in_value = false;          // at the place of a value (not of a key or separator)
  std::string problem;
  std::string remedy;
};

/// Explains why the text stops being JSON after `at`. `opened_line` is the line of the innermost open
/// bracket.
[[nodiscard]] SyntaxError explain_syntax(
    std::string_view text, std::size_t at, After after, Inside inside, int opened_line);

}  // namespace stepcast::config
