#include "report/channel_report.hpp"

#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepcast::report {
namespace {

using Json = nlohmann::ordered_json;
using calibration::ChannelScore;
using calibration::ChannelValidation;

std::string channels(const std::optional<trace::LoggedCounts>& counts, std::uint32_t otherwise) {
  if (counts) {
    return fmt::format("{}", counts->collective);
  }
  return otherwise > 0 ? fmt::format("{}", otherwise) : "-";
}

std::string verdict(const ChannelScore& row) {
  if (!row.scored) {
    return "not scored: " + row.reason;
  }
  return row.matched ? "match" : "NO MATCH";
}

std::string list(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) {
    line += (line.empty() ? "" : ", ") + text;
  }
  return line;
}

Json counts_json(const std::optional<trace::LoggedCounts>& counts) {
  if (!counts) {
    return nullptr;
  }
  return Json{{"collective", counts->collective},
              {"nvls", counts->nvls},
              {"p2p", counts->p2p},
              {"p2p_per_peer", counts->p2p_per_peer}};
}

struct Total {
  std::uint32_t scored = 0;
  std::uint32_t matched = 0;
};
Total total_of(std::span<const ChannelValidation> logs) {
  Total total;
  for (const ChannelValidation& log : logs) {
    total.scored += log.scored;
    total.matched += log.matched;
  }
  return total;
}

}  // namespace

std::string channel_text(std::span<const ChannelValidation> logs) {
  std::string out;
  for (const ChannelValidation& log : logs) {
    out += fmt::format("{}\n", log.file);
    if (!log.gpu.empty()) {
      out += fmt::format("  GPU {}\n", log.gpu);
    }
    if (!log.variables.empty()) {
      out += fmt::format("  set: {}\n", list(log.variables));
    }
    if (!log.assumed.empty()) {
      out += fmt::format("  assumed, as the log does not tell: {}\n", list(log.assumed));
    }
    out += fmt::format("  {:<12} {:>5} {:>5} {:>5}  {:>16}  {:>13}\n", "NCCL", "count", "ranks", "nodes",
                       "channels log/own", "rings matched");
    for (const ChannelScore& row : log.rows) {
      const std::string both = channels(row.logged, row.logged_channels) + " / " + channels(row.predicted, 0);
      out += fmt::format("  {:<12} {:>5} {:>5} {:>5}  {:>16}  {:>13}  {}\n", row.version, row.communicators,
                         row.ranks, row.nodes > 0 ? fmt::format("{}", row.nodes) : "?", both,
                         row.predicted ? fmt::format("{} of {}", row.rings_matched, row.rings) : "-",
                         verdict(row));
    }
  }
  const Total total = total_of(logs);
  if (total.scored == 0) {
    return out + "no communicator is scored\n";
  }
  return out + fmt::format("{} of {} scored communicators match in channels and rings ({:.1f} %)\n",
                           total.matched, total.scored, 100.0 * total.matched / total.scored);
}

std::string channel_json(std::span<const ChannelValidation> logs) {
  const Total total = total_of(logs);
  Json out;
  out["scored"] = total.scored;
  out["matched"] = total.matched;
  out["match_rate"] =
      total.scored > 0 ? Json(static_cast<double>(total.matched) / total.scored) : Json(nullptr);
  Json& files = out["logs"] = Json::array();
  for (const ChannelValidation& log : logs) {
    Json one;
    one["file"] = log.file;
    one["gpu"] = log.gpu.empty() ? Json(nullptr) : Json(log.gpu);
    one["variables"] = log.variables;
    one["assumed"] = log.assumed;
    one["scored"] = log.scored;
    one["matched"] = log.matched;
    Json& rows = one["communicators"] = Json::array();
    for (const ChannelScore& row : log.rows) {
      rows.push_back(
          Json{{"version", row.version},
               {"count", row.communicators},
               {"ranks", row.ranks},
               {"nodes", row.nodes > 0 ? Json(row.nodes) : Json(nullptr)},
               {"channels_logged", row.logged_channels > 0 ? Json(row.logged_channels) : Json(nullptr)},
               {"channels_predicted", row.predicted ? Json(row.predicted->collective) : Json(nullptr)},
               {"logged", counts_json(row.logged)},
               {"predicted", counts_json(row.predicted)},
               {"rings", row.rings},
               {"rings_matched", row.rings_matched},
               {"scored", row.scored},
               {"matched", row.matched},
               {"reason", row.reason}});
    }
    files.push_back(std::move(one));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepcast::report
