#include "program/rank_set.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace stepcast::program {
namespace {

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t step = 1;
};

// Takes a whole number off the front of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char letter) {
  if (text.empty() || text.front() != letter) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// "a", "a-b" or "a-b/step", whole.
std::optional<Range> parse_range(std::string_view text, std::uint32_t ranks) {
  const std::optional<std::uint32_t> first = take_number(text);
  std::optional<std::uint32_t> last = first;
  std::optional<std::uint32_t> step = 1;
  if (take(text, '-')) {
    last = take_number(text);
    if (take(text, '/')) {
      step = take_number(text);
    }
  }
  if (!text.empty() || !first || !last || !step || *last < *first || *last >= ranks || *step == 0) {
    return std::nullopt;
  }
  return Range{*first, (*last - *first) / *step + 1, *step};
}

Group from_ranges(const config::Node& node, const std::vector<Range>& ranges, std::uint32_t ranks) {
  if (ranges.size() == 1) {
    return Group::strided(ranges[0].first, {{ranges[0].step, ranges[0].count}});
  }
  std::vector<std::uint32_t> listed;
  for (const Range& range : ranges) {
    if (listed.size() + range.count > ranks) {
      node.error(fmt::format("more members than the job has ranks ({})", ranks), "name each rank once");
      break;
    }
    for (std::uint32_t i = 0; i < range.count; ++i) {
      listed.push_back(range.first + i * range.step);
    }
  }
  return Group::listed(std::move(listed));
}

Group read_text(const config::Node& node, std::uint32_t ranks) {
  const std::string whole = node.text();
  std::string_view rest = whole;
  std::vector<Range> ranges;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::optional<Range> range = parse_range(part, ranks);
    if (!range) {
      node.error(
          fmt::format("\"{}\" is not a range of ranks of this job (0-{})", part.substr(0, 40), ranks - 1),
          "write for example \"0-7\", \"0-56/8\" or \"0-3,8\"");
      return Group::strided(0, {});
    }
    ranges.push_back(*range);
    if (comma == std::string_view::npos) {
      return from_ranges(node, ranges, ranks);
    }
    rest.remove_prefix(comma + 1);
  }
}

Group read_strides(const config::Node& node, std::uint32_t ranks) {
  node.allow_only({"first", "strides"});
  const auto first = static_cast<std::uint32_t>(node.require("first").integer(0, ranks - 1));
  std::vector<Group::Stride> strides;
  std::uint64_t size = 1;
  std::uint64_t last = first;
  for (const config::Node& item : node.require("strides").items()) {
    item.allow_only({"step", "count"});
    const auto step = static_cast<std::uint32_t>(item.require("step").integer(1, ranks));
    const auto count = static_cast<std::uint32_t>(item.require("count").integer(1, ranks));
    size *= count;
    last += std::uint64_t{step} * (count - 1);
    if (size > ranks || last >= ranks) {
      item.error(fmt::format("strides reach past the {} ranks of the job", ranks), "make them smaller");
      return Group::strided(0, {});
    }
    strides.push_back({step, count});
  }
  return Group::strided(first, strides);
}

}  // namespace

Group read_rank_set(const config::Node& node, std::uint32_t ranks) {
  if (node.is_text()) {
    return read_text(node, ranks);
  }
  if (node.is_object()) {
    return read_strides(node, ranks);
  }
  if (!node.is_array()) {
    node.error("not a set of ranks", "write for example \"0-7\" or [0, 4]");
    return Group::strided(0, {});
  }
  std::vector<std::uint32_t> listed;
  for (const config::Node& item : node.items()) {
    listed.push_back(static_cast<std::uint32_t>(item.integer(0, ranks - 1)));
  }
  return Group::listed(std::move(listed));
}

std::string rank_set_json(const Group& group) {
  std::string text;
  if (group.is_listed()) {
    for (const RankId rank : group.ranks()) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", rank.index());
    }
    return fmt::format("[{}]", text);
  }
  if (group.size() == 0) {
    return "[]";
  }
  const std::vector<Group::Stride>& strides = group.strides();
  if (strides.empty()) {
    return fmt::format("\"{}\"", group.first());
  }
  if (strides.size() == 1) {
    const std::uint32_t last = group.first() + strides[0].step * (strides[0].count - 1);
    return strides[0].step == 1 ? fmt::format("\"{}-{}\"", group.first(), last)
                                : fmt::format("\"{}-{}/{}\"", group.first(), last, strides[0].step);
  }
  for (const Group::Stride& stride : strides) {
    text +=
        fmt::format("{}{{\"step\": {}, \"count\": {}}}", text.empty() ? "" : ", ", stride.step, stride.count);
  }
  return fmt::format("{{\"first\": {}, \"strides\": [{}]}}", group.first(), text);
}

}  // namespace stepcast::program
