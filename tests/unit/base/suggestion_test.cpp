#include "base/suggestion.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace stepcast;

namespace {
const std::vector<std::string> kNames = {"hosts", "fabric", "faults", "storage"};
}

TEST_CASE("the nearest name is found by edit distance") {
  CHECK(nearest("hostz", kNames) == "hosts");     // one letter replaced
  CHECK(nearest("fabrik", kNames) == "fabric");   // one letter replaced
  CHECK(nearest("storge", kNames) == "storage");  // one letter missing
  CHECK(nearest("faultss", kNames) == "faults");  // one letter too many
  CHECK(nearest("hosts", kNames) == "hosts");
}

TEST_CASE("of two equally near names the first is taken") {
  const std::vector<std::string> pair = {"ab1", "ab2"};
  CHECK(nearest("ab3", pair) == "ab1");
}

TEST_CASE("nothing is near to a word of other letters, nor to a long one") {
  CHECK(nearest("bandwidth", kNames).empty());
  CHECK(nearest(std::string(1'000'000, 'h'), kNames).empty());
  CHECK(nearest("hosts", std::vector<std::string>{}).empty());
}

TEST_CASE("a suggestion is one name, else the known ones, at most twelve") {
  CHECK(suggest("hostz", kNames) == "did you mean \"hosts\"?");
  CHECK(suggest("bandwidth", kNames) == "known: hosts, fabric, faults, storage");
  const std::vector<std::string> many(13, "long_name");
  CHECK(suggest("x", many) ==
        "known: long_name, long_name, long_name, long_name, long_name, long_name, long_name, long_name, "
        "long_name, long_name, long_name, long_name, ...");
}
