#include "report/output_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace stepcast::report {
namespace {

namespace fs = std::filesystem;

std::string reason() {
  return std::generic_category().message(errno);
}

[[noreturn]] void refuse(const std::string& shown, std::string_view why) {
  throw InputError(fmt::format("{}: cannot write: {}; choose another file", shown, why));
}

/// Follows symbolic links, also to a file that does not exist yet, so that the link stays.
std::string without_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    // Links of /proc to open files ("pipe:[123]") name nothing: they are opened as they are.
    if (error || (fs::exists(target, error) && !fs::exists(target.parent_path() / next, error))) {
      break;
    }
    target = target.parent_path() / next;
  }
  return target.string();
}

enum class Kind { kAbsent, kFile, kSpecial };

/// What is at the path now; a folder or a file without permission is refused.
Kind kind_of(const std::string& path, const std::string& shown, mode_t& mode) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT || path.empty()) {
      refuse(shown, reason());
    }
    return Kind::kAbsent;
  }
  if (S_ISDIR(status.st_mode)) {
    refuse(shown, "it is a folder");
  }
  // Renaming needs no permission on the file itself, but replacing what is protected would surprise.
  if (::access(path.c_str(), W_OK) != 0) {
    refuse(shown, reason());
  }
  mode = status.st_mode & 07777U;
  return S_ISREG(status.st_mode) ? Kind::kFile : Kind::kSpecial;
}

/// Creates a file of a new name beside `path`; returns its descriptor, -1 with errno when impossible.
int create_beside(const std::string& path, std::string& name) {
  constexpr int kTries = 1000;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  for (int i = 0; i < kTries; ++i) {
    name = fmt::format("{}.stepcast-{}-{}.tmp", folder, ::getpid(), i);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) {
      return file;
    }
  }
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string path) : shown_(std::move(path)), path_(without_links(shown_)) {
  mode_t mode = 0;
  const Kind kind = kind_of(path_, shown_, mode);
  if (kind == Kind::kSpecial) {
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (!file_) {
      refuse(shown_, reason());
    }
    return;
  }
  std::string name;
  const int descriptor = create_beside(path_, name);
  if (descriptor < 0) {
    refuse(shown_, reason());
  }
  temporary_ = name;
  file_.reset(::fdopen(descriptor, "wb"));
  if (!file_ || (kind == Kind::kFile && ::fchmod(descriptor, mode) != 0)) {
    const std::string why = reason();
    if (!file_) {
      ::close(descriptor);
    }
    std::remove(temporary_.c_str());  // no destructor runs for an object that was not made
    refuse(shown_, why);
  }
}

OutputFile::~OutputFile() {
  if (file_) {
    file_.reset();
    if (!temporary_.empty()) {
      std::remove(temporary_.c_str());
    }
  }
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    throw OutputError(
        fmt::format("{}: cannot write: {}; free some space, or choose another file", shown_, reason()));
  }
}

void OutputFile::close() {
  const bool written = std::fclose(file_.release()) == 0;
  if (!written || (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    const std::string why = reason();
    if (!temporary_.empty()) {
      std::remove(temporary_.c_str());
    }
    throw OutputError(
        fmt::format("{}: cannot write: {}; free some space, or choose another file", shown_, why));
  }
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

void require_writable(const std::string& path) {
  mode_t mode = 0;
  const std::string target = without_links(path);
  if (kind_of(target, path, mode) == Kind::kSpecial) {
    return;
  }
  const OutputFile probe(path);
}

}  // namespace stepcast::report
