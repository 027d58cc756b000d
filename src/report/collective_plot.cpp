#include "report/collective_plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/escape.hpp"

namespace stepcast::report {
namespace {

// Of the picture, in pixels.
constexpr double kWidth = 760;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 60;

/// The smallest of 1, 2, 5 x 10^k that divides `most` into at most eight steps.
double tick_of(double most) {
  constexpr double kMostSteps = 8;
  double tick = std::pow(10.0, std::floor(std::log10(most)) - 1);
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
    if (most / (tick * factor) <= kMostSteps) {
      return tick * factor;
    }
  }
  return most;
}

struct Axes {
  double first = 0;  ///< log2 of the smallest size
  double last = 1;
  double most = 1;  ///< GB/s at the top
  [[nodiscard]] double x(double bytes) const {
    return kLeft + (std::log2(bytes) - first) / (last - first) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double rate) const {
    return kHeight - kBottom - rate / most * (kHeight - kTop - kBottom);
  }
};

Axes axes_of(const CollectiveSweep& sweep) {
  Axes axes;
  double smallest = 0;
  double largest = 0;
  double most = 0;
  for (const CollectiveRow& row : sweep.rows) {
    const auto bytes = static_cast<double>(row.bytes.count());
    if (bytes > 0) {
      smallest = smallest == 0 ? bytes : std::min(smallest, bytes);
      largest = std::max(largest, bytes);
    }
    most = std::max(most, busbw(row, sweep));
  }
  if (largest > 0) {
    axes.first = std::floor(std::log2(smallest));
    axes.last = std::max(std::ceil(std::log2(largest)), axes.first + 1);
  }
  if (most > 0) {
    const double tick = tick_of(most);
    axes.most = std::ceil(most / tick) * tick;
  }
  return axes;
}

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1,
                     y1, x2, y2, colour);
}

}  // namespace

std::string collective_plot(const CollectiveSweep& sweep) {
  const Axes axes = axes_of(sweep);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += text(kLeft, kTop - 16, "start",
              fmt::format("{} on {} ranks of {}: predicted bus bandwidth, GB/s",
                          collective::name_of(sweep.kind), sweep.ranks, xml_text(sweep.cluster)));
  const double tick = tick_of(axes.most);
  for (double rate = 0; rate <= axes.most * (1 + 1e-9); rate += tick) {
    out += line(kLeft, axes.y(rate), kWidth - kRight, axes.y(rate), "#dddddd");
    out += text(kLeft - 8, axes.y(rate) + 4, "end", fmt::format("{:g}", rate));
  }
  constexpr double kMostLabels = 12;
  const double step = std::max(1.0, std::ceil((axes.last - axes.first) / kMostLabels));
  for (double exponent = axes.first; exponent <= axes.last; exponent += step) {
    const double bytes = std::exp2(exponent);
    out += line(axes.x(bytes), axes.y(0), axes.x(bytes), axes.y(0) + 5, "black");
    out += text(axes.x(bytes), axes.y(0) + 20, "middle", format_bytes(bytes));
  }
  out += line(kLeft, axes.y(0), kWidth - kRight, axes.y(0), "black");
  std::string points;
  for (const CollectiveRow& row : sweep.rows) {
    if (row.bytes.count() > 0) {
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ",
                            axes.x(static_cast<double>(row.bytes.count())), axes.y(busbw(row, sweep)));
    }
  }
  out +=
      fmt::format("<polyline fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"2\" points=\"{}\"/>\n", points);
  out += text((kLeft + kWidth - kRight) / 2, kHeight - 14, "middle", "message size");
  return out + "</svg>\n";
}

}  // namespace stepcast::report
