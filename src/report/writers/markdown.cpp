// Scope:        a table for a pull request or a page.
// Assumes:      GitHub-flavoured Markdown.
// Not covered:  links, inputs.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/escape.hpp"
#include "report/writer.hpp"

namespace stepcast::report {
namespace {

std::string write(const replay::Result& result) {
  std::string out = fmt::format("### {} on {} ({} GPUs)\n\n| | |\n| --- | --- |\n", markdown_text(result.job),
                                markdown_text(result.cluster), result.gpus);
  out += fmt::format("| step time | {} |\n", format_seconds(result.step_time_s));
  if (result.training) {
    out += fmt::format("| MFU (causal / full attention) | {} / {} |\n", format_percent(result.training->mfu),
                       format_percent(result.training->mfu_full_attention));
    out += fmt::format("| tokens/s per GPU | {:.1f} |\n", result.training->tokens_per_s_per_gpu);
  }
  if (result.memory) {
    out +=
        fmt::format("| memory | {} of {}, {} |\n", format_bytes(result.memory->peak),
                    format_bytes(result.memory->capacity), result.memory->fits ? "fits" : "**does not fit**");
  }
  for (std::size_t i = 0; i < replay::kActivities; ++i) {
    const double seconds = result.timeline.breakdown[i].seconds();
    if (seconds > 0) {
      out += fmt::format("| {} | {} ({}) |\n", replay::name_of(static_cast<replay::Activity>(i)),
                         format_seconds(seconds), format_percent(seconds / result.step_time_s));
    }
  }
  out += fmt::format("| fingerprint | `{:016x}` |\n", result.timeline.fingerprint);
  return out;
}

}  // namespace

ResultWriter markdown_writer() {
  return {"markdown", "a table for a pull request", &write};
}

}  // namespace stepcast::report
