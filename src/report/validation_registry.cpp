#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/validation_writer.hpp"

namespace stepcast::report {

#define STEPCAST_VALIDATION_WRITER(name) ValidationWriter name##_writer();
#include "report/validation_writers.def"
#undef STEPCAST_VALIDATION_WRITER

namespace {

// A repeated line redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_VALIDATION_WRITER(name) name,
#include "report/validation_writers.def"
#undef STEPCAST_VALIDATION_WRITER
  kCount
};

}  // namespace

std::span<const ValidationWriter> validation_writers() {
  static const std::array<ValidationWriter, static_cast<std::size_t>(Listed::kCount)> writers{
#define STEPCAST_VALIDATION_WRITER(name) name##_writer(),
#include "report/validation_writers.def"
#undef STEPCAST_VALIDATION_WRITER
  };
  return writers;
}

const ValidationWriter& find_validation_writer(std::string_view name) {
  std::vector<std::string> names;
  for (const ValidationWriter& writer : validation_writers()) {
    if (writer.name == name) {
      return writer;
    }
    names.emplace_back(writer.name);
  }
  throw InputError(fmt::format("unknown format \"{}\"; {}", name, suggest(name, names)));
}

}  // namespace stepcast::report
