#include "config/scan.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/quote.hpp"

namespace stepcast::config {
namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_word(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '_' || letter == '-' || letter == '+' || letter == '.';
}

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) {
    ++end;
  }
  if (end == at) {  // one character, with the bytes that continue it
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      ++end;
    }
  }
  return text.substr(at, end - at);
}

SyntaxError explain_end(std::size_t at, Inside inside, int opened_line) {
  if (inside == Inside::kNothing) {
    return {at, false, false, "the text ends before a value", "write a JSON object"};
  }
  const bool object = inside == Inside::kObject;
  return {at, false, false,
          fmt::format("the text ends inside an {} that began at line {}", object ? "object" : "array",
                      opened_line),
          object ? "close it with }" : "close it with ]"};
}

/// `at` is the opening quote of a string that the parser refused.
SyntaxError explain_string(std::string_view text, std::size_t at) {
  constexpr std::string_view kEscapes = "\"\\/bfnrtu";
  for (std::size_t i = at + 1; i < text.size() && text[i] != '"'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '\n' || text[i] == '\r') {
      return {at, false, true, "the text value has no closing quote on its line",
              "close it with \", or write a line break as \\n"};
    }
    if (byte < 0x20) {
      return {i, false, true, fmt::format("control character 0x{:02x} in a text value", byte),
              fmt::format("write \\u{:04x}", byte)};
    }
    if (text[i] == '\\') {
      ++i;
      if (i < text.size() && kEscapes.find(text[i]) == std::string_view::npos) {
        return {i - 1, false, true,
                fmt::format("unknown escape \\{}", printable(word_at(text, i).substr(0, 1))),
                "write \\\\ for a backslash"};
      }
    }
  }
  if (string_end(text, at) == text.size() && (text.size() == at + 1 || text.back() != '"')) {
    return {at, false, true, "the text value has no closing quote", "close it with \""};
  }
  return {at, false, true, "the text value is not valid UTF-8, or has a bad \\u escape",
          "save the file as UTF-8; write \\u with four hexadecimal digits"};
}

SyntaxError explain_value(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 8> kNotFinite = {"nan",  "inf",       "infinity",  "-nan",
                                                          "-inf", "-infinity", "+infinity", "+inf"};
  const std::string_view word = word_at(text, at);
  std::string lower(word.substr(0, 10));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  if (text[at] == '"') {
    return explain_string(text, at);
  }
  if (std::find(kNotFinite.begin(), kNotFinite.end(), lower) != kNotFinite.end()) {
    return {at, false, true, fmt::format("JSON has no {}", printable(word)),
            "write a finite number, or leave the key out"};
  }
  if (lower == "true" || lower == "false" || lower == "none" || lower == "null") {
    return {at, false, true, fmt::format("unknown word {}", in_quotes(word)), "write true, false or null"};
  }
  if (is_digit(text[at]) || text[at] == '-' || text[at] == '+' || text[at] == '.') {
    if (number_end(text, at) == at + word.size()) {
      return {at, true, true, fmt::format("the number {} does not fit", printable(word)),
              "write a number below 1.8e308"};
    }
    return {at, false, true, fmt::format("malformed number {}", in_quotes(word)),
            "write digits, as in 12, -0.5 or 1e9; a value with a unit stands in double quotes"};
  }
  if (text[at] == '}' || text[at] == ']' || text[at] == ',' || text[at] == ':') {
    return {at, false, true, fmt::format("unexpected {} where a value is due", in_quotes(word)),
            "write a value, or remove what stands before it"};
  }
  return {at, false, true, fmt::format("unexpected {} where a value is due", in_quotes(word)),
          "write a number, true, false, null, \"text\", [...] or {...}"};
}

SyntaxError explain_key(std::string_view text, std::size_t at) {
  if (text[at] == '"') {
    return explain_string(text, at);
  }
  return {at, false, false, fmt::format("unexpected {} where a key is due", in_quotes(word_at(text, at))),
          "write \"key\": value, the key in double quotes"};
}

}  // namespace

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find_first_of("\r\n", at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos) {
        return at;
      }
      at = end + 2;
    } else {
      break;
    }
  }
  return at;
}

std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t number_end(std::string_view text, std::size_t at) {
  const auto skip_digits = [&](std::size_t from) {
    while (from < text.size() && is_digit(text[from])) {
      ++from;
    }
    return from;
  };
  const std::size_t first = at + (text.substr(at, 1) == "-" ? 1 : 0);
  std::size_t end = text.substr(first, 1) == "0" ? first + 1 : skip_digits(first);
  if (end == first) {
    return at;
  }
  if (text.substr(end, 1) == ".") {
    const std::size_t fraction = skip_digits(end + 1);
    end = fraction > end + 1 ? fraction : end;
  }
  if (text.substr(end, 1) == "e" || text.substr(end, 1) == "E") {
    const bool sign = text.substr(end + 1, 1) == "+" || text.substr(end + 1, 1) == "-";
    const std::size_t digits = end + (sign ? 2 : 1);
    const std::size_t exponent = skip_digits(digits);
    end = exponent > digits ? exponent : end;
  }
  return end;
}

SyntaxError explain_syntax(
    std::string_view text, std::size_t at, After after, Inside inside, int opened_line) {
  // Steps over one token that is still right, so that the error is put at the first wrong one.
  const auto step_over = [&](char token) {
    const bool there = at < text.size() && text[at] == token;
    if (there) {
      at = skip_blanks(text, at + 1);
    }
    return there;
  };
  at = skip_blanks(text, at);
  const bool object = inside == Inside::kObject;
  const bool comma = after == After::kValue && inside != Inside::kNothing && step_over(',');
  const bool colon = after == After::kKey && step_over(':');
  if (at >= text.size()) {
    return explain_end(at, inside, opened_line);
  }
  if (text.substr(at, 2) == "/*") {
    return {at, false, false, "the comment is never closed", "close it with */"};
  }
  if (after == After::kKey && !colon) {
    return {at, false, false, fmt::format("unexpected {} after a key", in_quotes(word_at(text, at))),
            "write \"key\": value"};
  }
  if (after == After::kValue && !comma && at > 0 && is_digit(text[at]) && is_digit(text[at - 1])) {
    return {at - 1, false, false, "a number with a leading zero", "remove the zero"};
  }
  if (after == After::kValue && inside == Inside::kNothing) {
    return {at, false, false,
            fmt::format("unexpected {} after the end of the document", in_quotes(word_at(text, at))),
            "remove it; a file holds one JSON value"};
  }
  if (after == After::kValue && !comma) {
    return {at, false, false,
            fmt::format("unexpected {} in an {} that began at line {}", in_quotes(word_at(text, at)),
                        object ? "object" : "array", opened_line),
            object ? "write , before the next key or } at the end"
                   : "write , before the next value or ] at the end"};
  }
  if (comma && text[at] == (object ? '}' : ']')) {
    return {at, false, false, fmt::format("unexpected \"{}\" after a comma", text[at]),
            "remove the comma before it"};
  }
  return object && after != After::kKey ? explain_key(text, at) : explain_value(text, at);
}

}  // namespace stepcast::config
