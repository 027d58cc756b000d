#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/document_state.hpp"
#include "config/quote.hpp"
#include "config/text_file.hpp"

namespace stepcast::config {
namespace {

using Value = Document::Value;

/// One token of a JSON pointer as a key: ~1 is /, ~0 is ~. Empty optional: another ~ escape.
std::optional<std::string> unescape(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      key += token[i];
      continue;
    }
    ++i;
    if (i == token.size() || (token[i] != '0' && token[i] != '1')) {
      return std::nullopt;
    }
    key += token[i] == '0' ? '~' : '/';
  }
  return key;
}

/// Follows one JSON pointer for --set; every mistake ends in an InputError.
class Setter {
 public:
  Setter(Document::State& state, std::string_view pointer)
      : state_(state), flag_(state.files.emplace_back(fmt::format("--set {}", printable(pointer, 160)))) {
    split(pointer);
  }

  void set(std::string_view value_text) {
    Value* parent = state_.root;
    for (std::size_t i = 0; i + 1 < keys_.size(); ++i) {
      parent = &child(*parent, keys_[i], keys_[i + 1]);
    }
    ParseTarget target;
    target.file = &flag_;
    target.parent = parent;
    target.depth = keys_.size();
    target.has_lines = false;
    Value** slot = nullptr;
    if (std::holds_alternative<Value::Array>(parent->content)) {
      slot = &item(*parent, keys_.back());
      target.index = (*slot)->index;
    } else if (auto* object = std::get_if<Value::Object>(&parent->content)) {
      target.key = *state_.keys.insert(keys_.back()).first;
      slot = member(*object, target.key);
    } else {
      refuse(*parent, describe(*parent) + " has no members", "set the value itself, or name another place");
    }
    Value* value = parse_value(value_text, target);
    if (slot != nullptr) {
      *slot = value;
    } else {
      std::get<Value::Object>(parent->content).members.push_back(value);
    }
  }

 private:
  void split(std::string_view pointer) {
    if (pointer.size() < 2 || pointer.front() != '/') {
      refuse_pointer("bad pointer " + in_quotes(pointer),
                     "start it with / and name a value, as in /hosts/count");
    }
    while (!pointer.empty()) {
      pointer.remove_prefix(1);
      const std::size_t end = std::min(pointer.find('/'), pointer.size());
      auto key = unescape(pointer.substr(0, end));
      if (!key) {
        refuse_pointer("bad escape in " + in_quotes(pointer.substr(0, end)), "write ~1 for / and ~0 for ~");
      }
      keys_.push_back(std::move(*key));
      pointer.remove_prefix(end);
    }
  }

  [[noreturn]] void fail(const Place& place, std::string_view problem, std::string_view remedy) {
    state_.diagnostics->add(place, problem, remedy);
    state_.diagnostics->throw_if_any();
    throw InputError(std::string(problem));  // not reached: there is one
  }
  [[noreturn]] void refuse_pointer(std::string_view problem, std::string_view remedy) {
    fail({flag_, 0, 0, {}}, problem, remedy);
  }
  [[noreturn]] void refuse(const Value& at, std::string_view problem, std::string_view remedy) {
    fail({flag_, 0, 0, pointer_of(at)}, problem, remedy);
  }

  /// The container below `parent` that holds `next`; a missing object is added, as an optional section of a
  /// file may be: the reader refuses it when its key is unknown.
  Value& child(Value& parent, const std::string& key, const std::string& next) {
    if (std::holds_alternative<Value::Array>(parent.content)) {
      return *item(parent, key);
    }
    if (Value* found = find_member(parent, key)) {
      return *found;
    }
    auto* object = std::get_if<Value::Object>(&parent.content);
    if (object == nullptr) {
      refuse(parent, describe(parent) + " has no members", "set the value itself, or name another place");
    }
    if (next == "-" || (!next.empty() && next.find_first_not_of("0123456789") == std::string::npos)) {
      refuse(parent, fmt::format("no array {} to hold item {}", in_quotes(key), printable(next)),
             "set the array as a whole");
    }
    Value& added = state_.values.emplace_back();
    added.content = Value::Object{};
    added.parent = &parent;
    added.key = *state_.keys.insert(key).first;
    added.file = &flag_;
    object->members.push_back(&added);
    return added;
  }

  Value*& item(Value& array, const std::string& token) {
    auto& items = std::get<Value::Array>(array.content).items;
    const std::string range = items.empty() ? "the array is empty; set it as a whole"
                                            : fmt::format("write 0 to {}", items.size() - 1);
    if (token == "-") {
      refuse(array, "\"-\" (append) is not supported",
             items.empty() ? range : range + ", or set the whole array");
    }
    const bool digits = !token.empty() && token.find_first_not_of("0123456789") == std::string::npos &&
                        (token.size() == 1 || token.front() != '0');
    if (!digits) {
      refuse(array, in_quotes(token) + " is not an index of an array", range);
    }
    const std::size_t index = token.size() > 9 ? items.size() : std::stoul(token);
    if (index >= items.size()) {
      refuse(array, fmt::format("index {} is beyond the end of the array", printable(token)), range);
    }
    return items[index];
  }

  static Value** member(Value::Object& object, std::string_view key) {
    for (Value*& value : object.members) {
      if (value->key == key) {
        return &value;
      }
    }
    return nullptr;
  }

  Value* parse_value(std::string_view text, const ParseTarget& target) {
    auto parsed = parse_text(text, target, state_);
    if (auto* refusal = std::get_if<Refusal>(&parsed)) {
      if (refusal->is_json) {
        fail(refusal->place, refusal->problem, refusal->remedy);
      }
      Value& value = state_.values.emplace_back();
      value.content = std::string(text);
      value.parent = target.parent;
      value.key = target.key;
      value.index = target.index;
      value.file = target.file;
      return &value;
    }
    return std::get<Value*>(parsed);
  }

  Document::State& state_;
  const std::string& flag_;
  std::vector<std::string> keys_;
};

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);  // the shortest that reads back the same
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

/// Appends `value` as JSON, its lines indented by `indent`.
void write(const Value& value, std::size_t indent, std::string& out) {
  const auto write_all = [&](const std::vector<Value*>& children, char open, char close, bool keys) {
    out += open;
    for (std::size_t i = 0; i < children.size(); ++i) {
      out += (i == 0 ? "\n" : ",\n") + std::string(indent + 2, ' ');
      if (keys) {
        out += json_text(children[i]->key) + ": ";
      }
      write(*children[i], indent + 2, out);
    }
    if (!children.empty()) {
      out += '\n' + std::string(indent, ' ');
    }
    out += close;
  };
  if (const auto* object = std::get_if<Value::Object>(&value.content)) {
    write_all(object->members, '{', '}', true);
  } else if (const auto* array = std::get_if<Value::Array>(&value.content)) {
    write_all(array->items, '[', ']', false);
  } else if (const auto* text = std::get_if<std::string>(&value.content)) {
    out += json_text(*text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value.content)) {
    out += std::to_string(*whole);
  } else if (const auto* real = std::get_if<double>(&value.content)) {
    out += real_text(*real);
  } else if (const auto* truth = std::get_if<bool>(&value.content)) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

Document::Document() : state_(std::make_unique<State>()) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Document Document::parse(std::string_view text, std::string name, Diagnostics& diagnostics) {
  Document document;
  State& state = *document.state_;
  state.diagnostics = &diagnostics;
  ParseTarget target;
  target.file = &state.files.emplace_back(std::move(name));
  auto parsed = parse_text(text, target, state);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
    diagnostics.add(refusal->place, refusal->problem, refusal->remedy);
    diagnostics.throw_if_any();
  }
  state.root = std::get<Value*>(parsed);
  return document;
}

Document Document::load(const std::string& path, Diagnostics& diagnostics, std::string shown_name) {
  std::string name = std::move(shown_name);
  if (name.empty()) {
    name = path;
  }
  const std::string text = read_text_file(path, name, kLargestText);
  return parse(text, std::move(name), diagnostics);
}

Node Document::root() const {
  return Node(state_->root, state_->diagnostics);
}

void Document::set(std::string_view pointer, std::string_view value_text) {
  Setter(*state_, pointer).set(value_text);
}

std::string Document::dump() const {
  std::string text;
  write(*state_->root, 0, text);
  return text;
}

}  // namespace stepcast::config
