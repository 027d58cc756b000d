#include "placement/placement.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"

namespace stepcast::placement {
namespace {

constexpr std::uint32_t kMostRanks = 16'000'000;
constexpr std::string_view kForms = "write a count (\"16384\"), ranges (\"0-7,16\") or a stride (\"0-56/8\")";

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// One item of a list: first, or first-last, or first-last/stride.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t stride = 1;
};

std::optional<Range> parse_range(std::string_view item) {
  const std::size_t dash = item.find('-');
  const auto first = parse_number(item.substr(0, dash));
  if (!first) {
    return std::nullopt;
  }
  if (dash == std::string_view::npos) {
    return Range{*first, *first, 1};
  }
  const std::string_view rest = item.substr(dash + 1);
  const std::size_t slash = rest.find('/');
  const auto last = parse_number(rest.substr(0, slash));
  const auto stride =
      slash == std::string_view::npos ? std::optional(1U) : parse_number(rest.substr(slash + 1));
  if (!last || !stride || *stride == 0 || *last < *first) {
    return std::nullopt;
  }
  return Range{*first, *last, *stride};
}

void report_duplicate(const std::vector<std::uint32_t>& ranks,
                      std::string_view flag,
                      config::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    diagnostics.add(fmt::format("{}: {} is listed twice", flag, *twice), "list every rank once");
  }
}

}  // namespace

bool is_count(std::string_view text) {
  return parse_number(text).has_value();
}

std::vector<std::uint32_t> parse_rank_list(std::string_view text,
                                           std::string_view flag,
                                           config::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> ranks;
  if (const auto count = parse_number(text)) {
    if (*count == 0 || *count > kMostRanks) {
      diagnostics.add(fmt::format("{}: a count of {}", flag, *count),
                      fmt::format("give 1 to {} ranks", kMostRanks));
      return ranks;
    }
    for (std::uint32_t rank = 0; rank < *count; ++rank) {
      ranks.push_back(rank);
    }
    return ranks;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const auto range = parse_range(item);
    if (!range) {
      diagnostics.add(fmt::format("{}: cannot read \"{}\" in \"{}\"", flag, item, text), kForms);
      return {};
    }
    if ((range->last - range->first) / range->stride >= kMostRanks - ranks.size()) {
      diagnostics.add(fmt::format("{}: more than {} ranks in \"{}\"", flag, kMostRanks, text),
                      "list fewer ranks");
      return {};
    }
    for (std::uint64_t rank = range->first; rank <= range->last; rank += range->stride) {
      ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    begin = end + 1;
  }
  report_duplicate(ranks, flag, diagnostics);
  return ranks;
}

Placement packed(const topology::Topology& topology, std::uint32_t ranks) {
  if (ranks > topology.gpu_count()) {
    throw InputError(
        fmt::format("{} ranks do not fit the {} GPUs of the cluster; use a larger cluster or fewer ranks",
                    ranks, topology.gpu_count()));
  }
  Placement placement;
  placement.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    placement.push_back(GpuId(rank));
  }
  return placement;
}

Placement explicit_list(const topology::Topology& topology, std::span<const std::uint32_t> gpus) {
  Placement placement;
  placement.reserve(gpus.size());
  for (const std::uint32_t gpu : gpus) {
    if (gpu >= topology.gpu_count()) {
      throw InputError(
          fmt::format("GPU {} does not exist: the cluster has {} GPUs, numbered from 0; list others", gpu,
                      topology.gpu_count()));
    }
    placement.push_back(GpuId(gpu));
  }
  return placement;
}

}  // namespace stepcast::placement
