#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "program/program.hpp"

namespace stepcast::program {

/// Identity of a sequence of symbols: two equal digests are taken as equal sequences (two polynomial
/// hashes modulo 2^61 - 1 and the length; 2^-100 against chance).
struct Digest {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t length = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// The sequence in which a program executes some of its operations, with loops kept as loops: a
/// repeat of 2^30 costs as much as one of 2. Two sequences that are written with different loops
/// ("4 x A" and "A, 3 x A") compare equal.
class Word {
 public:
  /// The empty sequence.
  Word() = default;

  /// Takes the operations for which `symbol_of` gives a symbol, in program order.
  /// REQUIRES: loops nest; at most 2^62 executions.
  Word(const Program& program,
       const std::function<std::optional<std::uint64_t>(std::uint32_t operation)>& symbol_of);

  [[nodiscard]] std::uint64_t length() const { return whole_.length; }
  [[nodiscard]] const Digest& digest() const { return whole_; }

  /// Digest of the first `length` symbols. REQUIRES: length <= length().
  [[nodiscard]] Digest prefix(std::uint64_t length) const;

  /// Operation that gives the symbol at `index`. REQUIRES: index < length().
  [[nodiscard]] std::uint32_t operation_at(std::uint64_t index) const;

 private:
  // A symbol, or a loop over the `inside` items that follow it.
  struct Item {
    std::uint32_t operation = 0;
    std::size_t inside = 0;
    std::uint64_t count = 1;
    Digest once;  // the symbol, or one round of the body
    Digest all;   // `count` rounds
  };
  void append(const Program& program,
              const std::function<std::optional<std::uint64_t>(std::uint32_t)>& symbol_of,
              std::uint32_t begin,
              std::uint32_t end,
              Digest& digest);
  [[nodiscard]] Digest prefix_of(std::size_t begin, std::size_t end, std::uint64_t length) const;

  std::vector<Item> items_;
  Digest whole_;
};

/// Index of the first symbol in which two words differ; the shorter length when one begins the other.
[[nodiscard]] std::uint64_t first_difference(const Word& a, const Word& b);

}  // namespace stepcast::program
