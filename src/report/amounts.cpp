#include "report/amounts.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace stepcast::report {

std::string format_seconds(double seconds) {
  struct Unit {
    double size;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-12, "ps"}}};
  if (seconds == 0) {
    return "0 s";
  }
  for (const Unit& unit : kUnits) {
    if (std::abs(seconds) >= unit.size || unit.size == 1e-12) {
      const double value = seconds / unit.size;
      const int decimals = std::abs(value) >= 100 ? 1 : std::abs(value) >= 10 ? 2 : 3;
      return fmt::format("{:.{}f} {}", value, decimals, unit.name);
    }
  }
  return "0 s";
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string format_count(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    const bool separates = at > 0 && (digits.size() - at) % 3 == 0 && digits[at - 1] != '-';
    if (separates) {
      out += ',';
    }
    out += digits[at];
  }
  return out;
}

}  // namespace stepcast::report
