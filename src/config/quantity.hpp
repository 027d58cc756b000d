#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace stepcast::config {

/// Result of reading a quantity: the value, or what is wrong and what to write instead.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string problem;
  std::string remedy;
};

/// Grammar: a decimal number (digits, optional fraction and exponent), optional blanks, a unit. Units are
/// case-sensitive (b = bit, B = byte, M = mega, m = milli). The value is exact in decimal and rounded
/// once, half up, to the base unit (B, bit/s, ps, FLOP/s). Refused: negative values, values that do not
/// fit the base unit's int64, and positive values that round to zero.
[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);  ///< B KB MB GB TB PB, KiB .. PiB
[[nodiscard]] Parsed<Bandwidth> parse_bandwidth(
    std::string_view text);                                            ///< b/s kb/s .. Tb/s, B/s kB/s .. TB/s
[[nodiscard]] Parsed<Duration> parse_duration(std::string_view text);  ///< ps ns us ms s min h
[[nodiscard]] Parsed<FlopRate> parse_flop_rate(std::string_view text);  ///< FLOP/s GFLOP/s TFLOP/s PFLOP/s

/// nccl-tests sizes: "8", "64K", "1M", "8G" (binary factors), also "8GiB". Bare numbers are bytes.
[[nodiscard]] Parsed<Bytes> parse_nccl_size(std::string_view text);

}  // namespace stepcast::config
