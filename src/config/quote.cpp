#include "config/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::config {
namespace {

/// Bytes of the UTF-8 character at the front of `text`, 0 when it is not one. Overlong forms and
/// surrogates pass: they cannot harm a message.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = 0;
  if (lead < 0x80) {
    length = 1;
  } else if (lead >= 0xC2 && lead < 0xE0) {
    length = 2;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3;
  } else if (lead >= 0xF0 && lead < 0xF5) {
    length = 4;
  }
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  std::string piece;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at, 4));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (text[at] == '\n') {
      piece = "\\n";
    } else if (text[at] == '\t') {
      piece = "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      piece = fmt::format("\\x{:02x}", byte);
    } else {
      piece = text.substr(at, length);
    }
    if (result.size() + piece.size() > longest) {
      return result + "...";
    }
    result += piece;
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

}  // namespace stepcast::config
