#include "program/word.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/fingerprint.hpp"
#include "base/units.hpp"

namespace stepcast::program {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
// Bases of the two polynomials: any large residues serve; these are from splitmix64 of 1 and 2.
constexpr std::uint64_t kFirstBase = mix(0, 1) % kPrime;
constexpr std::uint64_t kSecondBase = mix(0, 2) % kPrime;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<Int128>(a) * static_cast<Int128>(b) % Int128{kPrime});
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1U) != 0) {
      result = times(result, base);
    }
    base = times(base, base);
  }
  return result;
}

Digest joined(const Digest& a, const Digest& b) {
  if (b.length == 0) {
    return a;
  }
  return {(times(a.first, power(kFirstBase, b.length)) + b.first) % kPrime,
          (times(a.second, power(kSecondBase, b.length)) + b.second) % kPrime, a.length + b.length};
}

Digest repeated(Digest once, std::uint64_t count) {
  Digest result;
  for (; count > 0; count >>= 1) {
    if ((count & 1U) != 0) {
      result = joined(result, once);
    }
    if (count > 1) {
      once = joined(once, once);
    }
  }
  return result;
}

Digest digest_of(std::uint64_t symbol) {
  return {mix(1, symbol) % kPrime, mix(2, symbol) % kPrime, 1};
}

}  // namespace

Word::Word(const Program& program,
           const std::function<std::optional<std::uint64_t>(std::uint32_t operation)>& symbol_of) {
  append(program, symbol_of, 0, static_cast<std::uint32_t>(program.operations.size()), whole_);
}

void Word::append(const Program& program,
                  const std::function<std::optional<std::uint64_t>(std::uint32_t)>& symbol_of,
                  std::uint32_t begin,
                  std::uint32_t end,
                  Digest& digest) {
  for (std::uint32_t i = begin; i < end; ++i) {
    const Operation& operation = program.operations[i];
    Item item;
    item.operation = i;
    if (operation.kind == OpKind::kRepeat) {
      const std::size_t own = items_.size();
      items_.push_back(item);
      append(program, symbol_of, i + 1, i + 1 + operation.target, item.once);
      i += operation.target;
      if (item.once.length == 0) {
        items_.resize(own);
        continue;
      }
      item.inside = items_.size() - own - 1;
      item.count = static_cast<std::uint64_t>(operation.bytes);
      item.all = repeated(item.once, item.count);
      items_[own] = item;
    } else if (const std::optional<std::uint64_t> symbol = symbol_of(i)) {
      item.once = digest_of(*symbol);
      item.all = item.once;
      items_.push_back(item);
    } else {
      continue;
    }
    digest = joined(digest, item.all);
  }
}

Digest Word::prefix(std::uint64_t length) const {
  STEPCAST_CHECK(length <= whole_.length, "prefix of {} symbols of {}", length, whole_.length);
  return prefix_of(0, items_.size(), length);
}

Digest Word::prefix_of(std::size_t begin, std::size_t end, std::uint64_t length) const {
  Digest result;
  for (std::size_t i = begin; i < end; i += 1 + items_[i].inside) {
    const Item& item = items_[i];
    const std::uint64_t left = length - result.length;
    if (left >= item.all.length) {
      result = joined(result, item.all);
      continue;
    }
    const std::uint64_t rounds = left / item.once.length;
    result = joined(result, repeated(item.once, rounds));
    return joined(result, prefix_of(i + 1, i + 1 + item.inside, left % item.once.length));
  }
  return result;
}

std::uint32_t Word::operation_at(std::uint64_t index) const {
  STEPCAST_CHECK(index < whole_.length, "symbol {} of {}", index, whole_.length);
  std::size_t i = 0;
  while (true) {
    const Item& item = items_[i];
    if (index >= item.all.length) {
      index -= item.all.length;
      i += 1 + item.inside;
    } else if (item.inside == 0) {
      return item.operation;
    } else {
      index %= item.once.length;
      ++i;
    }
  }
}

std::uint64_t first_difference(const Word& a, const Word& b) {
  std::uint64_t equal = 0;  // the first `equal` symbols agree, the first `differ` do not
  std::uint64_t differ = std::min(a.length(), b.length());
  if (a.prefix(differ) == b.prefix(differ)) {
    return differ;
  }
  while (differ - equal > 1) {
    const std::uint64_t middle = equal + (differ - equal) / 2;
    (a.prefix(middle) == b.prefix(middle) ? equal : differ) = middle;
  }
  return equal;
}

}  // namespace stepcast::program
