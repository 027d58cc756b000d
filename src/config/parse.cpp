#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "config/document_state.hpp"
#include "config/quote.hpp"
#include "config/scan.hpp"

namespace stepcast::config {
namespace {

using Value = Document::Value;
using Json = nlohmann::json;

/// Line and column of offsets that only grow.
class Locator {
 public:
  explicit Locator(std::string_view text) : text_(text) {}

  void move_to(std::size_t offset) {
    for (; offset_ < offset; ++offset_) {
      const auto byte = static_cast<unsigned char>(text_[offset_]);
      if (byte == '\n') {
        ++line_;
        column_ = 1;
      } else if ((byte & 0xC0U) != 0x80U) {  // bytes that continue a character do not count
        ++column_;
      }
    }
  }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] int column() const { return column_; }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  int line_ = 1;
  int column_ = 1;
};

/// Receives nlohmann's events. It keeps no positions, so the start of each token is found by skipping
/// blanks and comments from the end of the one before.
class Builder {
 public:
  Builder(std::string_view text, const ParseTarget& target, Document::State& state)
      : text_(text), target_(target), state_(state), locator_(text) {}

  bool null() { return add_leaf(nullptr, std::string_view("null").size()); }
  bool boolean(bool value) { return add_leaf(value, std::string_view(value ? "true" : "false").size()); }
  bool number_integer(Json::number_integer_t value) { return add_number(std::int64_t{value}); }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (std::in_range<std::int64_t>(value)) {
      return add_number(static_cast<std::int64_t>(value));
    }
    return add_number(static_cast<double>(value));
  }
  bool number_float(Json::number_float_t value, const std::string& token);
  bool string(std::string& value) {
    const std::size_t at = next_token();
    return add(std::move(value), at, string_end(text_, at)) != nullptr;
  }
  bool binary(Json::binary_t& /*value*/) { return false; }  // not in text
  bool start_object(std::size_t /*size*/) { return open(Value::Object{}); }
  bool start_array(std::size_t /*size*/) { return open(Value::Array{}); }
  bool key(std::string& name);
  bool end_object() { return close('}'); }
  bool end_array() { return close(']'); }
  bool parse_error(std::size_t /*at*/,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& /*e*/);

  std::variant<Value*, Refusal> result() &&;

 private:
  struct Level {
    Value* container;
    std::map<std::string_view, const Value*> seen;  // of an object
  };

  std::size_t next_token();
  Value* add(decltype(Value::content) content, std::size_t at, std::size_t end);
  bool add_leaf(decltype(Value::content) content, std::size_t length) {
    const std::size_t at = next_token();
    return add(std::move(content), at, at + length) != nullptr;
  }
  bool add_number(decltype(Value::content) content) {
    const std::size_t at = next_token();
    return add(std::move(content), at, number_end(text_, at)) != nullptr;
  }
  bool open(decltype(Value::content) content);
  bool close(char bracket);
  void link(Value& value);
  bool refuse(std::size_t at, bool is_json, std::string pointer, std::string problem, std::string remedy);
  [[nodiscard]] std::string pointer_here(bool in_value) const;
  [[nodiscard]] std::string top_pointer() const;

  std::string_view text_;
  const ParseTarget& target_;
  Document::State& state_;
  Locator locator_;
  std::size_t cursor_ = 0;  // end of the last token
  After after_ = After::kStart;
  std::vector<Level> levels_;
  std::string_view key_;  // read, its value is not
  int key_line_ = 0;
  int key_column_ = 0;
  Value* root_ = nullptr;
  std::optional<Refusal> refusal_;
};

/// Start of the token that the parser has just read. Separators give no event of their own.
std::size_t Builder::next_token() {
  std::size_t at = skip_blanks(text_, cursor_);
  while (at < text_.size() && (text_[at] == ',' || text_[at] == ':')) {
    at = skip_blanks(text_, at + 1);
  }
  STEPCAST_CHECK(at < text_.size(), "an event past the end of the text");
  return at;
}

bool Builder::refuse(
    std::size_t at, bool is_json, std::string pointer, std::string problem, std::string remedy) {
  locator_.move_to(at);
  Place place{*target_.file, 0, 0, std::move(pointer)};
  if (target_.has_lines) {
    place.line = locator_.line();
    place.column = locator_.column();
  }
  refusal_ = Refusal{is_json, std::move(place), std::move(problem), std::move(remedy)};
  return false;
}

std::string Builder::top_pointer() const {
  Value top;  // stands where the parsed value will
  top.parent = target_.parent;
  top.key = target_.key;
  top.index = target_.index;
  return pointer_of(top);
}

/// Pointer of the value that is due (or of the container, when a key or separator is).
std::string Builder::pointer_here(bool in_value) const {
  if (levels_.empty()) {
    return top_pointer();
  }
  const Value& container = *levels_.back().container;
  const std::string pointer = pointer_of(container);
  if (after_ == After::kKey) {
    return pointer_below(pointer, key_);
  }
  const auto* array = std::get_if<Value::Array>(&container.content);
  return in_value && array != nullptr ? pointer_below(pointer, std::to_string(array->items.size())) : pointer;
}

Value* Builder::add(decltype(Value::content) content, std::size_t at, std::size_t end) {
  if (state_.values.size() >= kMostValues) {
    refuse(at, true, pointer_here(true), fmt::format("more than {} values", kMostValues),
           "split the file, or give lists in a shorter form");
    return nullptr;
  }
  Value& value = state_.values.emplace_back();
  value.content = std::move(content);
  value.file = target_.file;
  locator_.move_to(at);
  if (target_.has_lines) {
    value.line = locator_.line();
    value.column = locator_.column();
    value.key_line = key_line_;
    value.key_column = key_column_;
  }
  link(value);
  cursor_ = end;
  after_ = After::kValue;
  return &value;
}

void Builder::link(Value& value) {
  if (levels_.empty()) {
    value.parent = target_.parent;
    value.key = target_.key;
    value.index = target_.index;
    root_ = &value;
    return;
  }
  Level& level = levels_.back();
  value.parent = level.container;
  if (auto* array = std::get_if<Value::Array>(&level.container->content)) {
    value.index = static_cast<std::uint32_t>(array->items.size());
    array->items.push_back(&value);
    return;
  }
  value.key = key_;
  const auto [first, is_new] = level.seen.emplace(key_, &value);
  if (is_new) {
    std::get<Value::Object>(level.container->content).members.push_back(&value);
    return;
  }
  Place place = place_of(value);
  place.line = value.key_line;
  place.column = value.key_column;
  const int first_line = first->second->key_line;
  state_.diagnostics->add(place,
                          fmt::format("duplicate key {}{}", in_quotes(key_),
                                      first_line > 0 ? fmt::format(", first at line {}", first_line) : ""),
                          "keep one of them");
}

bool Builder::number_float(Json::number_float_t value, const std::string& token) {
  constexpr std::size_t kLongestNumber = 400;
  const std::size_t at = next_token();
  const bool vanished = value == 0 && token.substr(0, token.find_first_of("eE")).find_first_of("123456789") !=
                                          std::string::npos;
  if (vanished || token.size() > kLongestNumber) {
    return refuse(at, true, pointer_here(true), fmt::format("the number {} does not fit", printable(token)),
                  vanished ? "write 0 or a number above 1e-307" : "write at most 400 digits");
  }
  return add_number(value);
}

bool Builder::open(decltype(Value::content) content) {
  const std::size_t at = next_token();
  if (target_.depth + levels_.size() >= kDeepest) {
    return refuse(at, true, pointer_here(true), fmt::format("nesting deeper than {}", kDeepest),
                  "flatten the structure");
  }
  Value* value = add(std::move(content), at, at + 1);
  if (value == nullptr) {
    return false;
  }
  levels_.push_back({value, {}});
  after_ = After::kOpening;
  return true;
}

bool Builder::close(char bracket) {
  const std::size_t at = next_token();
  STEPCAST_CHECK(text_[at] == bracket, "expected {} at offset {}", bracket, at);
  cursor_ = at + 1;
  after_ = After::kValue;
  levels_.pop_back();
  return true;
}

bool Builder::key(std::string& name) {
  const std::size_t at = next_token();
  STEPCAST_CHECK(text_[at] == '"', "expected a key at offset {}", at);
  locator_.move_to(at);
  key_line_ = locator_.line();
  key_column_ = locator_.column();
  key_ = *state_.keys.insert(std::move(name)).first;
  cursor_ = string_end(text_, at);
  after_ = After::kKey;
  return true;
}

bool Builder::parse_error(std::size_t /*at*/,
                          const std::string& /*token*/,
                          const nlohmann::detail::exception& /*e*/) {
  Inside inside = Inside::kNothing;
  int opened_line = 0;
  if (!levels_.empty()) {
    const Value& container = *levels_.back().container;
    inside = std::holds_alternative<Value::Array>(container.content) ? Inside::kArray : Inside::kObject;
    opened_line = container.line;
  }
  SyntaxError error = explain_syntax(text_, cursor_, after_, inside, opened_line);
  return refuse(error.at, error.number_too_large, pointer_here(error.in_value), std::move(error.problem),
                std::move(error.remedy));
}

std::variant<Value*, Refusal> Builder::result() && {
  if (refusal_) {
    return std::move(*refusal_);
  }
  STEPCAST_CHECK(root_ != nullptr && levels_.empty(), "a parse without value or error");
  return root_;
}

/// What is refused before any parsing, with its offset.
std::optional<std::pair<std::size_t, std::pair<std::string, std::string>>> refuse_at_sight(
    std::string_view text) {
  using Text = std::pair<std::string, std::string>;
  if (text.size() > kLargestText) {
    return {
        {0, Text{"the text is larger than 64 MiB", "split it, or generate the job instead of listing it"}}};
  }
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    return {{at, Text{"the text holds a zero byte", "save the file as UTF-8 text"}}};
  }
  if (text.empty()) {
    return {{0, Text{"empty file", "write a JSON object"}}};
  }
  if (text.starts_with("\xEF\xBB\xBF")) {  // one is accepted; the parser would skip another unseen
    return {{0, Text{"two byte order marks", "leave one"}}};
  }
  if (skip_blanks(text, 0) == text.size()) {
    return {{0, Text{"the file holds only blanks and comments", "write a JSON object"}}};
  }
  return std::nullopt;
}

}  // namespace

std::variant<Value*, Refusal> parse_text(std::string_view text,
                                         const ParseTarget& target,
                                         Document::State& state) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (auto refused = refuse_at_sight(text)) {
    Place place{*target.file, 0, 0, "/"};
    if (target.has_lines) {
      Locator locator(text);
      locator.move_to(refused->first);
      place.line = locator.line();
      place.column = locator.column();
    }
    return Refusal{false, std::move(place), std::move(refused->second.first),
                   std::move(refused->second.second)};
  }
  Builder builder(text, target, state);
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true, true);
  return std::move(builder).result();
}

}  // namespace stepcast::config
