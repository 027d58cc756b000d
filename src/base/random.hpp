#pragma once

#include <cstdint>
#include <string_view>

#include "base/fingerprint.hpp"

namespace stepcast {

/// Counter-based random stream named by purpose and object: adding a user of randomness shifts
/// nobody else's numbers. No state but the counter, no std:: distribution.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t object = 0)
      : key_(mix(seed, object)) {
    for (const char letter : purpose) {
      key_ = mix(key_, static_cast<unsigned char>(letter));
    }
  }

  [[nodiscard]] std::uint64_t next() { return mix(key_, ++counter_); }

  /// Uniform integer in [0, bound). REQUIRES: bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace stepcast
