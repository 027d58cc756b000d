#include "base/check.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;

TEST_CASE("a check that holds does nothing") {
  CHECK_NOTHROW([] { STEPCAST_CHECK(1 + 1 == 2, "sum"); }());
}

TEST_CASE("a check that fails names the condition and the values") {
  try {
    STEPCAST_CHECK(1 > 2, "at {} ps", 7);
    FAIL("not thrown");
  } catch (const InternalError& error) {
    const std::string text = error.what();
    CHECK(text.find(": check failed: 1 > 2: at 7 ps") != std::string::npos);
  }
}

TEST_CASE("a failed check shows the place below src/ only") {
  CHECK_THROWS_WITH(check_failed("/somewhere/src/base/x.cpp", 12, "a == b", "text"),
                    "src/base/x.cpp:12: check failed: a == b: text");
}
