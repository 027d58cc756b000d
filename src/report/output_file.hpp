#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace stepcast::report {

/// A file that appears whole or not at all: written under a name of its own in the same folder (created
/// exclusively, no file of the user's is touched), renamed by close(). It is removed when close() was not
/// reached. A file that is replaced keeps its mode; symbolic links are followed, the link stays. Devices and
/// pipes are written directly.
class OutputFile {
 public:
  /// Throws InputError when the path cannot be written: no such folder, no permission, a folder.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Both throw OutputError when the bytes cannot be kept (no space left).
  void write(std::string_view text);
  void close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string shown_;      ///< as the user gave it
  std::string path_;       ///< without symbolic links
  std::string temporary_;  ///< empty: written directly
  std::unique_ptr<std::FILE, Closer> file_;
};

/// Writes a whole text to a file by OutputFile.
void write_file(const std::string& path, std::string_view text);

/// Throws the InputError that OutputFile would throw, leaving no trace: a run of an hour should not end with
/// it. Opens no device or pipe (a pipe's reader would see its end).
void require_writable(const std::string& path);

}  // namespace stepcast::report
