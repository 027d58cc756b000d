#include "config/data_path.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::config;

TEST_CASE("what looks like a path is taken and shown as given") {
  CHECK(find_data("topologies", "dir/x").path == "dir/x");
  CHECK(find_data("topologies", "x.json").shown == "x.json");
}

TEST_CASE("every shipped cluster and job is found by its name, without a host path shown") {
  const std::string folder = GENERATE("topologies", "workloads");
  const auto names = shipped_names(folder);
  CHECK_FALSE(names.empty());
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const DataFile file = find_data(folder, name);
    CHECK(file.shown == folder + "/" + name + ".json");
    CHECK(std::filesystem::is_regular_file(file.path));
  }
}

TEST_CASE("an unknown name is refused with the nearest shipped one") {
  const auto names = shipped_names("topologies");
  REQUIRE_FALSE(names.empty());
  const std::string typo = names.front() + "z";
  CHECK_THROWS_WITH(find_data("topologies", typo),
                    "unknown cluster \"" + typo + "\"; did you mean \"" + names.front() + "\"?");
  CHECK_THROWS_AS(find_data("workloads", "no such job at all"), InputError);
}
