#pragma once

#include <cstdint>
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
  std::string_view default_value;  ///< as it would stand in a file, quotes left out; empty = required
  double lower = 0;                ///< inclusive, in B, bit/s, s; ignored for text and booleans
  double upper = 0;                ///< both bounds 0: no range but the type's own
  std::string_view description;
  std::string_view source;
};

/// Values of a leaf's options, defaults filled in. Asking for a name that is not in the table, or by
/// another type than the table's, is a defect of the leaf (InternalError).
class OptionValues {
 public:
  /// Reads `node` (an object; may be absent when nothing is required) against `table`.
  /// `also_allowed` are keys that the caller reads itself (such as "kind"). Mistakes are recorded in
  /// the node's Diagnostics; the option then holds a harmless value.
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
    OptionType type = OptionType::kText;
    bool given = false;
    std::int64_t whole = 0;  // integers, booleans, bytes, bit/s, ps
    double real = 0;
    std::string text;
  };
  static Entry read(const Option& option, const Node& node);
  [[nodiscard]] const Entry& entry(std::string_view name) const;
  [[nodiscard]] const Entry& entry(std::string_view name, OptionType type) const;
  std::vector<Entry> entries_;
};

}  // namespace stepcast::config
