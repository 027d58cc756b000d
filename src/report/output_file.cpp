#include "report/output_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"

namespace stepcast::report {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code missing;
  if (const auto target = std::filesystem::canonical(path_, missing); !missing) {
    path_ = target.string();  // through symbolic links, so that the link stays
  }
  // A device or pipe is written directly: renaming over it would destroy it.
  const bool special =
      std::filesystem::exists(path_, missing) && !std::filesystem::is_regular_file(path_, missing);
  partial_ = special ? path_ : path_ + ".partial";
  file_.reset(std::fopen(partial_.c_str(), "wb"));
  if (!file_) {
    throw InputError(fmt::format("{}: cannot write: {}; choose another file", path_,
                                 std::generic_category().message(errno)));
  }
}

OutputFile::~OutputFile() {
  if (file_) {
    file_.reset();
    if (partial_ != path_) {
      std::remove(partial_.c_str());
    }
  }
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    throw InputError(
        fmt::format("{}: cannot write: {}; free some space", path_, std::generic_category().message(errno)));
  }
}

void OutputFile::close() {
  std::FILE* file = file_.release();
  const bool written = std::fclose(file) == 0;
  const bool direct = partial_ == path_;
  if (!written || (!direct && std::rename(partial_.c_str(), path_.c_str()) != 0)) {
    const std::string reason = std::generic_category().message(errno);
    if (!direct) {
      std::remove(partial_.c_str());
    }
    throw InputError(fmt::format("{}: cannot write: {}; choose another file", path_, reason));
  }
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

}  // namespace stepcast::report
