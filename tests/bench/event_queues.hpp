#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/heap.hpp"

// Other ways to keep events in the order of engine::EventQueue, to measure against it. All of them give the
// same total order: time, rank (priority, kind, operation), colour, sequence.
namespace stepcast::bench {

/// As engine::EventQueue packs an event.
struct Entry {
  std::int64_t at = 0;
  std::uint64_t rank = 0;
  std::uint64_t sequence = 0;
  std::uint32_t colour = 0;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

struct Before {
  bool operator()(const Entry& a, const Entry& b) const {
    if (a.at != b.at) {
      return a.at < b.at;
    }
    if (a.rank != b.rank) {
      return a.rank < b.rank;
    }
    return a.colour != b.colour ? a.colour < b.colour : a.sequence < b.sequence;
  }
};

/// Implicit heap with `Arity` children per node.
template <std::size_t Arity>
class HeapQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  void push(const Entry& entry) {
    heap_.push_back(entry);
    engine::heap_rise<Arity>(heap_, heap_.size() - 1, entry, Before{}, kNobodyCares);
  }
  Entry pop() {
    const Entry lowest = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      engine::heap_sink<Arity>(heap_, 0, last, Before{}, kNobodyCares);
    }
    return lowest;
  }

 private:
  static constexpr auto kNobodyCares = [](const auto&, std::size_t) {};
  std::vector<Entry> heap_;
};

/// Radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) over the time; events of the present picosecond are in a
/// small heap by the rest of the key.
class RadixQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void push(const Entry& entry) {
    ++size_;
    put(entry);
  }
  Entry pop() {
    if (present_.empty()) {
      std::size_t bucket = 0;
      while (buckets_[bucket].empty()) {
        ++bucket;
      }
      moving_.swap(buckets_[bucket]);
      last_ = std::min_element(moving_.begin(), moving_.end(), [](const Entry& a, const Entry& b) {
                return a.at < b.at;
              })->at;
      for (const Entry& entry : moving_) {
        put(entry);
      }
      moving_.clear();
    }
    --size_;
    return present_.pop();
  }

 private:
  void put(const Entry& entry) {
    const auto differ = static_cast<std::uint64_t>(entry.at ^ last_);
    if (differ == 0) {
      present_.push(entry);
    } else {
      buckets_[static_cast<std::size_t>(std::bit_width(differ)) - 1].push_back(entry);
    }
  }

  std::int64_t last_ = 0;
  std::size_t size_ = 0;
  HeapQueue<4> present_;
  std::array<std::vector<Entry>, 64> buckets_;
  std::vector<Entry> moving_;
};

/// Calendar queue (Brown 1988): days of equal width, each day sorted, as many days as events; width and
/// number are chosen again when the size has doubled or halved.
class CalendarQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void push(const Entry& entry) {
    insert(entry);
    if (++size_ > 2 * days_.size()) {
      resize(2 * days_.size());
    }
  }
  Entry pop() {
    for (std::size_t looked = 0;; ++looked) {
      std::vector<Entry>& day = days_[static_cast<std::size_t>(today_) & (days_.size() - 1)];
      if (!day.empty() && day.back().at / width_ <= today_) {
        const Entry lowest = day.back();
        day.pop_back();
        if (--size_ < days_.size() / 2 && days_.size() > kFewestDays) {
          resize(days_.size() / 2);
        }
        return lowest;
      }
      ++today_;
      if (looked == days_.size()) {  // a year without events
        today_ = lowest_at() / width_;
        looked = 0;
      }
    }
  }

 private:
  static constexpr std::size_t kFewestDays = 16;

  void insert(const Entry& entry) {
    const std::int64_t number = entry.at / width_;
    today_ = std::min(today_, number);
    std::vector<Entry>& day = days_[static_cast<std::size_t>(number) & (days_.size() - 1)];
    std::size_t at = day.size();  // latest first
    day.push_back(entry);
    while (at > 0 && Before{}(day[at - 1], entry)) {
      day[at] = day[at - 1];
      --at;
    }
    day[at] = entry;
  }
  [[nodiscard]] std::int64_t lowest_at() const {
    std::int64_t lowest = INT64_MAX;
    for (const std::vector<Entry>& day : days_) {
      lowest = day.empty() ? lowest : std::min(lowest, day.back().at);
    }
    return lowest;
  }
  void resize(std::size_t days) {
    std::vector<Entry> all;
    for (std::vector<Entry>& day : days_) {
      all.insert(all.end(), day.begin(), day.end());
      day.clear();
    }
    // Three times the mean gap of the next half of the events, as if none tied.
    std::sort(all.begin(), all.end(), Before{});
    const std::size_t half = all.size() / 2 + 1;
    width_ = half < all.size() ? 3 * (all[half].at - all.front().at) / static_cast<std::int64_t>(half) : 0;
    width_ = std::max<std::int64_t>(width_, 1);
    days_.resize(days);
    today_ = all.empty() ? 0 : all.front().at / width_;
    for (std::size_t i = all.size(); i-- > 0;) {
      insert(all[i]);
    }
  }

  std::vector<std::vector<Entry>> days_ = std::vector<std::vector<Entry>>(kFewestDays);
  std::int64_t width_ = 1'000'000;
  std::int64_t today_ = 0;
  std::size_t size_ = 0;
};

}  // namespace stepcast::bench
