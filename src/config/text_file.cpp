#include "config/text_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"

namespace stepcast::config {
namespace {

[[noreturn]] void refuse_file(const std::string& name, std::string_view reason) {
  throw InputError(fmt::format("{}: cannot be read ({}); check the path", name, reason));
}

}  // namespace

std::string read_text_file(const std::string& path, const std::string& name, std::size_t longest) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    refuse_file(name, "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    refuse_file(name, "it is a folder");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse_file(name, std::generic_category().message(errno));
  }
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (file && text.size() <= longest) {  // one byte too many is enough to refuse it
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) {
    refuse_file(name, "reading failed");
  }
  return text;
}

}  // namespace stepcast::config
