#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "app/registries.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/row_schema.hpp"
#include "report/writer.hpp"

namespace stepcast::app {
namespace {

const Registry& find_registry(const std::vector<Registry>& all, const std::string& kind) {
  std::vector<std::string> names;
  for (const Registry& registry : all) {
    if (registry.kind == kind) {
      return registry;
    }
    names.push_back(registry.kind);
  }
  throw InputError(fmt::format("unknown kind \"{}\"; {}", kind, suggest(kind, names)));
}

std::string list(const std::string& kind) {
  const std::vector<Registry> all = registries();
  std::string out;
  if (kind.empty()) {
    for (const Registry& registry : all) {
      out += fmt::format("{:<20} {:>3}  {}\n", registry.kind, registry.entries.size(), registry.summary);
    }
    return out;
  }
  std::size_t width = 0;
  const Registry& registry = find_registry(all, kind);
  for (const RegistryEntry& entry : registry.entries) {
    width = std::max(width, entry.name.size());
  }
  for (const RegistryEntry& entry : registry.entries) {
    out += entry.summary.empty() ? entry.name + "\n"
                                 : fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary);
  }
  return out;
}

std::string explain(const std::string& kind, const std::string& name) {
  const std::vector<Registry> all = registries();
  const Registry& registry = find_registry(all, kind);
  std::vector<std::string> names;
  for (const RegistryEntry& entry : registry.entries) {
    names.push_back(entry.name);
    if (entry.name != name) {
      continue;
    }
    std::string out = fmt::format("{} ({})\n  {}\n", entry.name, registry.summary, entry.summary);
    for (const auto& [about, text] : entry.notes) {
      out += fmt::format("  {}: {}\n", about, text);
    }
    for (const config::Option& option : entry.options) {
      out += fmt::format(
          "  {:<22} {}{}{}\n  {:<22} {}{}\n", option.name, option.unit.empty() ? "" : "in ", option.unit,
          option.default_value.empty() ? " required" : fmt::format(" default {}", option.default_value), "",
          option.description, option.source.empty() ? "" : fmt::format(" [{}]", option.source));
    }
    return out;
  }
  throw InputError(fmt::format("unknown name \"{}\" of kind {}; {}", name, kind, suggest(name, names)));
}

std::string schema(const std::string& what) {
  const std::vector<std::string> known{"result", "row"};
  if (what == known[0]) {
    return report::result_schema();
  }
  if (what == known[1]) {
    return report::row_schema();
  }
  throw InputError(fmt::format("unknown schema \"{}\"; {}", what, suggest(what, known)));
}

}  // namespace

void add_list(CLI::App& app, int& /*exit_code*/) {
  auto kind = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "list what can be chosen by name");
  command->add_option("kind", *kind,
                      "clusters, jobs, topologies, routing, algorithms, ... (default: the kinds)");
  command->callback([kind]() { deliver(list(*kind), {}); });
}

void add_explain(CLI::App& app, int& /*exit_code*/) {
  auto names = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command = app.add_subcommand("explain", "say what one of them is and list its options");
  command->add_option("kind", names->first, "as in stepcast list")->required();
  command->add_option("name", names->second, "as in stepcast list KIND")->required();
  command->callback([names]() { deliver(explain(names->first, names->second), {}); });
}

void add_schema(CLI::App& app, int& /*exit_code*/) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("schema", "print the JSON schema of our outputs and measured rows");
  command->add_option("what", *what, "result|row")->required();
  command->callback([what]() { deliver(schema(*what), {}); });
}

}  // namespace stepcast::app
