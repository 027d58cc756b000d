#include "config/option.hpp"

#include <array>

#include "support/catch.hpp"
#include "unit/config/messages.hpp"

using namespace stepcast;
using namespace stepcast::config;

namespace {

constexpr std::array kTable = {
    Option{"nodes", OptionType::kInteger, "", "", 1, 64, "how many", ""},
    Option{"share", OptionType::kNumber, "", "0.5", 0, 1, "", ""},
    Option{"wrap", OptionType::kBoolean, "", "true", 0, 0, "", ""},
    Option{"buffer", OptionType::kBytes, "B", "4 MiB", 1, 1e9, "", ""},
    Option{"bandwidth", OptionType::kBandwidth, "b/s", "400 Gb/s", 1e6, 1e15, "", ""},
    Option{"latency", OptionType::kDuration, "s", "500 ns", 0, 1e-3, "", ""},
    Option{"order", OptionType::kText, "", "packed", 0, 0, "", ""},
    Option{"seed", OptionType::kInteger, "", "-7", 0, 0, "no range", ""},
};

const auto kOptional = std::span<const Option>(kTable).subspan(1);  // all with a default

std::string option_errors(std::string_view text) {
  return root_errors(text, [](const Node& root) { OptionValues(root, kTable, {"kind"}); });
}

}  // namespace

TEST_CASE("options hold what the file gives and else their defaults") {
  Diagnostics diagnostics;
  const Document document = Document::parse(
      R"({"kind": "mesh", "nodes": 8, "wrap": false, "latency": {"value": "1 us", "source": "x", "kind": "fitted"}})",
      "c.json", diagnostics);
  const OptionValues options(document.root(), kTable, {"kind"});
  CHECK(options.integer("nodes") == 8);
  CHECK(options.given("nodes"));
  CHECK_FALSE(options.boolean("wrap"));
  CHECK(options.duration("latency") == Duration::from_ps(1'000'000));
  CHECK(options.number("share") == 0.5);
  CHECK_FALSE(options.given("share"));
  CHECK(options.bytes("buffer") == Bytes(4'194'304));  // 4 * 2^20
  CHECK(options.bandwidth("bandwidth") == Bandwidth::from_bits_per_second(400'000'000'000));
  CHECK(options.text("order") == "packed");
  CHECK(options.integer("seed") == -7);
  CHECK(diagnostics.empty());
}

TEST_CASE("an unknown option is refused with a suggestion, and a missing one is named") {
  CHECK(option_errors(R"({"kind": "mesh", "node": 8})") ==
        "c.json:1:18: /node: unknown key \"node\"; did you mean \"nodes\"?");
  CHECK(option_errors(R"({"kind": "mesh"})") == "c.json:1:1: /: missing key \"nodes\"; add \"nodes\": ...");
}

TEST_CASE("options out of range are refused with their range") {
  CHECK(option_errors("{\"nodes\": 65,\n\"share\": -0.5,\n\"buffer\": \"2 GB\",\n\"bandwidth\": \"1 kb/s\",\n"
                      "\"latency\": \"2 ms\"}") ==
        "c.json:1:11: /nodes: 65 is out of range; write a whole number from 1 to 64\n"
        "c.json:2:10: /share: -0.5 is out of range; write a number from 0 to 1\n"
        "c.json:3:11: /buffer: \"2 GB\" is out of range; write 1 to 1000000000 B\n"
        "c.json:4:14: /bandwidth: \"1 kb/s\" is out of range; write 1000000 to 1000000000000000 b/s\n"
        "c.json:5:12: /latency: \"2 ms\" is out of range; write 0 to 0.001 s");
}

TEST_CASE("options of the wrong type are refused") {
  CHECK(option_errors("{\"nodes\": \"8\", \"wrap\": 1, \"order\": 2, \"latency\": 3}") ==
        "c.json:1:11: /nodes: expected a whole number, found text \"8\"; write a whole number from 1 to 64\n"
        "c.json:1:24: /wrap: expected true or false, found the number 1; write true or false without quotes\n"
        "c.json:1:36: /order: expected text, found the number 2; write it in double quotes\n"
        "c.json:1:50: /latency: needs a unit; write for example \"1.9 us\" or \"500 ns\"");
  CHECK(option_errors("[1]") ==
        "c.json:1:1: /: expected an object, found an array; write {\"key\": value, ...}");
}

TEST_CASE("options may be left out as a whole when none is required") {
  const OptionValues options(Node(), kOptional);
  CHECK(options.text("order") == "packed");
  CHECK(root_errors("{}", [](const Node& root) { OptionValues(root.get("options"), kTable); }) ==
        "missing option \"nodes\"; add \"nodes\": ...");
}

TEST_CASE("asking for an option that the table does not hold is a defect, as is a bad default") {
  const OptionValues options(Node(), kOptional);
  CHECK_THROWS_AS(options.integer("node"), InternalError);
  CHECK_THROWS_AS(options.number("seed"), InternalError);
  constexpr std::array kBad = {Option{"rate", OptionType::kBandwidth, "", "400", 0, 0, "", ""}};
  CHECK_THROWS_AS(OptionValues(Node(), kBad), InternalError);
}
