#include "report/escape.hpp"

namespace stepcast::report {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char letter : text) {
    out += letter;
    if (letter == '"') {
      out += '"';
    }
  }
  return out + "\"";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '\n':
      case '\r': out += ' '; break;
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '\\':
      case '|':
      case '`':
      case '*':
      case '[':
      case '~': out += '\\'; [[fallthrough]];
      default: out += letter;
    }
  }
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      default: out += letter;
    }
  }
  return out;
}

}  // namespace stepcast::report
