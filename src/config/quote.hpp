#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepcast::config {

/// `text` fit for a message: control characters and bytes that are not UTF-8 escaped, cut between
/// characters to at most `longest` bytes (then "...").
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 40);

/// printable() in double quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace stepcast::config
