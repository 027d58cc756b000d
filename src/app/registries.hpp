#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/option.hpp"

namespace stepcast::app {

/// One thing that can be chosen by name.
struct RegistryEntry {
  std::string name;
  std::string summary;
  std::span<const config::Option> options;
  /// Further lines of `explain`: what it is about, and the text.
  std::vector<std::pair<std::string, std::string>> notes = {};
};

/// One kind of thing: what `stepcast list KIND` shows.
struct Registry {
  std::string kind;
  std::string summary;
  std::vector<RegistryEntry> entries;
};

/// Every registry of the product, shipped data included.
[[nodiscard]] std::vector<Registry> registries();

}  // namespace stepcast::app
