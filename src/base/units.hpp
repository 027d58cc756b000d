#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace stepcast {

__extension__ using Int128 = __int128;

/// Simulated elapsed time in whole picoseconds (range +-106 days).
/// One picosecond is one byte at 8 Tb/s, so any link we model rounds by less than one byte.
class Duration {
 public:
  constexpr Duration() = default;
  [[nodiscard]] static constexpr Duration from_ps(std::int64_t ps) { return Duration(ps); }
  [[nodiscard]] static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }

  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(std::int64_t n, Duration d) { return Duration(n * d.ps_); }
  constexpr Duration& operator+=(Duration d) {
    ps_ += d.ps_;
    return *this;
  }
  constexpr Duration& operator-=(Duration d) {
    ps_ -= d.ps_;
    return *this;
  }

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A point of simulated time. Point - point = duration; point + point does not exist.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  [[nodiscard]] static constexpr TimePoint from_start(Duration since) { return TimePoint(since); }
  [[nodiscard]] static constexpr TimePoint never() { return TimePoint(Duration::max()); }

  [[nodiscard]] constexpr Duration since_start() const { return since_; }
  [[nodiscard]] constexpr std::int64_t ps() const { return since_.ps(); }

  friend constexpr auto operator<=>(const TimePoint&, const TimePoint&) = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) { return TimePoint(t.since_ + d); }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) { return TimePoint(t.since_ - d); }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) { return a.since_ - b.since_; }

 private:
  constexpr explicit TimePoint(Duration since) : since_(since) {}
  Duration since_;
};

/// A number of bytes, signed so that differences are safe.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  [[nodiscard]] constexpr double gib() const { return static_cast<double>(count_) / 1073741824.0; }

  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(std::int64_t n, Bytes b) { return Bytes(n * b.count_); }
  constexpr Bytes& operator+=(Bytes b) {
    count_ += b.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

/// A data rate in whole bits per second: one representation inside, two spellings outside.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  [[nodiscard]] static constexpr Bandwidth from_bits_per_second(std::int64_t bps) { return Bandwidth(bps); }

  [[nodiscard]] constexpr std::int64_t bits_per_second() const { return bps_; }
  [[nodiscard]] constexpr double bytes_per_second() const { return static_cast<double>(bps_) / 8.0; }

  friend constexpr auto operator<=>(const Bandwidth&, const Bandwidth&) = default;

 private:
  constexpr explicit Bandwidth(std::int64_t bps) : bps_(bps) {}
  std::int64_t bps_ = 0;
};

/// Floating-point operations per second.
class FlopRate {
 public:
  constexpr FlopRate() = default;
  [[nodiscard]] static constexpr FlopRate from_flops_per_second(double value) { return FlopRate(value); }
  [[nodiscard]] constexpr double flops_per_second() const { return value_; }
  friend constexpr auto operator<=>(const FlopRate&, const FlopRate&) = default;

 private:
  constexpr explicit FlopRate(double value) : value_(value) {}
  double value_ = 0;
};

/// Time to put `size` on a wire of rate `rate`, rounded up to the next picosecond.
/// Rounding up keeps causality: nothing arrives before its last bit has left.
/// REQUIRES: size >= 0, rate > 0.
[[nodiscard]] constexpr Duration transfer_time(Bytes size, Bandwidth rate) {
  constexpr Int128 kBitPicosecondsPerByteSecond = Int128{8} * 1'000'000'000'000;
  const Int128 work = size.count() * kBitPicosecondsPerByteSecond;
  const Int128 bps = rate.bits_per_second();
  return Duration::from_ps(static_cast<std::int64_t>((work + bps - 1) / bps));
}

/// A duration from seconds in double, rounded up to the next picosecond (an excess below 1/1024 ps, or
/// 2^-50 of the time, is rounding of the double and counts as none).
/// REQUIRES: 0 <= seconds < 106 days.
[[nodiscard]] Duration duration_from_seconds(double seconds);

namespace literals {
constexpr Duration operator""_ps(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n));
}
constexpr Duration operator""_ns(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1000);
}
constexpr Duration operator""_us(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Duration operator""_ms(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Duration operator""_s(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000'000'000);
}
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n));
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
constexpr Bandwidth operator""_Gbps(unsigned long long n) {
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Bandwidth operator""_GBps(unsigned long long n) {
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(n) * 8'000'000'000);
}
}  // namespace literals

static_assert(transfer_time(Bytes(1 << 20), Bandwidth::from_bits_per_second(400'000'000'000)) ==
              Duration::from_ps(20'971'520));

}  // namespace stepcast
