#pragma once

#include <cstdint>

namespace stepcast {

/// Mixes one 64-bit word into a hash (splitmix64 finaliser, public domain constants by S. Vigna).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  std::uint64_t z = hash + 0x9e3779b97f4a7c15ULL + word;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Fingerprint of a timeline: the sum modulo 2^64 of multiplicity x hash of each operation, so that
/// it is equal folded and unfolded and does not depend on the order of processing (design 4.5).
class Fingerprint {
 public:
  void add(std::uint64_t operation_hash, std::uint64_t multiplicity) {
    sum_ += operation_hash * multiplicity;
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace stepcast
