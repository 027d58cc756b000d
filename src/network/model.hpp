#pragma once

#include <span>
#include <string_view>

namespace stepcast::network {

/// A fidelity of the network (design 2.1): one line per known model in models.def. Models that do
/// not exist yet are listed as such, so that asking for one is an UnsupportedError, not a typo.
struct ModelEntry {
  std::string_view name;
  std::string_view summary;
  bool available = false;
};

[[nodiscard]] std::span<const ModelEntry> models();

/// Checks a `--fidelity` value: unknown -> InputError with a suggestion, not available ->
/// UnsupportedError naming `flow`.
void require_available(std::string_view name);

}  // namespace stepcast::network
