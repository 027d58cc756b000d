#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/writer.hpp"

namespace stepcast::report {

#define STEPCAST_RESULT_WRITER(name) ResultWriter name##_writer();
#include "report/result_writers.def"
#undef STEPCAST_RESULT_WRITER

namespace {

// A repeated line redeclares an enumerator.
enum class Listed : std::uint8_t {
#define STEPCAST_RESULT_WRITER(name) name,
#include "report/result_writers.def"
#undef STEPCAST_RESULT_WRITER
  kCount
};

}  // namespace

std::span<const ResultWriter> result_writers() {
  static const std::array<ResultWriter, static_cast<std::size_t>(Listed::kCount)> writers{
#define STEPCAST_RESULT_WRITER(name) name##_writer(),
#include "report/result_writers.def"
#undef STEPCAST_RESULT_WRITER
  };
  return writers;
}

const ResultWriter& find_result_writer(std::string_view name) {
  std::vector<std::string> names;
  for (const ResultWriter& writer : result_writers()) {
    if (writer.name == name) {
      return writer;
    }
    names.emplace_back(writer.name);
  }
  throw InputError(fmt::format("unknown format \"{}\"; {}", name, suggest(name, names)));
}

}  // namespace stepcast::report
