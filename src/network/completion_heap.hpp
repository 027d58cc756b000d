#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stepcast::network {

/// Indexed four-ary heap of predicted finishes (ps) of items 0, 1, 2, ...: a finish can change or
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

  /// Takes the item out when it is in.
  void remove(std::uint32_t item) {
    const std::uint32_t slot = slots_[item];
    if (slot == kAbsent) {
      return;
    }
    slots_[item] = kAbsent;
    const Entry moved = entries_.back();
    entries_.pop_back();
    if (slot == entries_.size()) {
      return;
    }
    if (slot > 0 && moved.finish < entries_[parent(slot)].finish) {
      rise(slot, moved);
    } else {
      sink(slot, moved);
    }
  }

 private:
  struct Entry {
    std::int64_t finish;
    std::uint32_t item;
  };
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kArity = 4;
  [[nodiscard]] static constexpr std::uint32_t parent(std::uint32_t slot) { return (slot - 1) / kArity; }

  void place(std::uint32_t slot, const Entry& entry) {
    entries_[slot] = entry;
    slots_[entry.item] = slot;
  }

  void rise(std::uint32_t slot, Entry entry) {
    while (slot > 0 && entry.finish < entries_[parent(slot)].finish) {
      place(slot, entries_[parent(slot)]);
      slot = parent(slot);
    }
    place(slot, entry);
  }

  void sink(std::uint32_t slot, Entry entry) {
    const auto size = static_cast<std::uint32_t>(entries_.size());
    for (;;) {
      const std::uint32_t first = slot * kArity + 1;
      if (first >= size) {
        break;
      }
      std::uint32_t lowest = first;
      const std::uint32_t end = first + kArity < size ? first + kArity : size;
      for (std::uint32_t child = first + 1; child < end; ++child) {
        if (entries_[child].finish < entries_[lowest].finish) {
          lowest = child;
        }
      }
      if (entry.finish <= entries_[lowest].finish) {
        break;
      }
      place(slot, entries_[lowest]);
      slot = lowest;
    }
    place(slot, entry);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< by item
};

}  // namespace stepcast::network
