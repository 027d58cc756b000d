#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"

namespace stepcast::config {

/// Where a value stands: printed as `FILE:LINE:COL: /json/pointer`. A value given by `--set` has the
/// flag as its file and no line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string pointer;
};

/// Collects input errors so that several are reported at once, in file order.
class Diagnostics {
 public:
  /// Records one error. `problem` says what is wrong, `remedy` what to do.
  void add(const Place& place, std::string_view problem, std::string_view remedy);

  /// Records an error that has no place in a file (a flag, a contradiction between two files).
  void add(std::string_view problem, std::string_view remedy);

  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }

  /// Throws InputError with every message (at most twenty, then a count), one per line.
  void throw_if_any() const;

 private:
  std::vector<std::string> messages_;
};

/// Where a number comes from (design 4.3).
enum class Evidence : std::uint8_t { kNameplate, kMeasured, kFitted, kQuoted, kAssumed };

/// Name as in files: "nameplate", "measured", "fitted", "quoted", "assumed".
[[nodiscard]] std::string_view name_of(Evidence evidence);

/// Source of a hardware or calibration number.
struct Source {
  std::string text;
  Evidence evidence = Evidence::kAssumed;
};

class Node;

/// A parsed JSON text with the place of every value. Owns the values; Nodes point into it.
///
/// Accepts comments (`//` and `/* */`). Refuses (as recorded errors, then an InputError): syntax
/// errors, duplicate keys, numbers that do not fit a double, text over 64 MiB, nesting over 200.
class Document {
 public:
  /// Parses `text`; `name` stands as FILE in messages. Throws InputError when the text is not JSON.
  [[nodiscard]] static Document parse(std::string_view text, std::string name, Diagnostics& diagnostics);

  /// Reads and parses a file; `shown_name` replaces the path in messages when not empty.
  [[nodiscard]] static Document load(const std::string& path,
                                     Diagnostics& diagnostics,
                                     std::string shown_name = {});

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] Node root() const;

  /// Replaces or adds the value at a JSON pointer (`--set /a/b=5`). `value_text` is JSON; text that
  /// is not JSON is taken as a string, so that `--set /x=400Gb/s` works. A missing last key is added
  /// (unknown keys are then refused by the reader); a missing parent is an InputError.
  void set(std::string_view pointer, std::string_view value_text);

  /// The text of a complete document again, keys in file order, comments dropped.
  [[nodiscard]] std::string dump() const;

 private:
  friend class Node;
  struct Value;
  struct State;
  Document();
  std::unique_ptr<State> state_;
};

/// A value of a Document, read with checks. Wrong types, ranges and units are recorded in the
/// Diagnostics of the document; the call then returns a harmless fallback, so that reading goes on
/// and more errors are found. An absent Node (from `get`) answers `present() == false`.
class Node {
 public:
  Node() = default;

  [[nodiscard]] bool present() const { return value_ != nullptr; }
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_boolean() const;
  [[nodiscard]] bool is_null() const;

  /// Member of an object, absent when missing.
  [[nodiscard]] Node get(std::string_view key) const;

  /// Member of an object; a missing one is an error at the object ("missing key").
  [[nodiscard]] Node require(std::string_view key) const;

  /// Records an error for each key not listed, with a suggestion. `$schema` and `comment` always pass.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  void allow_only(const std::vector<std::string>& keys) const;

  [[nodiscard]] std::vector<Node> items() const;                            ///< of an array
  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const;  ///< of an object, file order

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool boolean() const;
  /// Whole number in [lower, upper] (1e3 and 5.0 count as whole).
  [[nodiscard]] std::int64_t integer(std::int64_t lower, std::int64_t upper) const;
  /// Finite number in [lower, upper].
  [[nodiscard]] double number(double lower, double upper) const;

  /// Quantities: text with a unit ("400 Gb/s", "450 GB/s", "1.9 us", "80 GiB", "312 TFLOP/s"), or an
  /// object {"value": ..., "source": ..., "kind": ...}. A bare number is refused with the units.
  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Bandwidth bandwidth() const;
  [[nodiscard]] Duration duration() const;
  [[nodiscard]] FlopRate flop_rate() const;
  /// A bare number in [lower, upper], or {"value": number, "source": ..., "kind": ...}.
  [[nodiscard]] double factor(double lower, double upper) const;
  [[nodiscard]] DataType dtype() const;

  /// Source of a quantity object; for plain text the source is empty and the evidence "assumed".
  [[nodiscard]] Source source() const;

  /// Index of a text value in `names`; an unknown one is an error with a suggestion, index 0 returned.
  [[nodiscard]] std::size_t one_of(const std::vector<std::string>& names) const;

  /// Records an error at this value.
  void error(std::string_view problem, std::string_view remedy) const;

  [[nodiscard]] Place place() const;
  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }

 private:
  friend class Document;
  Node(const Document::Value* value, Diagnostics* diagnostics) : value_(value), diagnostics_(diagnostics) {}
  const Document::Value* value_ = nullptr;
  Diagnostics* diagnostics_ = nullptr;
};

}  // namespace stepcast::config
