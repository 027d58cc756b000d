#include "support/catch.hpp"
#include "unit/config/messages.hpp"

using namespace stepcast;
using namespace stepcast::config;

namespace {

/// Reads and drops a value: only the errors count.
template <class T>
void drop(const T& /*value*/) {}

}  // namespace

TEST_CASE("right values are read") {
  Diagnostics diagnostics;
  const Document document = Document::parse(
      R"({"whole": 3, "exponent": 1e3, "point": 5.0, "real": 0.25, "yes": true, "name": "ring", "type": "bf16",
          "bytes": "80 GiB", "rate": "400 Gb/s", "time": "1.9 us", "flops": "312 TFLOP/s", "none": null})",
      "c.json", diagnostics);
  const Node root = document.root();
  root.allow_only({"whole", "exponent", "point", "real", "yes", "name", "type", "bytes", "rate", "time",
                   "flops", "none"});
  CHECK(root.require("whole").integer(0, 3) == 3);
  CHECK(root.require("exponent").integer(1000, 1000) == 1000);
  CHECK(root.require("point").integer(0, 10) == 5);
  CHECK(root.require("real").number(0, 1) == 0.25);
  CHECK(root.require("whole").number(0, 3) == 3.0);
  CHECK(root.require("yes").boolean());
  CHECK(root.require("name").one_of({"tree", "ring"}) == 1);
  CHECK(root.require("type").dtype() == DataType::kBf16);
  CHECK(root.require("bytes").bytes() == Bytes(std::int64_t{80} << 30));
  CHECK(root.require("rate").bandwidth() == Bandwidth::from_bits_per_second(400'000'000'000));
  CHECK(root.require("time").duration() == Duration::from_ps(1'900'000));
  CHECK(root.require("flops").flop_rate() == FlopRate::from_flops_per_second(3.12e14));
  CHECK(root.require("none").is_null());
  CHECK(root.members().front().first == "whole");
  CHECK(diagnostics.empty());
}

TEST_CASE("unknown keys are refused at the key with a suggestion, $schema and comment are not") {
  const auto read = [](const Node& root) { root.allow_only({"hosts", "fabric"}); };
  CHECK(root_errors("{\"$schema\": 1, \"comment\": 2,\n  \"hostz\": 3}", read) ==
        "c.json:2:3: /hostz: unknown key \"hostz\"; did you mean \"hosts\"?");
  CHECK(root_errors("{\"something else\": 3}", read) ==
        "c.json:1:2: /something else: unknown key \"something else\"; known: hosts, fabric");
}

TEST_CASE("a missing key is an error at the object") {
  CHECK(root_errors("{\n \"a\": {}}", [](const Node& root) {
          CHECK_FALSE(root.get("a").require("hosts").present());
        }) == "c.json:2:7: /a: missing key \"hosts\"; add \"hosts\": ...");
}

TEST_CASE("an absent value answers with its fallback and records nothing") {
  CHECK(root_errors("{}", [](const Node& root) {
          const Node absent = root.get("x");
          CHECK_FALSE(absent.present());
          CHECK(absent.integer(5, 9) == 5);
          CHECK(absent.integer(-3, 9) == 1);
          CHECK(absent.number(0, 0.5) == 0.5);
          CHECK(absent.bandwidth() == Bandwidth::from_bits_per_second(1'000'000'000));
          CHECK(absent.bytes() == Bytes(1));
          CHECK(absent.duration() == Duration());
          CHECK(absent.text().empty());
          CHECK(absent.items().empty());
          CHECK(absent.require("y").get("z").members().empty());
          CHECK(absent.one_of({"a"}) == 0);
          CHECK(absent.source().text.empty());
        }).empty());
}

TEST_CASE("a wrong type is said with what was found") {
  const auto message = [](const std::string& value, const std::function<void(const Node&)>& read) {
    return root_errors("{\"v\": " + value + "}", [&](const Node& root) { read(root.get("v")); });
  };
  CHECK(message("5", [](const Node& v) { drop(v.text()); }) ==
        "c.json:1:7: /v: expected text, found the number 5; write it in double quotes");
  CHECK(message("1.5", [](const Node& v) { drop(v.boolean()); }) ==
        "c.json:1:7: /v: expected true or false, found the number 1.5; write true or false without quotes");
  CHECK(message("\"8\"", [](const Node& v) { drop(v.integer(1, 8)); }) ==
        "c.json:1:7: /v: expected a whole number, found text \"8\"; write a whole number from 1 to 8");
  CHECK(message("null", [](const Node& v) { drop(v.number(0, 1)); }) ==
        "c.json:1:7: /v: expected a number, found null; write a number from 0 to 1");
  CHECK(message("false", [](const Node& v) { drop(v.items()); }) ==
        "c.json:1:7: /v: expected an array, found false; write [value, ...]");
  CHECK(message("[]", [](const Node& v) {
          drop(v.require("a"));  // one mistake, one message, whatever is asked of it
          drop(v.get("b"));
          v.allow_only({"c"});
          drop(v.members());
        }) == "c.json:1:7: /v: expected an object, found an array; write {\"key\": value, ...}");
  CHECK(message("[]", [](const Node& v) { drop(v.duration()); }) ==
        "c.json:1:7: /v: expected text, found an array; write it in double quotes");
}

TEST_CASE("numbers outside their range, or not whole, are refused") {
  const auto message = [](const std::string& value, const std::function<void(const Node&)>& read) {
    return root_errors(value, read);
  };
  CHECK(message("9", [](const Node& v) { CHECK(v.integer(2, 8) == 2); }) ==
        "c.json:1:1: /: 9 is out of range; write a whole number from 2 to 8");
  CHECK(message("-1", [](const Node& v) { drop(v.integer(0, INT64_MAX)); }) ==
        "c.json:1:1: /: -1 is out of range; write a whole number of at least 0");
  CHECK(message("2.5", [](const Node& v) { drop(v.integer(0, 8)); }) ==
        "c.json:1:1: /: the number 2.5 is not whole or does not fit; write a whole number from 0 to 8");
  CHECK(message("1e19", [](const Node& v) { drop(v.integer(0, 8)); }) ==
        "c.json:1:1: /: the number 1e+19 is not whole or does not fit; write a whole number from 0 to 8");
  CHECK(message("1.5", [](const Node& v) { drop(v.number(0, 1)); }) ==
        "c.json:1:1: /: 1.5 is out of range; write a number from 0 to 1");
}

TEST_CASE("a bare number where a unit is due is refused with an example") {
  CHECK(root_errors("[1, 2, 3, 4]",
                    [](const Node& root) {
                      const auto items = root.items();
                      drop(items[0].bandwidth());
                      drop(items[1].bytes());
                      drop(items[2].duration());
                      drop(items[3].flop_rate());
                    }) ==
        "c.json:1:2: /0: needs a unit; write for example \"400 Gb/s\" or \"50 GB/s\"\n"
        "c.json:1:5: /1: needs a unit; write for example \"80 GiB\" or \"80 GB\"\n"
        "c.json:1:8: /2: needs a unit; write for example \"1.9 us\" or \"500 ns\"\n"
        "c.json:1:11: /3: needs a unit; write for example \"312 TFLOP/s\" or \"1.5 PFLOP/s\"");
}

TEST_CASE("a quantity carries its source") {
  Diagnostics diagnostics;
  const Document document = Document::parse(
      R"({"rate": {"value": "50 GB/s", "source": "datasheet, page 3", "kind": "nameplate"},
          "share": {"value": 0.8, "source": "probe", "kind": "measured", "comment": "warm"}, "plain": "1 us"})",
      "c.json", diagnostics);
  const Node root = document.root();
  CHECK(root.get("rate").bandwidth() == Bandwidth::from_bits_per_second(400'000'000'000));
  CHECK(root.get("rate").source().text == "datasheet, page 3");
  CHECK(root.get("rate").source().evidence == Evidence::kNameplate);
  CHECK(root.get("share").factor(0, 1) == 0.8);
  CHECK(root.get("share").source().evidence == Evidence::kMeasured);
  CHECK(root.get("plain").source().text.empty());
  CHECK(root.get("plain").source().evidence == Evidence::kAssumed);
  CHECK(diagnostics.empty());
}

TEST_CASE("a quantity's object must be complete and hold nothing else") {
  CHECK(root_errors("{\"v\": {\n\"value\": \"50 GB/s\",\n\"sorce\": \"x\",\n\"kind\": \"mesured\"}}",
                    [](const Node& root) { drop(root.get("v").bandwidth()); }) ==
        "c.json:3:1: /v/sorce: unknown key \"sorce\"; did you mean \"source\"?\n"
        "c.json:4:9: /v/kind: unknown value \"mesured\"; did you mean \"measured\"?");
  CHECK(root_errors(R"({"value": 5, "source": "", "kind": "quoted"})",
                    [](const Node& root) { drop(root.duration()); }) ==
        "c.json:1:11: /value: needs a unit; write for example \"1.9 us\" or \"500 ns\"\n"
        "c.json:1:24: /source: the source is empty; say where the number comes from");
}

TEST_CASE("unknown names are refused with a suggestion") {
  CHECK(root_errors("[\"rnig\", \"bf-16\"]",
                    [](const Node& root) {
                      CHECK(root.items()[0].one_of({"tree", "ring"}) == 0);
                      drop(root.items()[1].dtype());
                    }) ==
        "c.json:1:2: /0: unknown value \"rnig\"; did you mean \"ring\"?\n"
        "c.json:1:10: /1: unknown data type \"bf-16\"; did you mean \"bf16\"?");
}

TEST_CASE("a reader's own check is recorded at the value") {
  CHECK(root_errors("{\"a\": 3}", [](const Node& root) {
          root.get("a").error("3 is odd", "write 2 or 4");
        }) == "c.json:1:7: /a: 3 is odd; write 2 or 4");
}

TEST_CASE("asking a node of no document for its diagnostics is a defect") {
  CHECK_THROWS_AS(Node().diagnostics(), InternalError);
}
