// Scope:        one header line and one row per result, for spreadsheets.
// Assumes:      RFC 4180 quoting; the same columns for every result (empty where not known).
// Not covered:  links, inputs.
// Source:       design 4.2.
// Validated by: tests/unit/report.
#include <fmt/format.h>

#include "report/escape.hpp"
#include "report/writer.hpp"

namespace stepcast::report {
namespace {

std::string write(const replay::Result& result) {
  std::string head =
      "cluster,job,gpus,step_time_s,mfu,mfu_full_attention,hfu,tokens_per_s,memory_peak_bytes,memory_fits";
  std::string row = fmt::format("{},{},{},{}", csv_field(result.cluster), csv_field(result.job), result.gpus,
                                result.step_time_s);
  if (result.training) {
    row += fmt::format(",{},{},{},{}", result.training->mfu, result.training->mfu_full_attention,
                       result.training->hfu, result.training->tokens_per_s);
  } else {
    row += ",,,,";
  }
  row += result.memory ? fmt::format(",{},{}", result.memory->peak, result.memory->fits) : std::string(",,");
  for (std::size_t i = 0; i < replay::kActivities; ++i) {
    head += fmt::format(",{}_s", replay::name_of(static_cast<replay::Activity>(i)));
    row += fmt::format(",{}", result.timeline.breakdown[i].seconds());
  }
  head += ",fingerprint";
  row += fmt::format(",{:016x}", result.timeline.fingerprint);
  return head + "\n" + row + "\n";
}

}  // namespace

ResultWriter csv_writer() {
  return {"csv", "one header line and one row", &write};
}

}  // namespace stepcast::report
