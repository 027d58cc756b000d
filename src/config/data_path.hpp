#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast::config {

/// Folder that holds the shipped `topologies/`, `workloads/` and `validation/`: the one set when built
/// or, when that is gone, the nearest that holds `topologies/` among the executable's folder and the two
/// above it. Throws InputError when there is none.
[[nodiscard]] std::string data_root();

/// A file to read and the name that messages and results show for it (no host paths for shipped data).
struct DataFile {
  std::string path;
  std::string shown;
};

/// Resolves a name of shipped data ("dgx-a100-64") or a path. `folder` is "topologies" or
/// "workloads". A path is what holds a '/', ends in ".json" or is a file; it is shown as given and need
/// not exist. A name that is neither is an InputError with a suggestion from the shipped names.
[[nodiscard]] DataFile find_data(std::string_view folder, std::string_view name_or_path);

/// Names of the shipped files of a folder (without .json), sorted.
[[nodiscard]] std::vector<std::string> shipped_names(std::string_view folder);

}  // namespace stepcast::config
