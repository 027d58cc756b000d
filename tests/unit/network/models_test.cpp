#include "base/error.hpp"
#include "network/model.hpp"
#include "support/catch.hpp"

using namespace stepcast;

TEST_CASE("every listed fidelity is either accepted or refused as not existing yet") {
  for (const network::ModelEntry& entry : network::models()) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.summary.empty());
    if (entry.available) {
      CHECK_NOTHROW(network::require_available(entry.name));
    } else {
      CHECK_THROWS_AS(network::require_available(entry.name), UnsupportedError);
    }
  }
  CHECK_NOTHROW(network::require_available("flow"));
}

TEST_CASE("a fidelity that does not exist yet is refused with one that does") {
  CHECK_THROWS_WITH(network::require_available("packet"),
                    "fidelity \"packet\" does not exist yet; use --fidelity flow");
}

TEST_CASE("an unknown fidelity is answered with the nearest known one") {
  CHECK_THROWS_AS(network::require_available("flwo"), InputError);
  CHECK_THROWS_WITH(network::require_available("flwo"),
                    "--fidelity: unknown fidelity \"flwo\"; did you mean \"flow\"?");
}
