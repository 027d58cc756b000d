#include "base/check.hpp"

#include <string_view>

#include "base/error.hpp"

namespace stepcast {

void check_failed(const char* file, int line, const char* condition, const std::string& text) {
  // Only the path below src/ is printed: a report must not show where it was built.
  std::string_view place = file;
  if (const auto at = place.rfind("src/"); at != std::string_view::npos) {
    place.remove_prefix(at);
  }
  throw InternalError(fmt::format("{}:{}: check failed: {}: {}", place, line, condition, text));
}

}  // namespace stepcast
