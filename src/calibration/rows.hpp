#pragma once

#include <string>
#include <vector>

#include "config/node.hpp"

namespace stepcast::calibration {

/// Where measured rows come from.
struct RowSource {
  std::string title;
  std::string reference;  ///< paper, table, repository@commit file
  std::string licence;
  std::string note;
};

/// One measured fact: what was run, where, how, and the value (schema: `stepcast schema row`).
struct MeasuredRow {
  std::string id;
  std::string kind;                   ///< "step"
  std::string cluster;                ///< shipped name or file
  std::string job;                    ///< shipped name or file
  std::string ranks;                  ///< as --ranks
  std::vector<std::string> settings;  ///< as --set
  std::string group;                  ///< rows of one group are held out together
  std::string metric;                 ///< "step_time_s"
  double measured = 0;                ///< SI units
  std::string statistic;              ///< how the value came from the samples
  std::vector<double> samples;        ///< raw samples when known, SI units
  std::string software;               ///< framework and version
  std::string where;                  ///< table, file or line of the source
  std::string note;
  RowSource source;
  config::Place place;  ///< of the row, for messages
};

/// Reads a file of measured rows. Mistakes are recorded in the Diagnostics of the document.
[[nodiscard]] std::vector<MeasuredRow> read_rows(const config::Document& document);

}  // namespace stepcast::calibration
