#include "config/option.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"
#include "config/quote.hpp"

namespace stepcast::config {
namespace {

bool has_range(const Option& option) {
  return option.lower != 0 || option.upper != 0;
}

/// A bound of an integer option as an integer; what double cannot hold exactly is the type's own bound.
std::int64_t whole_bound(double bound) {
  constexpr double kLimit = 9.2e18;
  if (std::abs(bound) >= kLimit) {
    return bound < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return static_cast<std::int64_t>(bound);
}

/// Reads a quantity by `read` and holds it against the option's range, in the units of Option::lower.
template <class Read, class Measure>
auto read_within(const Node& node, const Option& option, std::string_view unit, Read read, Measure measure) {
  const std::size_t errors = node.present() ? node.diagnostics().size() : 0;
  const auto quantity = read(node);
  const double value = measure(quantity);
  const bool is_right = node.present() && node.diagnostics().size() == errors;
  if (is_right && has_range(option) && (value < option.lower || value > option.upper)) {
    const Node written = node.is_object() ? node.get("value") : node;
    written.error(in_quotes(written.text()) + " is out of range",
                  fmt::format("write {} to {} {}", option.lower, option.upper, unit));
  }
  return quantity;
}

}  // namespace

OptionValues::Entry OptionValues::read(const Option& option, const Node& node) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  Entry entry;
  entry.name = option.name;
  entry.type = option.type;
  const bool range = has_range(option);
  switch (option.type) {
    case OptionType::kInteger:
      entry.whole =
          node.integer(range ? whole_bound(option.lower) : std::numeric_limits<std::int64_t>::min(),
                       range ? whole_bound(option.upper) : std::numeric_limits<std::int64_t>::max());
      break;
    case OptionType::kNumber:
      entry.real = node.factor(range ? option.lower : -kHuge, range ? option.upper : kHuge);
      break;
    case OptionType::kBoolean: entry.whole = node.boolean() ? 1 : 0; break;
    case OptionType::kBytes:
      entry.whole = read_within(
                        node, option, "B", [](const Node& at) { return at.bytes(); },
                        [](Bytes size) { return static_cast<double>(size.count()); })
                        .count();
      break;
    case OptionType::kBandwidth:
      entry.whole = read_within(
                        node, option, "b/s", [](const Node& at) { return at.bandwidth(); },
                        [](Bandwidth rate) { return static_cast<double>(rate.bits_per_second()); })
                        .bits_per_second();
      break;
    case OptionType::kDuration:
      entry.whole = read_within(
                        node, option, "s", [](const Node& at) { return at.duration(); },
                        [](Duration time) { return time.seconds(); })
                        .ps();
      break;
    case OptionType::kText: entry.text = node.text(); break;
  }
  return entry;
}

OptionValues::OptionValues(const Node& node,
                           std::span<const Option> table,
                           const std::vector<std::string>& also_allowed) {
  if (node.present()) {
    std::vector<std::string> keys = also_allowed;
    for (const Option& option : table) {
      keys.emplace_back(option.name);
    }
    node.allow_only(keys);
  }
  for (const Option& option : table) {
    const Node given = node.is_object() ? node.get(option.name) : Node();
    if (given.present()) {
      entries_.push_back(read(option, given));
      entries_.back().given = true;
      continue;
    }
    if (option.default_value.empty()) {
      if (node.is_object()) {
        static_cast<void>(node.require(option.name));
      } else if (!node.present()) {
        node.error("missing option " + in_quotes(option.name),
                   fmt::format("add {}: ...", in_quotes(option.name)));
      }
      entries_.push_back(read(option, Node()));
      continue;
    }
    // A default takes the way of a value in a file, so it obeys the same grammar and range.
    Diagnostics diagnostics;
    Document defaults = Document::parse("{\"default\": null}", "default", diagnostics);
    const bool plain_text = option.type == OptionType::kText && option.default_value.front() != '"';
    defaults.set("/default", plain_text ? fmt::format("\"{}\"", option.default_value)
                                        : std::string(option.default_value));
    entries_.push_back(read(option, defaults.root().get("default")));
    STEPCAST_CHECK(diagnostics.empty(), "default {} of option {}", option.default_value, option.name);
  }
}

const OptionValues::Entry& OptionValues::entry(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.name == name; });
  STEPCAST_CHECK(found != entries_.end(), "option {} is not in the table", name);
  return *found;
}

const OptionValues::Entry& OptionValues::entry(std::string_view name, OptionType type) const {
  const Entry& found = entry(name);
  STEPCAST_CHECK(found.type == type, "option {} is of another type", name);
  return found;
}

std::int64_t OptionValues::integer(std::string_view name) const {
  return entry(name, OptionType::kInteger).whole;
}
double OptionValues::number(std::string_view name) const {
  return entry(name, OptionType::kNumber).real;
}
bool OptionValues::boolean(std::string_view name) const {
  return entry(name, OptionType::kBoolean).whole != 0;
}
Bytes OptionValues::bytes(std::string_view name) const {
  return Bytes(entry(name, OptionType::kBytes).whole);
}
Bandwidth OptionValues::bandwidth(std::string_view name) const {
  return Bandwidth::from_bits_per_second(entry(name, OptionType::kBandwidth).whole);
}
Duration OptionValues::duration(std::string_view name) const {
  return Duration::from_ps(entry(name, OptionType::kDuration).whole);
}
std::string OptionValues::text(std::string_view name) const {
  return entry(name, OptionType::kText).text;
}
bool OptionValues::given(std::string_view name) const {
  return entry(name).given;
}

}  // namespace stepcast::config
