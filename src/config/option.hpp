#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"

namespace stepcast::config {

/// What an option holds; parsing and range checks follow from it.
enum class OptionType : std::uint8_t { kInteger, kNumber, kBoolean, kBytes, kBandwidth, kDuration, kText };

/// One option of a leaf (topology builder, routing policy, pipeline schedule ...): from this table
/// come parsing, range checks, refusal of unknown keys, `stepcast list` / `explain`, and the README.
struct Option {
  std::string_view name;
  OptionType type;
  std::string_view unit;           ///< shown; empty when none
  std::string_view default_value;  ///< as it would stand in a file; empty = required
  double lower = 0;                ///< inclusive, in SI units; ignored for text and booleans
  double upper = 0;
  std::string_view description;
  std::string_view source;
};

/// Values of a leaf's options, defaults filled in.
class OptionValues {
 public:
  /// Reads `node` (an object; may be absent when nothing is required) against `table`.
  /// `also_allowed` are keys that the caller reads itself (such as "kind").
  OptionValues(const Node& node,
               std::span<const Option> table,
               const std::vector<std::string>& also_allowed = {});

  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] Bytes bytes(std::string_view name) const;
  [[nodiscard]] Bandwidth bandwidth(std::string_view name) const;
  [[nodiscard]] Duration duration(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  /// True when the file gave the option (not the default).
  [[nodiscard]] bool given(std::string_view name) const;

 private:
  struct Entry {
    std::string name;
    bool given = false;
    std::int64_t whole = 0;  // integers, booleans, bytes, bit/s, ps
    double real = 0;
    std::string text;
  };
  [[nodiscard]] const Entry& entry(std::string_view name) const;
  std::vector<Entry> entries_;
};

}  // namespace stepcast::config
