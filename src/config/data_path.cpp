#include "config/data_path.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "config/quote.hpp"

namespace stepcast::config {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code ignored;  // not a folder, for whatever reason
  return fs::is_directory(folder / "topologies", ignored);
}

}  // namespace

std::string data_root() {
  if (const fs::path built = STEPCAST_DATA_ROOT; holds_data(built)) {
    return built.string();
  }
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error);
  constexpr int kFolders = 3;
  for (int i = 0; i < kFolders && !error; ++i) {
    folder = folder.parent_path();
    if (holds_data(folder)) {
      return folder.string();
    }
  }
  throw InputError(
      "the folder of shipped clusters and jobs (topologies/, workloads/) is gone; "
      "put the executable back into its source tree, or give files by path");
}

std::vector<std::string> shipped_names(std::string_view folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(fs::path(data_root()) / folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".json" && at->is_regular_file(error)) {
      names.push_back(at->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

DataFile find_data(std::string_view folder, std::string_view name_or_path) {
  const std::string given(name_or_path);
  std::error_code ignored;  // no such file, for whatever reason
  if (given.find('/') != std::string::npos || given.ends_with(".json") ||
      fs::is_regular_file(given, ignored)) {
    return {given, given};
  }
  const std::vector<std::string> names = shipped_names(folder);
  if (std::find(names.begin(), names.end(), given) == names.end()) {
    throw InputError(fmt::format("unknown {} {}; {}",
                                 folder == "topologies"  ? "cluster"
                                 : folder == "workloads" ? "job"
                                                         : "suite",
                                 in_quotes(given),
                                 names.empty() ? "none is shipped, give a path" : suggest(given, names)));
  }
  const std::string shown = fmt::format("{}/{}.json", folder, given);
  return {(fs::path(data_root()) / shown).string(), shown};
}

}  // namespace stepcast::config
