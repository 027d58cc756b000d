#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.hpp"

namespace stepcast {

/// Index of one kind of thing, dense from 0. A GpuId never compares with, converts to, or indexes
/// for a RankId. The default value is "none".
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  constexpr explicit Id(int index) : index_(static_cast<std::uint32_t>(index)) {}

  [[nodiscard]] constexpr std::uint32_t index() const { return index_; }
  [[nodiscard]] constexpr bool valid() const { return index_ != kNone; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  friend constexpr bool operator==(const Id&, const Id&) = default;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index_ = kNone;
};

using NodeId = Id<struct NodeTag>;          ///< vertex of the fabric graph
using LinkId = Id<struct LinkTag>;          ///< directed edge of the fabric graph
using GpuId = Id<struct GpuTag>;            ///< accelerator, dense from 0 in cluster order
using RankId = Id<struct RankTag>;          ///< process of the job, dense from 0
using ResourceId = Id<struct ResourceTag>;  ///< capacity that activities share
using ClassId = Id<struct ClassTag>;        ///< class of ranks that behave the same
using GroupId = Id<struct GroupTag>;        ///< ordered rank list
using ShapeId = Id<struct ShapeTag>;        ///< prepared demand vector of activities
using ActivityId = Id<struct ActivityTag>;  ///< running activity of the flow network
using OpId = Id<struct OpTag>;              ///< operation within its program

/// A vector indexed by one kind of id only.
template <class Key, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T{}) : items_(size, value) {}

  [[nodiscard]] T& operator[](Key key) { return items_[key.index()]; }
  [[nodiscard]] const T& operator[](Key key) const { return items_[key.index()]; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  Key push_back(T value) {
    items_.push_back(std::move(value));
    return Key{items_.size() - 1};
  }
  void reserve(std::size_t size) { items_.reserve(size); }
  void resize(std::size_t size) { items_.resize(size); }

 private:
  std::vector<T> items_;
};

using Placement = IdVector<RankId, GpuId>;  ///< which GPU each rank runs on

}  // namespace stepcast
