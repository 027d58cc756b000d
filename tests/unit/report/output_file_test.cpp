#include "report/output_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "stepcast-output-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a file that is replaced keeps its mode, a new one has the usual") {
  const Folder folder;
  put(folder / "old", "before");
  REQUIRE(::chmod((folder / "old").c_str(), 0600) == 0);
  report::write_file(folder / "old", "after");
  CHECK(text_of(folder / "old") == "after");
  CHECK(mode_of(folder / "old") == 0600);
  const mode_t mask = ::umask(027);
  report::write_file(folder / "new", "text");
  ::umask(mask);
  CHECK(mode_of(folder / "new") == 0640);  // 0666 without 027
  CHECK(folder.names() == std::vector<std::string>{"new", "old"});
}

TEST_CASE("an output touches no other file and leaves nothing behind when it is given up") {
  const Folder folder;
  put(folder / "out.partial", "mine");
  put(folder / "out", "before");
  {
    report::OutputFile file(folder / "out");
    file.write("half");
    CHECK(text_of(folder / "out") == "before");
  }
  CHECK(text_of(folder / "out") == "before");
  CHECK(text_of(folder / "out.partial") == "mine");
  CHECK(folder.names() == std::vector<std::string>{"out", "out.partial"});
}

TEST_CASE("two writers of one folder do not meet") {
  const Folder folder;
  report::OutputFile first(folder / "a");
  report::OutputFile second(folder / "b");
  first.write("1");
  second.write("2");
  first.close();
  second.close();
  CHECK(text_of(folder / "a") == "1");
  CHECK(text_of(folder / "b") == "2");
}

TEST_CASE("symbolic links stay, whether their target exists or not") {
  const Folder folder;
  put(folder / "target", "before");
  fs::create_symlink("target", folder / "link");
  fs::create_symlink("later", folder / "dangling");
  report::write_file(folder / "link", "through");
  report::write_file(folder / "dangling", "created");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(text_of(folder / "target") == "through");
  CHECK(fs::is_symlink(folder / "dangling"));
  CHECK(text_of(folder / "later") == "created");
}

TEST_CASE("devices and pipes are written, not replaced") {
  report::write_file("/dev/null", "nothing");
  CHECK(fs::is_character_file("/dev/null"));
  const Folder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  report::require_writable(pipe);  // must not wait for a reader
  std::string read;
  std::thread reader([&] { read = text_of(pipe); });
  report::write_file(pipe, "through the pipe");
  reader.join();
  CHECK(read == "through the pipe");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("what cannot be written is said before the run, and leaves nothing") {
  const Folder folder;
  CHECK_THROWS_WITH(report::require_writable(folder / "no/such"),
                    (folder / "no/such") + ": cannot write: No such file or directory; choose another file");
  fs::create_directory(folder / "sub");
  CHECK_THROWS_WITH(report::require_writable(folder / "sub"),
                    (folder / "sub") + ": cannot write: it is a folder; choose another file");
  report::require_writable(folder / "fine");
  CHECK(folder.names() == std::vector<std::string>{"sub"});
}

TEST_CASE("a full device is an error of output, not of input") {
  CHECK_THROWS_AS(report::write_file("/dev/full", "text"), OutputError);
}
