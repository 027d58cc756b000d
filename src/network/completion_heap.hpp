#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/heap.hpp"

namespace stepcast::network {

/// Indexed heap of predicted finishes (ps) of items 0, 1, 2, ...: a finish can change or
/// leave. Items of equal finish come out in any order: the owner orders them.
class CompletionHeap {
 public:
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::int64_t lowest() const { return entries_.front().finish; }
  [[nodiscard]] std::uint32_t lowest_item() const { return entries_.front().item; }

  /// Makes room for one more item, whose number is the count of items before.
  void add_item() { slots_.push_back(kAbsent); }

  /// Inserts the item, or moves it to another finish.
  void set(std::uint32_t item, std::int64_t finish) {
    std::uint32_t slot = slots_[item];
    if (slot == kAbsent) {
      slot = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({finish, item});
      rise(slot, {finish, item});
    } else if (finish < entries_[slot].finish) {
      rise(slot, {finish, item});
    } else {
      sink(slot, {finish, item});
    }
  }

  /// Moves every finish later.
  void shift(std::int64_t by) {
    for (Entry& entry : entries_) {
      entry.finish += by;
    }
  }

  /// Takes the item out when it is in.
  void remove(std::uint32_t item) {
    const std::uint32_t slot = slots_[item];
    if (slot == kAbsent) {
      return;
    }
    slots_[item] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (slot == entries_.size()) {
      return;
    }
    // The last entry belongs above or below the free slot; one of the two calls leaves it in place.
    rise(slot, last);
    sink(slots_[last.item], last);
  }

 private:
  struct Entry {
    std::int64_t finish;
    std::uint32_t item;
  };
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  /// Types, not functions, so that the heap inlines them.
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const { return a.finish < b.finish; }
  };
  struct Moved {
    std::uint32_t* slots;
    void operator()(const Entry& entry, std::size_t slot) const {
      slots[entry.item] = static_cast<std::uint32_t>(slot);
    }
  };
  void rise(std::size_t slot, const Entry& entry) {
    engine::heap_rise(entries_, slot, entry, Before{}, Moved{slots_.data()});
  }
  void sink(std::size_t slot, const Entry& entry) {
    engine::heap_sink(entries_, slot, entry, Before{}, Moved{slots_.data()});
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< by item
};

}  // namespace stepcast::network
