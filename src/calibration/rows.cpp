#include "calibration/rows.hpp"

#include <set>

#include <fmt/format.h>

#include "config/quote.hpp"

namespace stepcast::calibration {
namespace {

std::string text_of(const config::Node& node, std::string_view key) {
  const config::Node value = node.get(key);
  return value.present() ? value.text() : std::string();
}

RowSource read_source(const config::Node& node) {
  RowSource source;
  if (!node.present()) {
    return source;
  }
  node.allow_only({"title", "reference", "licence", "note"});
  source.title = node.require("title").text();
  source.reference = node.require("reference").text();
  source.licence = text_of(node, "licence");
  source.note = text_of(node, "note");
  return source;
}

MeasuredCollective read_collective(const config::Node& node, bool other) {
  MeasuredCollective one;
  std::vector<std::string> keys{"kind", "algorithm", "bytes", "dtype"};
  if (other) {
    keys.emplace_back("ranks");
  }
  node.allow_only(keys);
  if (const config::Node kind = node.require("kind"); kind.present()) {
    one.kind = static_cast<collective::Kind>(kind.one_of(collective::kind_names()));
  }
  one.algorithm = node.get("algorithm").name();
  if (const config::Node bytes = node.require("bytes"); bytes.present()) {
    one.bytes = bytes.bytes();
  }
  if (const config::Node dtype = node.get("dtype"); dtype.present()) {
    one.dtype = dtype.dtype();
  }
  one.ranks = other ? text_of(node, "ranks") : std::string();
  return one;
}

void read_measured(const config::Node& node, MeasuredRow& row) {
  node.allow_only({"metric", "value", "statistic", "samples"});
  const std::vector<std::string> metrics{row.kind == "collective" ? "time_s" : "step_time_s"};
  if (const config::Node metric = node.require("metric"); metric.present()) {
    row.metric = metrics[metric.one_of(metrics)];
  }
  if (const config::Node value = node.require("value"); value.present()) {
    const std::size_t before = value.diagnostics().size();
    row.measured = value.duration().seconds();
    if (row.measured <= 0 && value.diagnostics().size() == before) {
      value.error("a measured time must be positive", "give the time with its unit, for example \"13.75 s\"");
    }
  }
  row.statistic = text_of(node, "statistic");
  if (const config::Node samples = node.get("samples"); samples.present()) {
    for (const config::Node& sample : samples.items()) {
      row.samples.push_back(sample.duration().seconds());
    }
  }
}

}  // namespace

std::vector<MeasuredRow> read_rows(const config::Document& document) {
  std::vector<MeasuredRow> rows;
  const config::Node root = document.root();
  root.allow_only({"schema_version", "source", "host", "incomplete", "rows"});
  if (const config::Node version = root.require("schema_version"); version.present()) {
    static_cast<void>(version.integer(1, 1));  // read for its check alone
  }
  const RowSource source = read_source(root.require("source"));
  std::set<std::string> ids;
  const config::Node list = root.require("rows");
  for (const config::Node& node : list.items()) {
    node.allow_only({"id", "kind", "cluster", "job", "ranks", "collective", "also", "set", "group",
                     "measured", "software", "where", "note"});
    MeasuredRow row;
    const config::Node id = node.require("id");
    row.id = id.name();
    if (id.is_text() && row.id.empty()) {
      id.error("the id is empty", "name the row: reports and errors show it");
    } else if (id.is_text() && !ids.insert(row.id).second) {
      id.error(fmt::format("row {} occurs twice", config::in_quotes(row.id)), "give every row its own id");
    }
    const std::vector<std::string> kinds{"step", "collective"};
    if (const config::Node kind = node.require("kind"); kind.present()) {
      row.kind = kinds[kind.one_of(kinds)];
    }
    row.cluster = node.require("cluster").text();
    if (row.kind == "collective") {
      if (node.get("job").present()) {
        node.get("job").error("a collective has no job", "leave it out");
      }
      if (const config::Node one = node.require("collective"); one.present()) {
        row.collective = read_collective(one, false);
      }
      if (const config::Node also = node.get("also"); also.present()) {
        for (const config::Node& other : also.items()) {
          row.also.push_back(read_collective(other, true));
        }
      }
    } else {
      for (const char* key : {"collective", "also"}) {
        if (node.get(key).present()) {
          node.get(key).error("a step has no collective of its own",
                              "leave it out, or give kind \"collective\"");
        }
      }
      row.job = node.require("job").text();
    }
    row.ranks = text_of(node, "ranks");
    row.group = node.get("group").name();
    row.software = text_of(node, "software");
    row.where = text_of(node, "where");
    row.note = text_of(node, "note");
    if (const config::Node settings = node.get("set"); settings.present()) {
      for (const config::Node& setting : settings.items()) {
        row.settings.push_back(setting.text());
      }
    }
    if (const config::Node measured = node.require("measured"); measured.present()) {
      read_measured(measured, row);
    }
    row.source = source;
    row.place = node.place();
    rows.push_back(std::move(row));
  }
  if (list.is_array() && rows.empty()) {
    list.error("no rows", "add at least one measured row");
  }
  return rows;
}

std::string incomplete_reason(const config::Document& document) {
  return document.root().get("incomplete").name();
}

}  // namespace stepcast::calibration
