#include "config/quantity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "config/quote.hpp"

namespace stepcast::config {
namespace {

__extension__ using UInt128 = unsigned __int128;

struct Unit {
  std::string_view name;
  std::int64_t factor;  // in base units
};

/// A kind of quantity: its units, how to write them and an example.
struct Family {
  std::span<const Unit> units;
  std::string_view remedy_unit;
  std::string_view remedy_number;
  std::string_view base;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kPeta = 1'000'000'000'000'000;

constexpr std::array kByteUnits = {
    Unit{"B", 1},
    Unit{"KB", kKilo},
    Unit{"MB", kMega},
    Unit{"GB", kGiga},
    Unit{"TB", kTera},
    Unit{"PB", kPeta},
    Unit{"KiB", std::int64_t{1} << 10},
    Unit{"MiB", std::int64_t{1} << 20},
    Unit{"GiB", std::int64_t{1} << 30},
    Unit{"TiB", std::int64_t{1} << 40},
    Unit{"PiB", std::int64_t{1} << 50},
};
constexpr std::array kBandwidthUnits = {
    Unit{"b/s", 1},          Unit{"kb/s", kKilo},     Unit{"Mb/s", kMega},     Unit{"Gb/s", kGiga},
    Unit{"Tb/s", kTera},     Unit{"B/s", 8},          Unit{"kB/s", 8 * kKilo}, Unit{"MB/s", 8 * kMega},
    Unit{"GB/s", 8 * kGiga}, Unit{"TB/s", 8 * kTera},
};
constexpr std::array kDurationUnits = {
    Unit{"ps", 1},    Unit{"ns", kKilo},       Unit{"us", kMega},        Unit{"ms", kGiga},
    Unit{"s", kTera}, Unit{"min", 60 * kTera}, Unit{"h", 3'600 * kTera},
};
constexpr std::array kFlopRateUnits = {
    Unit{"FLOP/s", 1},
    Unit{"GFLOP/s", kGiga},
    Unit{"TFLOP/s", kTera},
    Unit{"PFLOP/s", kPeta},
};

constexpr Family kBytes = {
    kByteUnits, "write B, KB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (of 1024)",
    "write for example \"80 GiB\" or \"80 GB\"", "B"};
constexpr Family kBandwidth = {kBandwidthUnits, "write Gb/s (bits) or GB/s (bytes)",
                               "write for example \"400 Gb/s\" or \"50 GB/s\"", "b/s"};
constexpr Family kDuration = {kDurationUnits, "write ps, ns, us, ms, s, min or h",
                              "write for example \"1.9 us\" or \"500 ns\"", "ps"};
constexpr Family kFlopRate = {kFlopRateUnits, "write FLOP/s, GFLOP/s, TFLOP/s or PFLOP/s",
                              "write for example \"312 TFLOP/s\" or \"1.5 PFLOP/s\"", "FLOP/s"};

/// A decimal number digits * 10^exponent, and how much of the text it takes (0 = no number).
struct Decimal {
  UInt128 digits = 0;
  std::int64_t exponent = 0;
  bool negative = false;
  std::size_t length = 0;
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Reads the digits from `at` on into `decimal`. Twenty-two significant digits count: relative 1e-21 is
/// far below one base unit in an int64, and 1e22 times the largest factor (3.6e15) fits 128 bits.
std::size_t read_digits(std::string_view text, std::size_t at, bool fraction, Decimal& decimal) {
  const UInt128 full = UInt128{1'000'000'000'000'000'000} * 1'000;  // 1e21: 22 digits reached
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (decimal.digits < full) {
      decimal.digits = decimal.digits * 10 + static_cast<unsigned>(text[at] - '0');
      decimal.exponent -= fraction ? 1 : 0;
    } else {
      decimal.exponent += fraction ? 0 : 1;
    }
  }
  return at;
}

Decimal read_decimal(std::string_view text) {
  Decimal decimal;
  std::size_t at = 0;
  if (!text.empty() && text.front() == '-') {
    decimal.negative = true;
    ++at;
  }
  const std::size_t first = at;
  at = read_digits(text, at, false, decimal);
  if (at == first) {
    return {};
  }
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    at = read_digits(text, at + 1, true, decimal);
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digit = at + 1;
    const bool minus = digit < text.size() && text[digit] == '-';
    if (digit < text.size() && (text[digit] == '-' || text[digit] == '+')) {
      ++digit;
    }
    if (digit < text.size() && is_digit(text[digit])) {
      std::int64_t exponent = 0;
      for (; digit < text.size() && is_digit(text[digit]); ++digit) {
        exponent = std::min<std::int64_t>(exponent * 10 + (text[digit] - '0'), 1'000'000'000);
      }
      decimal.exponent += minus ? -exponent : exponent;
      at = digit;
    }
  }
  decimal.length = at;
  return decimal;
}

/// decimal * factor, rounded half up; nullopt when it does not fit an int64.
std::optional<std::int64_t> scale(const Decimal& decimal, std::int64_t factor) {
  constexpr auto kLargest = static_cast<UInt128>(std::numeric_limits<std::int64_t>::max());
  UInt128 product = decimal.digits * static_cast<UInt128>(factor);
  if (product == 0) {
    return 0;
  }
  for (std::int64_t e = decimal.exponent; e > 0; --e) {
    if (product > kLargest) {
      return std::nullopt;
    }
    product *= 10;
  }
  unsigned last = 0;  // the last digit cut off decides
  for (std::int64_t e = decimal.exponent; e < 0; ++e) {
    if (product == 0) {
      last = 0;
      break;
    }
    last = static_cast<unsigned>(product % 10);
    product /= 10;
  }
  product += last >= 5 ? 1 : 0;
  if (product > kLargest) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(product);
}

struct Whole {
  std::optional<std::int64_t> value;
  std::string problem;
  std::string remedy;
};

Whole refuse(std::string problem, std::string_view remedy) {
  return {std::nullopt, std::move(problem), std::string(remedy)};
}

/// Value of `decimal` in units of `unit`, or why it is refused.
Whole scale_checked(std::string_view text, const Decimal& decimal, const Unit& unit, const Family& family) {
  if (decimal.negative && decimal.digits != 0) {
    return refuse(in_quotes(text) + " is negative", "write zero or more");
  }
  const auto value = scale(decimal, unit.factor);
  if (!value) {
    return refuse(in_quotes(text) + " does not fit",
                  fmt::format("write at most {:.1e} {}",
                              static_cast<double>(std::numeric_limits<std::int64_t>::max()), family.base));
  }
  if (*value == 0 && decimal.digits != 0) {
    return refuse(in_quotes(text) + " rounds to zero", fmt::format("write 0 or at least 1 {}", family.base));
  }
  return {value, {}, {}};
}

Whole parse_quantity(std::string_view text, const Family& family) {
  const Decimal decimal = read_decimal(text);
  if (decimal.length == 0) {
    return refuse("no number in " + in_quotes(text), family.remedy_number);
  }
  std::string_view unit = text.substr(decimal.length);
  unit.remove_prefix(std::min(unit.find_first_not_of(" \t"), unit.size()));
  if (unit.empty()) {
    return refuse(in_quotes(text) + " needs a unit", family.remedy_number);
  }
  const auto* found = std::find_if(family.units.data(), family.units.data() + family.units.size(),
                                   [&](const Unit& known) { return known.name == unit; });
  if (found == family.units.data() + family.units.size()) {
    return refuse(fmt::format("unknown unit {} in {}", in_quotes(unit), in_quotes(text)), family.remedy_unit);
  }
  return scale_checked(text, decimal, *found, family);
}

template <class T, class Make>
Parsed<T> convert(Whole whole, Make make) {
  Parsed<T> parsed{std::nullopt, std::move(whole.problem), std::move(whole.remedy)};
  if (whole.value) {
    parsed.value = make(*whole.value);
  }
  return parsed;
}

}  // namespace

Parsed<Bytes> parse_bytes(std::string_view text) {
  return convert<Bytes>(parse_quantity(text, kBytes), [](std::int64_t count) { return Bytes(count); });
}

Parsed<Bandwidth> parse_bandwidth(std::string_view text) {
  return convert<Bandwidth>(parse_quantity(text, kBandwidth), &Bandwidth::from_bits_per_second);
}

Parsed<Duration> parse_duration(std::string_view text) {
  return convert<Duration>(parse_quantity(text, kDuration), &Duration::from_ps);
}

Parsed<FlopRate> parse_flop_rate(std::string_view text) {
  return convert<FlopRate>(parse_quantity(text, kFlopRate), [](std::int64_t flops) {
    return FlopRate::from_flops_per_second(static_cast<double>(flops));
  });
}

Parsed<Bytes> parse_nccl_size(std::string_view text) {
  constexpr std::array kShort = {
      Unit{"", 1},
      Unit{"k", std::int64_t{1} << 10},
      Unit{"K", std::int64_t{1} << 10},
      Unit{"m", std::int64_t{1} << 20},
      Unit{"M", std::int64_t{1} << 20},
      Unit{"g", std::int64_t{1} << 30},
      Unit{"G", std::int64_t{1} << 30},
  };
  constexpr std::string_view kRemedy = "write a size such as 8, 64K, 1M or 8G (powers of 1024), or 8GiB";
  const Decimal decimal = read_decimal(text);
  if (decimal.length == 0) {
    return {std::nullopt, "no number in " + in_quotes(text), std::string(kRemedy)};
  }
  const auto make = [](std::int64_t count) { return Bytes(count); };
  for (const Unit& unit : kShort) {
    if (text.substr(decimal.length) == unit.name) {
      return convert<Bytes>(scale_checked(text, decimal, unit, kBytes), make);
    }
  }
  Parsed<Bytes> parsed = parse_bytes(text);
  if (parsed.problem.starts_with("unknown unit")) {
    parsed.remedy = kRemedy;
  }
  return parsed;
}

}  // namespace stepcast::config
