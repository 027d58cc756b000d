#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/writer.hpp"

namespace stepcast::report {

std::string profile_text(const replay::Result& result, double total_s) {
  const replay::Timeline& timeline = result.timeline;
  const double per_operation =
      timeline.operations == 0 ? 0 : total_s / static_cast<double>(timeline.operations);
  return fmt::format(
      "profile: {:.3f} s in all, {} operations ({} each), {} events, {} network solves over {} activities\n",
      total_s, format_count(static_cast<double>(timeline.operations)), format_seconds(per_operation),
      format_count(static_cast<double>(timeline.events)),
      format_count(static_cast<double>(timeline.resolves)),
      format_count(static_cast<double>(timeline.solved_activities)));
}

}  // namespace stepcast::report
