#include "config/node.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/suggestion.hpp"
#include "config/document_state.hpp"
#include "config/quantity.hpp"
#include "config/quote.hpp"

namespace stepcast::config {
namespace {

using Value = Document::Value;

void expected(const Node& node, const Value& value, std::string_view what, std::string_view remedy) {
  node.error(fmt::format("expected {}, found {}", what, describe(value)), remedy);
}

std::string write_within(double lower, double upper, std::string_view kind) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  if (lower > -kHuge && upper < kHuge) {
    return fmt::format("write a {} from {} to {}", kind, lower, upper);
  }
  return lower > -kHuge ? fmt::format("write a {} of at least {}", kind, lower)
                        : fmt::format("write a {} of at most {}", kind, upper);
}

std::string write_whole_within(std::int64_t lower, std::int64_t upper) {
  if (upper == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("write a whole number of at least {}", lower);
  }
  return fmt::format("write a whole number from {} to {}", lower, upper);
}

/// The value as a whole number when it is one that fits.
std::optional<std::int64_t> as_whole(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.content)) {
    return *whole;
  }
  constexpr double kLimit = 9223372036854775808.0;  // 2^63, exact in double
  const auto* real = std::get_if<double>(&value.content);
  if (real == nullptr || std::floor(*real) != *real || *real < -kLimit || *real >= kLimit) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*real);
}

std::vector<std::string> evidence_names() {
  std::vector<std::string> names;
  for (const Evidence evidence : {Evidence::kNameplate, Evidence::kMeasured, Evidence::kFitted,
                                  Evidence::kQuoted, Evidence::kAssumed}) {
    names.emplace_back(name_of(evidence));
  }
  return names;
}

/// The value of {"value", "source", "kind"}, all three checked; other values as they are.
Node without_source(const Node& node) {
  if (!node.is_object()) {
    return node;
  }
  node.allow_only({"value", "source", "kind"});
  const Node source = node.require("source");
  if (source.is_text() && source.text().empty()) {
    source.error("the source is empty", "say where the number comes from");
  } else {
    static_cast<void>(source.text());
  }
  if (const Node kind = node.require("kind"); kind.present()) {
    static_cast<void>(kind.one_of(evidence_names()));
  }
  return node.require("value");
}

template <class T>
T read_quantity(const Node& node,
                Parsed<T> (*parse)(std::string_view),
                std::string_view example,
                T fallback) {
  const Node value = without_source(node);
  if (!value.present()) {
    return fallback;
  }
  if (value.is_number()) {
    value.error("needs a unit", fmt::format("write for example {}", example));
    return fallback;
  }
  if (!value.is_text()) {
    static_cast<void>(value.text());  // records what was found instead
    return fallback;
  }
  const Parsed<T> parsed = parse(value.text());
  if (!parsed.value) {
    value.error(parsed.problem, parsed.remedy);
  }
  return parsed.value.value_or(fallback);
}

}  // namespace

std::string pointer_below(const std::string& pointer, std::string_view token) {
  std::string result = pointer == "/" ? pointer : pointer + '/';
  for (const char letter : token) {
    if (letter == '~') {
      result += "~0";
    } else if (letter == '/') {
      result += "~1";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string pointer_of(const Value& value) {
  std::vector<const Value*> path;
  for (const Value* at = &value; at->parent != nullptr; at = at->parent) {
    path.push_back(at);
  }
  std::string pointer = "/";
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    const bool in_array = std::holds_alternative<Value::Array>((*at)->parent->content);
    pointer = pointer_below(pointer, in_array ? std::to_string((*at)->index) : std::string((*at)->key));
  }
  return pointer;
}

Place place_of(const Value& value) {
  return {*value.file, value.line, value.column, pointer_of(value)};
}

Value* find_member(const Value& value, std::string_view key) {
  const auto* object = std::get_if<Value::Object>(&value.content);
  if (object == nullptr) {
    return nullptr;
  }
  const auto found = std::find_if(object->members.begin(), object->members.end(),
                                  [&](const Value* member) { return member->key == key; });
  return found == object->members.end() ? nullptr : *found;
}

std::string describe(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.content)) {
    return "text " + in_quotes(*text);
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value.content)) {
    return fmt::format("the number {}", *whole);
  }
  if (const auto* real = std::get_if<double>(&value.content)) {
    return fmt::format("the number {}", *real);
  }
  if (const auto* truth = std::get_if<bool>(&value.content)) {
    return *truth ? "true" : "false";
  }
  if (std::holds_alternative<Value::Object>(value.content)) {
    return "an object";
  }
  return std::holds_alternative<Value::Array>(value.content) ? "an array" : "null";
}

bool Node::is_object() const {
  return present() && std::holds_alternative<Value::Object>(value_->content);
}
bool Node::is_array() const {
  return present() && std::holds_alternative<Value::Array>(value_->content);
}
bool Node::is_text() const {
  return present() && std::holds_alternative<std::string>(value_->content);
}
bool Node::is_boolean() const {
  return present() && std::holds_alternative<bool>(value_->content);
}
bool Node::is_null() const {
  return present() && std::holds_alternative<std::nullptr_t>(value_->content);
}
bool Node::is_number() const {
  return present() && (std::holds_alternative<std::int64_t>(value_->content) ||
                       std::holds_alternative<double>(value_->content));
}

/// True for an object; another value is an error, an absent one is not.
bool Node::check_object() const {
  if (present() && !is_object()) {
    expected(*this, *value_, "an object", "write {\"key\": value, ...}");
  }
  return is_object();
}

Node Node::get(std::string_view key) const {
  return Node(check_object() ? find_member(*value_, key) : nullptr, diagnostics_);
}

Node Node::require(std::string_view key) const {
  const Node member = get(key);
  if (is_object() && !member.present() && !diagnostics().misspelt_.contains({value_, std::string(key)})) {
    error("missing key " + in_quotes(key), fmt::format("add {}: ...", in_quotes(key)));
  }
  return member;
}

void Node::allow_only(std::initializer_list<std::string_view> keys) const {
  allow_only(std::vector<std::string>(keys.begin(), keys.end()));
}

void Node::allow_only(const std::vector<std::string>& keys) const {
  if (!check_object()) {
    return;
  }
  for (const Value* member : std::get<Value::Object>(value_->content).members) {
    const bool known = member->key == "$schema" || member->key == "comment" ||
                       std::find(keys.begin(), keys.end(), member->key) != keys.end();
    if (!known) {
      Place place = place_of(*member);
      place.line = member->key_line;
      place.column = member->key_column;
      diagnostics().add(place, "unknown key " + in_quotes(member->key), suggest(member->key, keys));
      const std::string meant = nearest(member->key, keys);
      if (!meant.empty() && find_member(*value_, meant) == nullptr) {
        diagnostics().misspelt_.emplace(value_, meant);
      }
    }
  }
}

std::vector<Node> Node::items() const {
  std::vector<Node> nodes;
  if (is_array()) {
    for (const Value* item : std::get<Value::Array>(value_->content).items) {
      nodes.push_back(Node(item, diagnostics_));
    }
  } else if (present()) {
    expected(*this, *value_, "an array", "write [value, ...]");
  }
  return nodes;
}

std::vector<std::pair<std::string, Node>> Node::members() const {
  std::vector<std::pair<std::string, Node>> pairs;
  if (check_object()) {
    for (const Value* member : std::get<Value::Object>(value_->content).members) {
      pairs.emplace_back(member->key, Node(member, diagnostics_));
    }
  }
  return pairs;
}

std::string Node::text() const {
  if (present() && !is_text()) {
    expected(*this, *value_, "text", "write it in double quotes");
  }
  return is_text() ? std::get<std::string>(value_->content) : std::string();
}

std::string Node::name() const {
  std::string name = text();
  if (printable(name, name.size()) != name) {  // a flag may also hold bytes that are not UTF-8
    error("the name " + in_quotes(name) + " holds control characters", "leave them out");
  }
  return name;
}

bool Node::boolean() const {
  if (present() && !is_boolean()) {
    expected(*this, *value_, "true or false", "write true or false without quotes");
  }
  return is_boolean() && std::get<bool>(value_->content);
}

std::int64_t Node::integer(std::int64_t lower, std::int64_t upper) const {
  const std::int64_t fallback = std::clamp<std::int64_t>(1, lower, upper);
  if (!present()) {
    return fallback;
  }
  const std::string remedy = write_whole_within(lower, upper);
  if (!is_number()) {
    expected(*this, *value_, "a whole number", remedy);
    return fallback;
  }
  const auto whole = as_whole(*value_);
  if (!whole) {
    error(describe(*value_) + " is not whole or does not fit", remedy);
    return fallback;
  }
  if (*whole < lower || *whole > upper) {
    error(fmt::format("{} is out of range", *whole), remedy);
    return fallback;
  }
  return *whole;
}

double Node::number(double lower, double upper) const {
  const double fallback = std::clamp(1.0, lower, upper);
  if (!present()) {
    return fallback;
  }
  const std::string remedy = write_within(lower, upper, "number");
  if (!is_number()) {
    expected(*this, *value_, "a number", remedy);
    return fallback;
  }
  const auto* whole = std::get_if<std::int64_t>(&value_->content);
  const double real = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value_->content);
  if (real < lower || real > upper) {
    error(fmt::format("{} is out of range", real), remedy);
    return fallback;
  }
  return real;
}

Bytes Node::bytes() const {
  return read_quantity(*this, &parse_bytes, "\"80 GiB\" or \"80 GB\"", Bytes(1));
}

Bandwidth Node::bandwidth() const {
  return read_quantity(*this, &parse_bandwidth, "\"400 Gb/s\" or \"50 GB/s\"",
                       Bandwidth::from_bits_per_second(1'000'000'000));
}

Duration Node::duration() const {
  return read_quantity(*this, &parse_duration, "\"1.9 us\" or \"500 ns\"", Duration());
}

FlopRate Node::flop_rate() const {
  return read_quantity(*this, &parse_flop_rate, "\"312 TFLOP/s\" or \"1.5 PFLOP/s\"",
                       FlopRate::from_flops_per_second(1e12));
}

double Node::factor(double lower, double upper) const {
  return without_source(*this).number(lower, upper);
}

DataType Node::dtype() const {
  constexpr std::array kTypes = {DataType::kInt8,  DataType::kFp8,   DataType::kFp16,
                                 DataType::kBf16,  DataType::kInt32, DataType::kFp32,
                                 DataType::kInt64, DataType::kFp64,  DataType::kByte};
  std::vector<std::string> names;
  names.reserve(kTypes.size());
  for (const DataType type : kTypes) {
    names.emplace_back(stepcast::name_of(type));
  }
  if (!is_text()) {
    static_cast<void>(text());
    return DataType::kFp16;
  }
  const auto found = std::find(names.begin(), names.end(), text());
  if (found == names.end()) {
    error("unknown data type " + in_quotes(text()), suggest(text(), names));
    return DataType::kFp16;
  }
  return kTypes[static_cast<std::size_t>(found - names.begin())];
}

Source Node::source() const {
  Source source;
  if (!is_object()) {
    return source;
  }
  if (const Node text = get("source"); text.present()) {
    source.text = text.text();
  }
  if (const Node kind = get("kind"); kind.present()) {
    source.evidence = static_cast<Evidence>(kind.one_of(evidence_names()));
  }
  return source;
}

std::size_t Node::one_of(const std::vector<std::string>& names) const {
  if (!is_text()) {
    static_cast<void>(text());
    return 0;
  }
  const auto found = std::find(names.begin(), names.end(), std::get<std::string>(value_->content));
  if (found == names.end()) {
    error("unknown value " + in_quotes(text()), suggest(text(), names));
    return 0;
  }
  return static_cast<std::size_t>(found - names.begin());
}

void Node::error(std::string_view problem, std::string_view remedy) const {
  if (present()) {
    diagnostics().add(place(), problem, remedy);
  } else {
    diagnostics().add(problem, remedy);
  }
}

void Node::unsupported(std::string_view problem, std::string_view remedy) const {
  if (present()) {
    diagnostics().add_unsupported(place(), problem, remedy);
  } else {
    diagnostics().add_unsupported(problem, remedy);
  }
}

Place Node::place() const {
  return present() ? place_of(*value_) : Place{};
}

Diagnostics& Node::diagnostics() const {
  STEPCAST_CHECK(diagnostics_ != nullptr, "a node of no document");
  return *diagnostics_;
}

}  // namespace stepcast::config
