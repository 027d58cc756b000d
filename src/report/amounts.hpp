#pragma once

#include <string>

namespace stepcast::report {

/// Seconds with a unit a person reads: "13.75 s", "187.2 us".
[[nodiscard]] std::string format_seconds(double seconds);
/// Bytes in binary units: "61.2 GiB".
[[nodiscard]] std::string format_bytes(double bytes);
/// Share in percent with one decimal: "51.4 %".
[[nodiscard]] std::string format_percent(double share);
/// Large count with thin grouping: "9,480".
[[nodiscard]] std::string format_count(double count);

}  // namespace stepcast::report
