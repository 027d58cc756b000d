#include "rows.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gloo/config.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

namespace testbed {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string seconds(double value) {
  return fmt::format("{:.6f} s", value);
}

/// The value of a "name : value" line.
std::string line_of(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) == 0) {
      const std::size_t colon = line.find(':');
      const std::size_t first = line.find_first_not_of(" \t", colon + 1);
      return first == std::string::npos ? std::string() : line.substr(first);
    }
  }
  return {};
}

Json call_json(const Call& call) {
  return Json{{"kind", call.kind},
              {"algorithm", call.algorithm},
              {"bytes", fmt::format("{} B", call.bytes)},
              {"dtype", "fp32"}};
}

Json other_json(const Call& call) {
  Json other = call_json(call);
  other["ranks"] = call.ranks;
  return other;
}

}  // namespace

Load read_load() {
  Load load;
  std::ifstream("/proc/loadavg") >> load.load_average;
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  std::uint64_t ticks = 0;
  for (int field = 0; field < 8 && stat >> ticks; ++field) {
    const bool idle = field == 3 || field == 4;  // idle, iowait
    (idle ? load.idle : load.busy) += ticks;
  }
  return load;
}

std::size_t available_memory() {
  std::istringstream text(line_of("/proc/meminfo", "MemAvailable"));
  std::size_t kilobytes = 0;
  text >> kilobytes;
  return kilobytes * 1024;
}

std::string rows_json(const std::vector<Run>& runs,
                      const Outcome& outcome,
                      const Settings& settings,
                      const std::string& network,
                      const Load& before,
                      const Load& after) {
  utsname system = {};
  uname(&system);
  const double ticks = static_cast<double>(after.busy - before.busy + after.idle - before.idle);
  Json out;
  out["schema_version"] = 1;
  out["source"] = Json{{"title", "CPU testbed: collectives of Gloo between network namespaces"},
                       {"reference", "scripts/testbed, validation/cpu"},
                       {"note", network}};
  out["host"] = Json{{"cpu", line_of("/proc/cpuinfo", "model name")},
                     {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
                     {"memory", line_of("/proc/meminfo", "MemTotal")},
                     {"kernel", fmt::format("{} {}", system.sysname, system.release)},
                     {"load_average_before", before.load_average},
                     {"cpu_busy", ticks > 0 ? static_cast<double>(after.busy - before.busy) / ticks : 0.0}};
  if (!outcome.failure.empty()) {
    out["incomplete"] = outcome.failure;
  }
  const std::string software = fmt::format("Gloo {}.{}.{} (TCP), g++ {}", GLOO_VERSION_MAJOR,
                                           GLOO_VERSION_MINOR, GLOO_VERSION_PATCH, __VERSION__);
  std::vector<std::string> rows;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::size_t call = 0; call < runs[run].calls.size(); ++call) {
      const std::vector<double>& samples = outcome.runs[run][call].seconds;
      if (samples.empty()) {
        continue;
      }
      const Call& one = runs[run].calls[call];
      Json row;
      row["id"] = runs[run].calls.size() == 1 ? runs[run].id : fmt::format("{}-{}", runs[run].id, call);
      row["kind"] = "collective";
      row["cluster"] = runs[run].cluster;
      row["ranks"] = one.ranks;
      row["collective"] = call_json(one);
      if (runs[run].calls.size() > 1) {
        Json& also = row["also"] = Json::array();
        for (std::size_t other = 0; other < runs[run].calls.size(); ++other) {
          if (other != call) {
            also.push_back(other_json(runs[run].calls[other]));
          }
        }
      }
      row["group"] = runs[run].group;
      Json texts = Json::array();
      for (const double sample : samples) {
        texts.push_back(seconds(sample));
      }
      row["measured"] =
          Json{{"metric", "time_s"},
               {"value", seconds(median(samples))},
               {"statistic", fmt::format("median of {} after {} warm-up", samples.size(), settings.warmup)},
               {"samples", texts}};
      row["software"] = software;
      rows.push_back(row.dump());
    }
  }
  // A row a line, as files of measured rows are read by people too.
  std::string text = out.dump(1);
  text.resize(text.rfind('}') - 1);
  return fmt::format("{},\n \"rows\": [\n  {}\n ]\n}}\n", text, fmt::join(rows, ",\n  "));
}

}  // namespace testbed
