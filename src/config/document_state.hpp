#pragma once

// Inside of Document, for the sources of config/ only.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/node.hpp"

namespace stepcast::config {

struct Document::Value {
  struct Array {
    std::vector<Value*> items;
  };
  struct Object {
    std::vector<Value*> members;  // file order; names are the values' keys
  };
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> content = nullptr;
  const Value* parent = nullptr;  // none for the root
  std::string_view key;           // in an object; the text belongs to the State
  std::uint32_t index = 0;        // in an array
  const std::string* file = nullptr;
  int line = 0;  // of the value's first character
  int column = 0;
  int key_line = 0;  // of the key's opening quote
  int key_column = 0;
};

struct Document::State {
  std::deque<std::string> files;            // the file and one entry for each --set
  std::set<std::string, std::less<>> keys;  // each spelling once
  std::deque<Value> values;                 // addresses are stable
  Value* root = nullptr;
  Diagnostics* diagnostics = nullptr;
};

inline constexpr std::size_t kLargestText = std::size_t{64} << 20;
inline constexpr std::size_t kMostValues = 10'000'000;
inline constexpr std::size_t kDeepest = 200;

/// JSON pointer of a value; "/" for the root.
[[nodiscard]] std::string pointer_of(const Document::Value& value);

/// `pointer` of a container followed by one more key or index, escaped.
[[nodiscard]] std::string pointer_below(const std::string& pointer, std::string_view token);

[[nodiscard]] Place place_of(const Document::Value& value);

/// The member `key` of an object, nullptr when missing or when `value` is not an object.
[[nodiscard]] Document::Value* find_member(const Document::Value& value, std::string_view key);

/// What a value is, for messages: `the number 5`, `text "abc"`, `an object`.
[[nodiscard]] std::string describe(const Document::Value& value);

/// Why a text was refused.
struct Refusal {
  bool is_json = false;  // a limit was passed, the syntax is right
  Place place;
  std::string problem;
  std::string remedy;
};

/// Where the parsed value will hang, and how places are counted.
struct ParseTarget {
  const std::string* file = nullptr;
  const Document::Value* parent = nullptr;
  std::string_view key;
  std::uint32_t index = 0;
  std::size_t depth = 0;  // nesting above it
  bool has_lines = true;  // false: a flag, its values have no line
};

/// Parses `text` into the state's arena; the value is not linked into its parent yet.
[[nodiscard]] std::variant<Document::Value*, Refusal> parse_text(std::string_view text,
                                                                 const ParseTarget& target,
                                                                 Document::State& state);

}  // namespace stepcast::config
