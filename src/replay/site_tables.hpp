#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/fingerprint.hpp"
#include "program/program.hpp"
#include "replay/compiled.hpp"

// Internal to replay/: what resolve_sites looks things up in.
namespace stepcast::replay {

/// Numbers different lists of integers from 0, in order of first appearance.
class Numbering {
 public:
  std::uint32_t number(const std::vector<std::int64_t>& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const {
      std::uint64_t hash = key.size();
      for (const std::int64_t word : key) {
        hash = mix(hash, static_cast<std::uint64_t>(word));
      }
      return static_cast<std::size_t>(hash);
    }
  };
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, Hash> numbers_;  // looked up only
};

/// Sites of message channels by sender, receiver and tag: open addressing, one cache line a look-up, since
/// all pairs of a thousand ranks are a million channels.
class ChannelTable {
 public:
  struct Key {
    std::uint32_t sender = 0;
    std::uint32_t receiver = 0;
    std::uint32_t tag = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// The site of a channel, kNone for a new one: the caller sets it before the next call.
  std::uint32_t& of(const Key& key) {
    if (used_ * 2 >= slots_.size()) {
      grow();
    }
    Slot& slot = slots_[slot_of(key)];
    if (slot.site == kNone) {
      slot.key = key;
      ++used_;
    }
    return slot.site;
  }

 private:
  struct Slot {
    Key key;
    std::uint32_t site = kNone;
  };
  [[nodiscard]] std::size_t slot_of(const Key& key) const {
    std::size_t at = mix((std::uint64_t{key.sender} << 32U) | key.receiver, key.tag) & (slots_.size() - 1);
    while (slots_[at].site != kNone && slots_[at].key != key) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.site != kNone) {
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  static constexpr std::size_t kFirstSize = 1024;
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSize);
  std::size_t used_ = 0;
};

/// First slot of a rank that holds a value, for every rank.
class SlotFinder {
 public:
  void add_rank(const std::vector<program::Slot>& slots, const std::vector<std::uint32_t>& values) {
    first_.push_back(order_.size());
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      order_.push_back({static_cast<std::uint32_t>(slots[slot].kind), values[slot], slot});
    }
    std::sort(order_.begin() + static_cast<std::ptrdiff_t>(first_.back()), order_.end());
  }
  /// kNone when the rank has none.
  [[nodiscard]] std::uint32_t first(std::uint32_t rank, program::SlotKind kind, std::uint32_t value) const {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first_[rank]);
    const auto end = rank + 1 < first_.size() ? order_.begin() + static_cast<std::ptrdiff_t>(first_[rank + 1])
                                              : order_.end();
    const Entry wanted{static_cast<std::uint32_t>(kind), value, 0};
    const auto found = std::lower_bound(begin, end, wanted);
    return found != end && found->kind == wanted.kind && found->value == value ? found->slot : kNone;
  }

 private:
  struct Entry {
    std::uint32_t kind;
    std::uint32_t value;
    std::uint32_t slot;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> order_;
  std::vector<std::size_t> first_;  // by rank
};

}  // namespace stepcast::replay
