#include "report/collective_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepcast::report {
namespace {

/// nccl-tests' names of element types.
std::string_view nccl_type(DataType dtype) {
  switch (dtype) {
    case DataType::kFp16: return "half";
    case DataType::kBf16: return "bfloat16";
    case DataType::kFp32: return "float";
    case DataType::kFp64: return "double";
    case DataType::kInt32: return "int32";
    case DataType::kInt64: return "int64";
    case DataType::kFp8: return "f8e4m3";
    default: return "int8";
  }
}

/// Elements per rank, as nccl-tests counts them.
std::int64_t count_of(const CollectiveRow& row, const CollectiveSweep& sweep) {
  const std::int64_t elements = row.bytes.count() / element_bytes(sweep.dtype);
  return collective::cuts_by_member(sweep.kind) ? elements / sweep.ranks : elements;
}

/// nccl-tests narrows the decimals of long times.
std::string time_text(double us) {
  return us >= 10000.0 ? fmt::format("{:7.0f}", us)
         : us >= 100.0 ? fmt::format("{:7.1f}", us)
                       : fmt::format("{:7.2f}", us);
}

}  // namespace

double algbw(const CollectiveRow& row, const CollectiveSweep& sweep) {
  return row.time_s > 0 && sweep.ranks > 1 ? static_cast<double>(row.bytes.count()) / row.time_s * 1e-9 : 0;
}

double busbw(const CollectiveRow& row, const CollectiveSweep& sweep) {
  return algbw(row, sweep) * collective::bus_factor(sweep.kind, sweep.ranks);
}

double busbw(const OtherRow& row) {
  return row.time_s > 0 && row.ranks > 1 ? static_cast<double>(row.bytes.count()) / row.time_s * 1e-9 *
                                               collective::bus_factor(row.kind, row.ranks)
                                         : 0;
}

std::string collective_table(const CollectiveSweep& sweep) {
  const std::int64_t first = sweep.rows.empty() ? 0 : sweep.rows.front().bytes.count();
  const std::int64_t last = sweep.rows.empty() ? 0 : sweep.rows.back().bytes.count();
  std::string out = fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: 1 "
      "validation: 0 graph: 0\n#\n",
      first, last, sweep.step, sweep.warmup, sweep.iterations);
  out += fmt::format("# Predicted by stepcast: {} on {} ranks of {} ({})\n#\n",
                     collective::name_of(sweep.kind), sweep.ranks, sweep.cluster, sweep.accelerator);
  out +=
      "#                                                              out-of-place                       "
      "in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw "
      "  busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)       \n";
  double sum = 0;
  for (const CollectiveRow& row : sweep.rows) {
    const double bus = busbw(row, sweep);
    const std::string timing =
        fmt::format("  {}  {:6.2f}  {:6.2f}    N/A", time_text(row.time_s * 1e6), algbw(row, sweep), bus);
    const bool rooted = collective::has_root(sweep.kind);
    out += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.bytes.count(), count_of(row, sweep),
                       nccl_type(sweep.dtype),
                       collective::reduces(sweep.kind) ? sweep.reduction : std::string("none"),
                       rooted ? static_cast<int>(sweep.root) : -1, timing, timing);
    for (const OtherRow& other : row.others) {
      out += fmt::format("# also {} of {} bytes on {} from {:.2f} us: {} us, busbw {:.2f} GB/s\n",
                         collective::name_of(other.kind), other.bytes.count(), other.group,
                         other.start_s * 1e6, time_text(other.time_s * 1e6), busbw(other));
    }
    sum += bus;
  }
  const double mean = sweep.rows.empty() ? 0 : sum / static_cast<double>(sweep.rows.size());
  out += fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g}\n#\n", mean);
  return out;
}

std::string collective_json(const CollectiveSweep& sweep) {
  nlohmann::ordered_json out;
  out["collective"] = collective::name_of(sweep.kind);
  out["cluster"] = sweep.cluster;
  out["ranks"] = sweep.ranks;
  out["dtype"] = name_of(sweep.dtype);
  auto& rows = out["rows"] = nlohmann::ordered_json::array();
  for (const CollectiveRow& row : sweep.rows) {
    rows.push_back({{"bytes", row.bytes.count()},
                    {"time_us", row.time_s * 1e6},
                    {"algbw_GBps", algbw(row, sweep)},
                    {"busbw_GBps", busbw(row, sweep)},
                    {"inplace", false},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol},
                    {"channels", row.channels}});
    for (const OtherRow& other : row.others) {
      rows.back()["also"].push_back({{"kind", collective::name_of(other.kind)},
                                     {"group", other.group},
                                     {"bytes", other.bytes.count()},
                                     {"start_us", other.start_s * 1e6},
                                     {"time_us", other.time_s * 1e6},
                                     {"busbw_GBps", busbw(other)}});
    }
  }
  return out.dump(2) + "\n";
}

std::string collective_csv(const CollectiveSweep& sweep) {
  std::string out = "bytes,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,channels\n";
  for (const CollectiveRow& row : sweep.rows) {
    out += fmt::format("{},{},{},{},{},{},{}\n", row.bytes.count(), row.time_s * 1e6, algbw(row, sweep),
                       busbw(row, sweep), row.algorithm, row.protocol, row.channels);
  }
  return out;
}

}  // namespace stepcast::report
