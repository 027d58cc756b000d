#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "compute/model.hpp"

namespace stepcast::compute {

#define STEPCAST_COMPUTE_MODEL(function) ModelEntry function##_model();
#include "compute/models.def"
#undef STEPCAST_COMPUTE_MODEL

namespace {

// A line repeated in models.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_COMPUTE_MODEL(function) function,
#include "compute/models.def"
#undef STEPCAST_COMPUTE_MODEL
  kCount
};

}  // namespace

std::span<const ModelEntry> models() {
  static const std::array<ModelEntry, static_cast<std::size_t>(Listed::kCount)> entries = {
#define STEPCAST_COMPUTE_MODEL(function) function##_model(),
#include "compute/models.def"
#undef STEPCAST_COMPUTE_MODEL
  };
  return entries;
}

std::unique_ptr<Model> make_model(std::string_view name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) {
    if (entry.name == name) {
      return entry.make();
    }
    names.emplace_back(entry.name);
  }
  throw InputError(fmt::format("unknown compute model \"{}\"; {}", name, suggest(name, names)));
}

}  // namespace stepcast::compute
