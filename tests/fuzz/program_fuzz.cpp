// Does a hostile program file end in an InputError? What is accepted must be written and read back to
// the same text. What else is thrown is a crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "program/native_format.hpp"

namespace {

using namespace stepcast;

program::Programs read(std::string_view text) {
  config::Diagnostics diagnostics;
  return program::read_programs(config::Document::parse(text, "fuzz.json", diagnostics), diagnostics);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  program::Programs programs;
  try {
    programs = read(std::string_view(reinterpret_cast<const char*>(bytes), size));
  } catch (const InputError&) {
    return 0;
  }
  const std::string written = program::write_programs(programs);
  if (program::write_programs(read(written)) != written) {
    std::abort();
  }
  return 0;
}
