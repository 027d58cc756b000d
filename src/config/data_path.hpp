#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast::config {

/// Folder that holds the shipped `topologies/`, `workloads/` and `validation/` (set when built, or
/// two levels above the executable when that one is gone). Throws InputError when neither exists.
[[nodiscard]] std::string data_root();

/// A file to read and the name that messages and results show for it (no host paths for shipped data).
struct DataFile {
  std::string path;
  std::string shown;
};

/// Resolves a name of shipped data ("dgx-a100-64") or a path. `folder` is "topologies" or
/// "workloads". A name that is neither is an InputError with a suggestion from the shipped names.
[[nodiscard]] DataFile find_data(std::string_view folder, std::string_view name_or_path);

/// Names of the shipped files of a folder (without .json), sorted.
[[nodiscard]] std::vector<std::string> shipped_names(std::string_view folder);

}  // namespace stepcast::config
