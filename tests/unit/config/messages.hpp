#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "config/node.hpp"

namespace stepcast::config {

/// The errors that reading `text` (as file "c.json") with `read` ends in, one per line; "" for none.
inline std::string errors(
    std::string_view text, const std::function<void(Document&)>& read = [](Document&) {}) {
  try {
    Diagnostics diagnostics;
    Document document = Document::parse(text, "c.json", diagnostics);
    read(document);
    diagnostics.throw_if_any();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// As errors(), reading the root.
inline std::string root_errors(std::string_view text, const std::function<void(const Node&)>& read) {
  return errors(text, [&](Document& document) { read(document.root()); });
}

}  // namespace stepcast::config
