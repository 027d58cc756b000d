#pragma once

#include <string>

namespace stepcast::report {

/// JSON schema of measured rows, as `stepcast schema row` prints it.
[[nodiscard]] std::string row_schema();

}  // namespace stepcast::report
