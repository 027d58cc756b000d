#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "network/model.hpp"

namespace stepcast::network {
namespace {

// A line repeated in models.def redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_NETWORK_MODEL(name, available, summary) name,
#include "network/models.def"
#undef STEPCAST_NETWORK_MODEL
  kCount
};

constexpr std::array<ModelEntry, static_cast<std::size_t>(Listed::kCount)> kModels = {
#define STEPCAST_NETWORK_MODEL(name, available, summary) ModelEntry{#name, summary, available},
#include "network/models.def"
#undef STEPCAST_NETWORK_MODEL
};

}  // namespace

std::span<const ModelEntry> models() {
  return kModels;
}

void require_available(std::string_view name) {
  const auto* const found = std::find_if(kModels.begin(), kModels.end(),
                                         [name](const ModelEntry& entry) { return entry.name == name; });
  if (found == kModels.end()) {
    std::vector<std::string> known;
    for (const ModelEntry& entry : kModels) {
      known.emplace_back(entry.name);
    }
    throw InputError(fmt::format("--fidelity: unknown fidelity \"{}\"; {}", name, suggest(name, known)));
  }
  if (!found->available) {
    throw UnsupportedError(fmt::format("fidelity \"{}\" does not exist yet; use --fidelity flow", name));
  }
}

}  // namespace stepcast::network
