#include "report/row_schema.hpp"

#include <nlohmann/json.hpp>

#include "collective/schedule.hpp"

namespace stepcast::report {

using Json = nlohmann::ordered_json;

std::string row_schema() {
  const auto text = [](const char* words) { return Json{{"type", "string"}, {"description", words}}; };
  Json measured;
  measured["metric"] =
      Json{{"enum", {"step_time_s", "time_s"}},
           {"description", "of a step; of a collective: from the common start to its last member's end"}};
  measured["value"] = text("the value with its unit, for example \"13.75 s\"");
  measured["statistic"] = text("how the value came from the samples: as printed, median, mean");
  measured["samples"] =
      Json{{"type", "array"}, {"items", {{"type", "string"}}}, {"description", "raw samples with units"}};
  Json row;
  row["id"] = text("unique");
  row["kind"] = Json{{"enum", {"step", "collective"}},
                     {"description", "step: one training step; collective: one call, all members together"}};
  row["cluster"] = text("cluster name or file, as on the command line");
  row["job"] = text("of a step: job name or file");
  Json one;
  one["kind"] = Json{{"enum", collective::kind_names()}};
  one["algorithm"] = text("as --algo; absent = the product's choice");
  one["bytes"] = text("size as nccl-tests counts it, with its unit");
  one["dtype"] = text("element type; absent = fp32");
  row["collective"] = Json{{"type", "object"}, {"properties", one}, {"required", {"kind", "bytes"}}};
  one["ranks"] = text("as --ranks");
  row["also"] = Json{{"type", "array"},
                     {"items", {{"type", "object"}, {"properties", one}, {"required", {"kind", "bytes"}}}},
                     {"description", "collectives that started at the same time"}};
  row["ranks"] = text("as --ranks; absent = every GPU");
  row["set"] =
      Json{{"type", "array"}, {"items", {{"type", "string"}}}, {"description", "as --set, one each"}};
  row["group"] = text("rows of one group are held out together in cross-validation");
  row["measured"] = Json{{"type", "object"}, {"properties", measured}, {"required", {"metric", "value"}}};
  row["software"] = text("framework and versions");
  row["where"] = text("table, file or line of the source");
  row["note"] = text("what a reader must know");
  Json source;
  source["title"] = text("what it is");
  source["reference"] = text("paper, table, repository@commit file");
  source["licence"] = text("licence of the source");
  source["note"] = text("caveats");
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "stepcast measured rows";
  schema["type"] = "object";
  schema["properties"]["schema_version"] = Json{{"const", 1}};
  schema["properties"]["source"] =
      Json{{"type", "object"}, {"properties", source}, {"required", {"title", "reference"}}};
  schema["properties"]["host"] =
      Json{{"type", "object"}, {"description", "machine that measured: CPU, cores, memory, kernel, load"}};
  schema["properties"]["incomplete"] = text("why the measurement ended early; absent = it did not");
  schema["properties"]["rows"] =
      Json{{"type", "array"},
           {"items",
            {{"type", "object"}, {"properties", row}, {"required", {"id", "kind", "cluster", "measured"}}}}};
  schema["required"] = {"schema_version", "source", "rows"};
  return schema.dump(2) + "\n";
}

}  // namespace stepcast::report
