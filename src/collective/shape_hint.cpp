#include "collective/shape_hint.hpp"

#include <charconv>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"

namespace stepcast::collective {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void refuse(std::string_view hint, std::string_view problem) {
  throw InputError(fmt::format(
      "algorithm \"{}\": {}; write sizes, innermost level first, algorithms, or both, for example "
      "{}:8x4, {}:ring,tree or {}:8x4=ring,tree",
      hint, problem, algorithm_of(hint), algorithm_of(hint), algorithm_of(hint)));
}

}  // namespace

std::string_view algorithm_of(std::string_view hint) {
  return hint.substr(0, hint.find(':'));
}

Shape shape_of(std::string_view hint) {
  Shape shape;
  const std::size_t colon = hint.find(':');
  if (colon == std::string_view::npos) {
    return shape;
  }
  const std::string_view text = hint.substr(colon + 1);
  const std::size_t equals = text.find('=');
  const bool sizes =
      equals != std::string_view::npos || (!text.empty() && text.front() >= '0' && text.front() <= '9');
  if (sizes) {
    constexpr std::uint32_t kMostMembers = 1U << 20;
    std::uint64_t product = 1;
    for (const std::string_view part : split(text.substr(0, equals), 'x')) {
      std::uint32_t size = 0;
      const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (error != std::errc{} || stop != part.data() + part.size() || size == 0 || size > kMostMembers) {
        refuse(hint, fmt::format("\"{}\" is no size of a level", part));
      }
      product *= size;
      if (product > kMostMembers) {
        refuse(hint, fmt::format("more than {} members", kMostMembers));
      }
      shape.sizes.push_back(size);
    }
  }
  if (!sizes || equals != std::string_view::npos) {
    for (const std::string_view part : split(sizes ? text.substr(equals + 1) : text, ',')) {
      if (part.empty()) {
        refuse(hint, "a level without algorithm");
      }
      shape.algorithms.emplace_back(part);
    }
  }
  if (sizes && !shape.algorithms.empty() && shape.algorithms.size() != shape.sizes.size()) {
    refuse(hint, fmt::format("{} sizes and {} algorithms", shape.sizes.size(), shape.algorithms.size()));
  }
  return shape;
}

}  // namespace stepcast::collective
