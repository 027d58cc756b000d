#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/writer.hpp"

namespace stepcast::report {

std::string profile_text(const replay::Result& result,
                         const std::vector<std::pair<std::string, double>>& phases,
                         double total_s) {
  const replay::Timeline& timeline = result.timeline;
  std::string out = fmt::format("profile: {:.3f} s in all\n", total_s);
  for (const auto& [name, seconds] : phases) {
    out += fmt::format("  {:<18} {:>9.3f} s\n", name, seconds);
  }
  out += fmt::format("  {} operations of {} ranks, {} run, {} events, {} network solves over {} activities\n",
                     format_count(static_cast<double>(timeline.operations)), format_count(timeline.ranks),
                     format_count(static_cast<double>(timeline.executed)),
                     format_count(static_cast<double>(timeline.events)),
                     format_count(static_cast<double>(timeline.resolves)),
                     format_count(static_cast<double>(timeline.solved_activities)));
  return out;
}

}  // namespace stepcast::report
