#include "replay/partition.hpp"

#include <numeric>

namespace stepcast::replay {
namespace {

/// Class numbers by colour: open addressing, since the colours are hashes already.
class ColourTable {
 public:
  ColourTable() : slots_(kFirstSize) {}

  /// The class of a colour; a new one gets the next number.
  std::uint32_t number(std::uint64_t colour) {
    std::size_t at = colour & (slots_.size() - 1);
    while (slots_[at].number != Classes::kNone && slots_[at].colour != colour) {
      at = (at + 1) & (slots_.size() - 1);
    }
    if (slots_[at].number == Classes::kNone) {
      slots_[at] = {colour, count_++};
      if (std::size_t{count_} * 2 > slots_.size()) {
        grow();
        return count_ - 1;
      }
      return slots_[at].number;
    }
    return slots_[at].number;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  struct Slot {
    std::uint64_t colour = 0;
    std::uint32_t number = Classes::kNone;
  };
  static constexpr std::size_t kFirstSize = 1024;

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != Classes::kNone) {
        std::size_t at = slot.colour & (slots_.size() - 1);
        while (slots_[at].number != Classes::kNone) {
          at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

Classes one_each(std::size_t count, const std::vector<bool>& skip) {
  std::vector<std::uint64_t> colours(count);
  std::iota(colours.begin(), colours.end(), std::uint64_t{0});
  return classes_of(colours, skip);
}

}  // namespace

Classes classes_of(const std::vector<std::uint64_t>& colours, const std::vector<bool>& skip) {
  Classes classes;
  classes.of.assign(colours.size(), Classes::kNone);
  ColourTable table;
  for (std::uint32_t member = 0; member < colours.size(); ++member) {
    if (!skip.empty() && skip[member]) {
      continue;
    }
    const std::uint32_t cls = table.number(colours[member]);
    if (cls == classes.representative.size()) {
      classes.representative.push_back(member);
      classes.size.push_back(0);
    }
    ++classes.size[cls];
    classes.of[member] = cls;
  }
  return classes;
}

Partition identity_partition(const Sites& sites) {
  Partition partition;
  partition.ranks = one_each(sites.ranks, {});
  partition.sites = one_each(sites.sites.size(), {});
  std::vector<bool> unused;
  for (const std::uint32_t kind : sites.resource_kind) {
    unused.push_back(kind == kNone);
  }
  partition.resources = one_each(sites.resource_kind.size(), unused);
  partition.audit = "off";
  return partition;
}

}  // namespace stepcast::replay
