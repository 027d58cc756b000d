#pragma once

#include <string>

#include "config/node.hpp"

namespace stepcast::report {

/// What changed between two results (the JSON of predict or replay): step time, breakdown, longest
/// chain, links, memory, and the inputs that differ. Parts of the step are ordered by how much they
/// changed. Throws InputError when a document is not such a result.
[[nodiscard]] std::string result_diff(const config::Document& before,
                                      const config::Document& after,
                                      config::Diagnostics& diagnostics);

}  // namespace stepcast::report
