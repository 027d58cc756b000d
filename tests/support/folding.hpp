#pragma once

#include <string>

#include "program/native_format.hpp"
#include "replay/executor.hpp"

namespace stepcast::test {

inline program::Programs read_program(const std::string& text) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "program.json", diagnostics);
  return program::read_programs(document, diagnostics);
}

/// Names the first thing in which two runs of the same programs differ; "" when they are the same to the
/// bit: start and end of every recorded operation, bytes of every resource, every number of the report.
inline std::string difference(const replay::Timeline& a, const replay::Timeline& b) {
  const auto differ = [](bool same, const char* what) { return same ? std::string() : std::string(what); };
  std::string found;
  const auto note = [&found](const std::string& text) { found = found.empty() ? text : found; };
  note(differ(a.end == b.end, "end"));
  note(differ(a.fingerprint == b.fingerprint, "fingerprint"));
  note(differ(a.operations == b.operations, "operations"));
  note(differ(a.breakdown == b.breakdown, "breakdown"));
  note(differ(a.critical_path == b.critical_path, "critical_path"));
  note(differ(a.last_rank == b.last_rank, "last_rank"));
  note(differ(a.resource_bytes == b.resource_bytes, "bytes of a resource"));
  note(differ(a.tiers.size() == b.tiers.size(), "tiers"));
  for (std::size_t tier = 0; tier < a.tiers.size() && found.empty(); ++tier) {
    note(differ(a.tiers[tier].bytes == b.tiers[tier].bytes, "tier bytes"));
    note(differ(a.tiers[tier].utilisation == b.tiers[tier].utilisation, "tier utilisation"));
    note(differ(a.tiers[tier].peak == b.tiers[tier].peak, "tier peak"));
  }
  note(differ(a.intervals.size() == b.intervals.size(), "number of intervals"));
  for (std::size_t i = 0; i < a.intervals.size() && found.empty(); ++i) {
    const replay::Interval& x = a.intervals[i];
    const replay::Interval& y = b.intervals[i];
    note(differ(x.rank == y.rank && x.operation == y.operation && x.iteration == y.iteration &&
                    x.start == y.start && x.active == y.active && x.end == y.end,
                "an interval"));
  }
  return found;
}

}  // namespace stepcast::test
