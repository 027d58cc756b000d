#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace stepcast::report {

/// A file that appears whole or not at all: written as PATH.partial, renamed by close(). The partial
/// file is removed when close() was not reached. Throws InputError when writing is not possible.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view text);
  void close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::string partial_;
  std::unique_ptr<std::FILE, Closer> file_;
};

/// Writes a whole text to a file by OutputFile.
void write_file(const std::string& path, std::string_view text);

}  // namespace stepcast::report
