#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/result.hpp"

namespace stepcast::report {

/// A form of a predicted step: one leaf in writers/, one line in result_writers.def.
struct ResultWriter {
  std::string_view name;  ///< what --format names
  std::string_view summary;
  std::string (*write)(const replay::Result& result);
};
[[nodiscard]] std::span<const ResultWriter> result_writers();

/// By name; an unknown one is an InputError with a suggestion.
[[nodiscard]] const ResultWriter& find_result_writer(std::string_view name);

/// Version of the JSON result; raised when a key changes its meaning.
inline constexpr int kResultSchemaVersion = 1;

/// JSON schema text of the result, as `stepcast schema result` prints it.
[[nodiscard]] std::string result_schema();

/// Where our own time went, for --profile (not deterministic, never part of a result).
[[nodiscard]] std::string profile_text(const replay::Result& result,
                                       const std::vector<std::pair<std::string, double>>& phases,
                                       double total_s);

}  // namespace stepcast::report
