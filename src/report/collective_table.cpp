#include "report/collective_table.hpp"

#include <algorithm>

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

/// "Ring/LL".
std::string title_of(const collective::nccl::Candidate& one) {
  return fmt::format("{}/{}", collective::nccl::name_of(one.family), collective::name_of(one.protocol));
}

/// Families that cannot be used are told once, not for every protocol.
void append_candidates(const std::vector<collective::nccl::Candidate>& candidates, std::string& out) {
  const collective::nccl::Candidate* last = nullptr;
  for (const collective::nccl::Candidate& one : candidates) {
    const bool repeated = last != nullptr && last->family == one.family && last->reason == one.reason;
    if (one.reason.empty()) {
      out += fmt::format("#   {:<20} {:>10.2f} us + bytes / {:>7.2f} GB/s\n", title_of(one), one.latency_us,
                         one.bandwidth);
    } else if (!repeated) {
      const bool whole = std::all_of(candidates.begin(), candidates.end(), [&](const auto& other) {
        return other.family != one.family || other.reason == one.reason;
      });
      out +=
          fmt::format("#   {:<20} no: {}\n",
                      whole ? std::string(collective::nccl::name_of(one.family)) : title_of(one), one.reason);
    }
    last = &one;
  }
}

std::string choice_text(const CollectiveSweep& sweep) {
  const Choice& choice = *sweep.choice;
  std::string group = choice.group;
  for (std::size_t at = group.find("; "); at != std::string::npos; at = group.find("; ", at)) {
    group.replace(at, 2, "\n#   ");
  }
  std::string out = fmt::format("# Choice by the rules of NCCL {}: {}\n", choice.version, group);
  if (choice.candidates.empty() || choice.candidates.front().empty()) {
    return out + fmt::format("# No table: sends and receives, here by {}\n#\n",
                             sweep.rows.empty() ? "" : sweep.rows.front().algorithm);
  }
  append_candidates(choice.candidates.front(), out);
  out +=
      "# Table time in us, the least (*) is taken. The table selects; the predicted time is above.\n#       "
      "size";
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < choice.candidates.front().size(); ++i) {
    if (choice.candidates.front()[i].reason.empty()) {
      shown.push_back(i);
      out += fmt::format("  {:>15}", title_of(choice.candidates.front()[i]));
    }
  }
  out += "  channels\n";
  for (std::size_t row = 0; row < choice.candidates.size(); ++row) {
    const auto& candidates = choice.candidates[row];
    std::size_t best = shown.empty() ? 0 : shown.front();
    for (const std::size_t i : shown) {
      best = candidates[i].table_time_us < candidates[best].table_time_us ? i : best;
    }
    out += fmt::format("#{:>11}", sweep.rows[row].bytes.count());
    for (const std::size_t i : shown) {
      out += fmt::format("  {:>14.2f}{}", candidates[i].table_time_us, i == best ? '*' : ' ');
    }
    out += fmt::format("  {:>8}\n", sweep.rows[row].channels);
  }
  return out + "#\n";
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
  if (!sweep.without_effect.empty()) {
    out += fmt::format("# Without effect here: {}\n#\n", fmt::join(sweep.without_effect, " "));
  }
  return sweep.choice ? out + choice_text(sweep) : out;
}

namespace {

void add_choice(const CollectiveSweep& sweep, nlohmann::ordered_json& out) {
  const Choice& choice = *sweep.choice;
  out["choice"] = {{"nccl", choice.version}, {"group", choice.group}};
  auto& listed = out["choice"]["candidates"] = nlohmann::ordered_json::array();
  if (choice.candidates.empty()) {
    return;
  }
  for (const collective::nccl::Candidate& one : choice.candidates.front()) {
    listed.push_back({{"algorithm", collective::nccl::name_of(one.family)},
                      {"protocol", collective::name_of(one.protocol)}});
    if (one.reason.empty()) {
      listed.back()["latency_us"] = one.latency_us;
      listed.back()["algbw_GBps"] = one.bandwidth;
    } else {
      listed.back()["reason"] = one.reason;
    }
  }
  for (std::size_t row = 0; row < choice.candidates.size(); ++row) {
    for (const collective::nccl::Candidate& one : choice.candidates[row]) {
      if (one.reason.empty()) {
        out["rows"][row]["table_us"][title_of(one)] = one.table_time_us;
      }
    }
  }
}

}  // namespace

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
  if (sweep.choice) {
    add_choice(sweep, out);
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
