#pragma once

#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"
#include "collective/schedule.hpp"
#include "config/node.hpp"

namespace stepcast::calibration {

/// Where measured rows come from.
struct RowSource {
  std::string title;
  std::string reference;  ///< paper, table, repository@commit file
  std::string licence;
  std::string note;
};

/// One collective that was measured, or that ran beside it.
struct MeasuredCollective {
  collective::Kind kind = collective::Kind::kAllReduce;
  std::string algorithm;  ///< as --algo; empty = the product's choice
  Bytes bytes;            ///< as nccl-tests counts
  DataType dtype = DataType::kFp32;
  std::string ranks;  ///< as --ranks; empty = every GPU
};

/// One measured fact: what was run, where, how, and the value (schema: `stepcast schema row`).
struct MeasuredRow {
  std::string id;
  std::string kind;                      ///< "step" or "collective"
  std::string cluster;                   ///< shipped name or file
  std::string job;                       ///< shipped name or file
  std::string ranks;                     ///< as --ranks
  std::vector<std::string> settings;     ///< as --set
  std::string group;                     ///< rows of one group are held out together
  MeasuredCollective collective;         ///< kind "collective"; its ranks are those of the row
  std::vector<MeasuredCollective> also;  ///< ... started at the same time
  std::string metric;                    ///< "step_time_s", or "time_s" of a collective
  double measured = 0;                   ///< SI units
  std::string statistic;                 ///< how the value came from the samples
  std::vector<double> samples;           ///< raw samples when known, SI units
  std::string software;                  ///< framework and version
  std::string where;                     ///< table, file or line of the source
  std::string note;
  RowSource source;
  config::Place place;  ///< of the row, for messages
};

/// Reads a file of measured rows. Mistakes are recorded in the Diagnostics of the document.
[[nodiscard]] std::vector<MeasuredRow> read_rows(const config::Document& document);

/// Why the measurement ended early, as the file says; empty when it did not.
[[nodiscard]] std::string incomplete_reason(const config::Document& document);

}  // namespace stepcast::calibration
