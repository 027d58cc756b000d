#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"

namespace stepcast::config {

/// Where a value stands: printed as `FILE:LINE:COL: /json/pointer`. Lines and columns count from 1,
/// columns in characters (UTF-8 code points). The pointer of the root is "/"; an empty pointer is not
/// printed. A value given by `--set` has the flag as its file ("--set /a/b") and no line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string pointer;
};

/// "FILE:LINE:COL: /json/pointer", what is not known left out.
[[nodiscard]] std::string place_text(const Place& place);

/// Collects input errors so that several are reported at once: file by file, each in file order.
/// The same error twice counts once.
class Diagnostics {
 public:
  /// Records one error. `problem` says what is wrong, `remedy` what to do. A place without file is none.
  void add(const Place& place, std::string_view problem, std::string_view remedy);

  /// Records an error that has no place in a file (a flag, a contradiction between two files).
  void add(std::string_view problem, std::string_view remedy);

  /// Records what is valid but not covered; `remedy` names what is.
  void add_unsupported(const Place& place, std::string_view problem, std::string_view remedy);
  void add_unsupported(std::string_view problem, std::string_view remedy);

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }

  /// Every message as below; empty when there is none.
  [[nodiscard]] std::string text() const;

  /// Throws InputError with every message (at most twenty, then a count), one per line; an
  /// UnsupportedError when every one of them is only not covered.
  void throw_if_any() const;

 private:
  friend class Node;
  struct Message {
    std::string file;
    int line = 0;
    int column = 0;
    std::string text;
  };
  void add_message(Message message);
  std::vector<Message> messages_;  // the first 200: hostile input can make millions
  std::size_t count_ = 0;
  bool wrong_ = false;  // something was added that is wrong, not only not covered
  std::set<std::pair<const void*, std::string>> misspelt_;  // keys of an object that another was meant for
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
/// Accepts comments (`//` and `/* */`) and a UTF-8 byte order mark. Refuses by an InputError: syntax
/// errors, numbers that do not fit a double (or of over 400 characters), text over 64 MiB, nesting over
/// 200, over ten million values. Duplicate keys are recorded in the Diagnostics, and the first counts.
class Document {
 public:
  /// Parses `text`; `name` stands as FILE in messages. Throws InputError when the text is not JSON, and
  /// nothing else whatever the bytes. `diagnostics` must outlive the document and its Nodes.
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
  /// is not JSON is taken as a string, so that `--set /x=400Gb/s` works. A missing key is added, and so
  /// are missing objects on the way to it (unknown keys are then refused by the reader); an index that does
  /// not exist and "-" are InputErrors. Nodes taken before keep the value they had.
  void set(std::string_view pointer, std::string_view value_text);

  /// The text of a complete document again, keys in file order, comments dropped.
  [[nodiscard]] std::string dump() const;

  struct Value;  ///< opaque: defined in the sources of config/
  struct State;

 private:
  Document();
  std::unique_ptr<State> state_;
};

/// A value of a Document, read with checks. Wrong types, ranges and units are recorded in the
/// Diagnostics of the document; the call then returns a harmless fallback, so that reading goes on
/// and more errors are found. An absent Node (from `get`) answers `present() == false`; reading it
/// gives the fallback and records nothing. Fallbacks: 1 brought into [lower, upper] for numbers, 1 B,
/// 1 Gb/s, 0 ps, 1 TFLOP/s, fp16, empty text, false, no items.
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

  /// Member of an object; a missing one is an error at the object ("missing key"), unless allow_only has
  /// reported a key of it as this one misspelt.
  [[nodiscard]] Node require(std::string_view key) const;

  /// Records an error for each key not listed, with a suggestion. `$schema` and `comment` always pass.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  void allow_only(const std::vector<std::string>& keys) const;

  [[nodiscard]] std::vector<Node> items() const;                            ///< of an array
  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const;  ///< of an object, file order

  [[nodiscard]] std::string text() const;
  /// Text that reports show within a line: control characters are refused.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool boolean() const;
  /// Whole number in [lower, upper] (1e3 and 5.0 count as whole).
  [[nodiscard]] std::int64_t integer(std::int64_t lower, std::int64_t upper) const;
  /// Finite number in [lower, upper].
  [[nodiscard]] double number(double lower, double upper) const;

  /// Quantities: text with a unit ("400 Gb/s", "450 GB/s", "1.9 us", "80 GiB", "312 TFLOP/s"), or an
  /// object {"value": ..., "source": ..., "kind": ...} with all three keys. A bare number is refused
  /// with the units.
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
  /// Records that this value is valid but not covered; `remedy` names what is.
  void unsupported(std::string_view problem, std::string_view remedy) const;

  [[nodiscard]] Place place() const;
  /// REQUIRES: the node comes from a Document (it may be absent).
  [[nodiscard]] Diagnostics& diagnostics() const;

 private:
  friend class Document;
  Node(const Document::Value* value, Diagnostics* diagnostics) : value_(value), diagnostics_(diagnostics) {}
  [[nodiscard]] bool check_object() const;
  const Document::Value* value_ = nullptr;
  Diagnostics* diagnostics_ = nullptr;
};

}  // namespace stepcast::config
