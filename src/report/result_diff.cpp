#include "report/result_diff.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/writer.hpp"

namespace stepcast::report {
namespace {

constexpr double kLargest = 1e300;

struct Part {
  std::string name;
  double before = 0;
  double after = 0;
};

double number(const config::Node& node) {
  return node.present() ? node.number(-kLargest, kLargest) : 0;
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(std::abs(seconds));
}

std::string relative(double before, double after) {
  return before == 0 ? std::string("new") : fmt::format("{:+.1f} %", 100 * (after / before - 1));
}

/// Largest change first; equal ones keep their order.
void print(std::string title, std::vector<Part> parts, std::string& out) {
  std::erase_if(parts, [](const Part& part) { return part.before == part.after; });
  if (parts.empty()) {
    return;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  out += fmt::format("\n  {}\n", title);
  for (const Part& part : parts) {
    out += fmt::format("    {:<18} {:>10} -> {:>10}  {:>11}  {:>8}\n", part.name, format_seconds(part.before),
                       format_seconds(part.after), signed_seconds(part.after - part.before),
                       relative(part.before, part.after));
  }
}

void check_result(const config::Document& document) {
  const config::Node root = document.root();
  const config::Node version = root.get("schema_version");
  if (!version.present() || !root.get("step_time_s").present() || !root.get("breakdown_s").present()) {
    root.error("not a result of stepcast", "give files written by predict or replay with --format json");
    return;
  }
  static_cast<void>(version.integer(kResultSchemaVersion, kResultSchemaVersion));
}

std::vector<Part> breakdown(const config::Document& before, const config::Document& after) {
  std::vector<Part> parts;
  const config::Node other = after.root().get("breakdown_s");
  for (const auto& [name, value] : before.root().get("breakdown_s").members()) {
    parts.push_back({name, number(value), number(other.get(name))});
  }
  return parts;
}

std::map<std::string, double> chain(const config::Document& document) {
  std::map<std::string, double> parts;
  for (const config::Node& part : document.root().require("critical_path").items()) {
    parts[part.require("part").text()] = number(part.require("seconds"));
  }
  return parts;
}

/// Seconds of an average rank in transfers, by dimension and kind of communication.
std::map<std::string, double> communication(const config::Document& document) {
  std::map<std::string, double> parts;
  const config::Node list = document.root().get("communication");
  const double ranks = number(document.root().get("gpus"));
  if (!list.present() || ranks <= 0) {
    return parts;
  }
  for (const config::Node& use : list.items()) {
    const std::string dimension = use.require("dimension").text();
    parts[dimension + (dimension.empty() ? "" : " ") + use.require("kind").text()] +=
        number(use.require("calls")) * number(use.require("transfer_s")) / ranks;
  }
  return parts;
}

std::vector<Part> merged(const std::map<std::string, double>& before,
                         const std::map<std::string, double>& after) {
  std::map<std::string, Part> parts;
  for (const auto& [name, seconds] : before) {
    parts[name] = {name, seconds, 0};
  }
  for (const auto& [name, seconds] : after) {
    parts.try_emplace(name, Part{name, 0, 0}).first->second.after = seconds;
  }
  std::vector<Part> out;
  out.reserve(parts.size());
  for (auto& [name, part] : parts) {
    out.push_back(part);
  }
  return out;
}

void inputs(const config::Document& before, const config::Document& after, std::string& out) {
  const config::Node first = before.root().get("inputs");
  const config::Node second = after.root().get("inputs");
  std::string lines;
  if (first.present() && second.present()) {
    for (const auto& [name, value] : first.members()) {
      const config::Node other = second.get(name);
      const std::string now = other.present() ? other.text() : "(absent)";
      if (value.text() != now) {
        lines += fmt::format("    {}: {} -> {}\n", name, value.text(), now);
      }
    }
    for (const auto& [name, value] : second.members()) {
      if (!first.get(name).present()) {
        lines += fmt::format("    {}: (absent) -> {}\n", name, value.text());
      }
    }
  }
  if (!lines.empty()) {
    out += "\n  inputs that differ\n" + lines;
  }
}

}  // namespace

std::string result_diff(const config::Document& before,
                        const config::Document& after,
                        config::Diagnostics& diagnostics) {
  check_result(before);
  check_result(after);
  diagnostics.throw_if_any();
  const config::Node a = before.root();
  const config::Node b = after.root();
  const double first = number(a.require("step_time_s"));
  const double second = number(b.require("step_time_s"));
  std::string out =
      fmt::format("{} on {} -> {} on {}\n\n", a.require("job").text(), a.require("cluster").text(),
                  b.require("job").text(), b.require("cluster").text());
  if (a.require("fingerprint").text() == b.require("fingerprint").text()) {
    out += fmt::format("  step time  {}: the timelines are the same\n", format_seconds(first));
  } else {
    out += fmt::format("  step time  {} -> {}  ({}, {})\n", format_seconds(first), format_seconds(second),
                       signed_seconds(second - first), relative(first, second));
  }
  print("where the time goes", breakdown(before, after), out);
  print("communication, in transfer, of an average rank", merged(communication(before), communication(after)),
        out);
  print("longest chain", merged(chain(before), chain(after)), out);
  inputs(before, after, out);
  diagnostics.throw_if_any();
  return out;
}

}  // namespace stepcast::report
