#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"
#include "collective/nccl/choice.hpp"
#include "collective/schedule.hpp"

namespace stepcast::report {

/// A collective that ran beside the timed one.
struct OtherRow {
  collective::Kind kind = collective::Kind::kAllReduce;
  std::string group;  ///< as the flag says it
  std::uint32_t ranks = 0;
  Bytes bytes;
  double start_s = 0;
  double time_s = 0;
};

/// One size of a collective sweep.
struct CollectiveRow {
  Bytes bytes;
  double time_s = 0;
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels = 0;
  std::vector<OtherRow> others;
};

/// What the sizes of a sweep were chosen among (`--explain`).
struct Choice {
  std::string version;
  std::string group;                                                 ///< what the rules see of the group
  std::vector<std::vector<collective::nccl::Candidate>> candidates;  ///< by row; empty: no table
};

/// A sweep as nccl-tests would run it.
struct CollectiveSweep {
  collective::Kind kind = collective::Kind::kAllReduce;
  DataType dtype = DataType::kFp32;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::string reduction = "sum";
  std::uint64_t iterations = 20;  ///< of the header only: a prediction needs one
  std::uint64_t warmup = 1;       ///< of the header only
  std::string step;               ///< "2(factor)" or "1048576(bytes)"
  std::string cluster;
  std::string accelerator;
  std::vector<std::string> without_effect;  ///< variables of NCCL that were given and change nothing
  std::vector<CollectiveRow> rows;
  std::optional<Choice> choice;
};

/// algbw = bytes / time; busbw = algbw x the bus factor of the operation. GB/s = 1e9 bytes/s. Both are 0
/// for one rank: nothing is moved, and the time is a launch.
[[nodiscard]] double algbw(const CollectiveRow& row, const CollectiveSweep& sweep);
[[nodiscard]] double busbw(const CollectiveRow& row, const CollectiveSweep& sweep);
[[nodiscard]] double busbw(const OtherRow& row);

/// The table of nccl-tests 2.x (same columns, so that existing parsers read it). In-place and
/// out-of-place are predicted equal; nothing is verified, so #wrong is N/A. Collectives that ran beside it
/// follow their row as comments; so do, at the end, the candidates of a choice.
[[nodiscard]] std::string collective_table(const CollectiveSweep& sweep);
/// {"rows": [{bytes, time_us, algbw_GBps, busbw_GBps, inplace, algorithm, protocol, channels,
/// also: [{kind, group, bytes, start_us, time_us, busbw_GBps}]}]}; `also` only when there are others. With a
/// choice `choice`: {nccl, group, candidates: [{algorithm, protocol, latency_us, algbw_GBps, reason}], and in
/// every row `table_us`: {"Ring/LL": ...} of those that can be used.
[[nodiscard]] std::string collective_json(const CollectiveSweep& sweep);
[[nodiscard]] std::string collective_csv(const CollectiveSweep& sweep);

}  // namespace stepcast::report
