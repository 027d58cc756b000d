#include <cstddef>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "program/program.hpp"

namespace stepcast::program {
namespace {

constexpr std::uint64_t kRankLimit = std::numeric_limits<std::uint32_t>::max();

// One stride that gives exactly these ranks, when there is one: equal lists then compare equal.
bool is_progression(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() < 2 || ranks[1] <= ranks[0]) {
    return ranks.size() == 1;
  }
  const std::uint32_t step = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] <= ranks[i - 1] || ranks[i] - ranks[i - 1] != step) {
      return false;
    }
  }
  return true;
}

}  // namespace

Group Group::strided(std::uint32_t first, const std::vector<Stride>& strides) {
  Group group;
  group.first_ = first;
  std::uint64_t size = 1;
  std::uint64_t last = first;
  for (const Stride& stride : strides) {
    STEPCAST_CHECK(stride.count >= 1, "a stride of no ranks");
    size *= stride.count;
    last += std::uint64_t{stride.step} * (stride.count - 1);
    STEPCAST_CHECK(size <= kRankLimit && last < kRankLimit, "a group of {} ranks up to rank {}", size, last);
    if (stride.count == 1) {
      continue;
    }
    // A stride that continues the one before it is the same stride, longer.
    if (!group.strides_.empty() &&
        std::uint64_t{group.strides_.back().step} * group.strides_.back().count == stride.step) {
      group.strides_.back().count *= stride.count;
    } else {
      group.strides_.push_back(stride);
    }
  }
  group.size_ = static_cast<std::uint32_t>(size);
  return group;
}

Group Group::listed(std::vector<std::uint32_t> ranks) {
  if (is_progression(ranks)) {
    const std::uint32_t step = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
    return strided(ranks[0], {{step, static_cast<std::uint32_t>(ranks.size())}});
  }
  Group group;
  group.size_ = static_cast<std::uint32_t>(ranks.size());
  group.listed_ = std::move(ranks);
  return group;
}

RankId Group::rank(std::uint32_t index) const {
  STEPCAST_CHECK(index < size_, "member {} of a group of {}", index, size_);
  if (!listed_.empty()) {
    return RankId{listed_[index]};
  }
  std::uint32_t rank = first_;
  for (const Stride& stride : strides_) {
    rank += stride.step * (index % stride.count);
    index /= stride.count;
  }
  return RankId{rank};
}

std::vector<RankId> Group::ranks() const {
  std::vector<RankId> ranks;
  ranks.reserve(size_);
  if (!listed_.empty()) {
    for (const std::uint32_t rank : listed_) {
      ranks.emplace_back(rank);
    }
    return ranks;
  }
  if (size_ == 0) {
    return ranks;
  }
  ranks.emplace_back(first_);
  for (const Stride& stride : strides_) {
    const std::size_t block = ranks.size();
    for (std::uint32_t copy = 1; copy < stride.count; ++copy) {
      for (std::size_t i = 0; i < block; ++i) {
        ranks.emplace_back(ranks[i].index() + copy * stride.step);
      }
    }
  }
  return ranks;
}

}  // namespace stepcast::program
