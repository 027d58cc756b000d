#include <cstdio>
#include <fstream>

#include "support/catch.hpp"
#include "unit/config/messages.hpp"

using namespace stepcast;
using namespace stepcast::config;

namespace {

std::string at(const Node& node) {
  const Place place = node.place();
  return std::to_string(place.line) + ":" + std::to_string(place.column) + " " + place.pointer;
}

Document parse(std::string_view text, Diagnostics& diagnostics) {
  return Document::parse(text, "c.json", diagnostics);
}

}  // namespace

TEST_CASE("every value knows the line and column of its first character") {
  // Columns counted by hand below; the two comments and the number's end are what could shift them.
  Diagnostics diagnostics;
  const Document document = parse(
      "{\"number\": -12.5e3,\n"               // value at column 12
      "  // a , : comment\n"                  //
      "  \"text\" /* : */ :\t\"a\\\"b\",\n"   // ..."text"... key 3-8, comment 10-16, colon 18, tab 19, value
                                              // 20
      "  \"array\": [1, [ 22,\n"              // [ at 12, 1 at 13, inner [ at 16, 22 at 18
      "333]],\r\n"                            // 333 at 1
      "\"object\":{\"x\":null,\"y\":true}}",  // { at 10, null at 15, true at 24
      diagnostics);
  const Node root = document.root();
  CHECK(at(root) == "1:1 /");
  CHECK(at(root.get("number")) == "1:12 /number");
  CHECK(at(root.get("text")) == "3:20 /text");
  CHECK(root.get("text").text() == "a\"b");
  const auto items = root.get("array").items();
  REQUIRE(items.size() == 2);
  CHECK(at(root.get("array")) == "4:12 /array");
  CHECK(at(items[0]) == "4:13 /array/0");
  CHECK(at(items[1]) == "4:16 /array/1");
  CHECK(at(items[1].items()[0]) == "4:18 /array/1/0");
  CHECK(at(items[1].items()[1]) == "5:1 /array/1/1");
  CHECK(at(root.get("object")) == "6:10 /object");
  CHECK(at(root.get("object").get("x")) == "6:15 /object/x");
  CHECK(at(root.get("object").get("y")) == "6:24 /object/y");
  CHECK(diagnostics.empty());
}

TEST_CASE("columns count characters, and a byte order mark is none") {
  // Characters: { 1, " 2, k 3, é 4 (two bytes), " 5, : 6, blank 7, value 8.
  Diagnostics diagnostics;
  const Document document = parse("\xEF\xBB\xBF{\"k\xC3\xA9\": 1}", diagnostics);
  CHECK(at(document.root().get("k\xC3\xA9")) == "1:8 /k\xC3\xA9");
}

TEST_CASE("a number at the very end has its place") {
  Diagnostics diagnostics;
  CHECK(at(parse(" 42", diagnostics).root()) == "1:2 /");
}

TEST_CASE("keys with / and ~ are escaped in pointers") {
  Diagnostics diagnostics;
  CHECK(parse(R"({"a/b~c": 1})", diagnostics).root().get("a/b~c").place().pointer == "/a~1b~0c");
}

TEST_CASE("text that is not JSON is refused with its place and the way out") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"", "c.json:1:1: /: empty file; write a JSON object"},
      {"\n // nothing\n", "c.json:1:1: /: the file holds only blanks and comments; write a JSON object"},
      {"{\n\"hosts\": {\n\"count\": 1,\n",
       "c.json:4:1: /hosts: the text ends inside an object that began at line 2; close it with }"},
      {"{\"a\":", "c.json:1:6: /a: the text ends inside an object that began at line 1; close it with }"},
      {"[1, 2", "c.json:1:6: /: the text ends inside an array that began at line 1; close it with ]"},
      {"[1,\n]", "c.json:2:1: /: unexpected \"]\" after a comma; remove the comma before it"},
      {"{\"a\": 1,}", "c.json:1:9: /: unexpected \"}\" after a comma; remove the comma before it"},
      {"{\"a\" 1}", "c.json:1:6: /a: unexpected \"1\" after a key; write \"key\": value"},
      {"{\"a\": }",
       "c.json:1:7: /a: unexpected \"}\" where a value is due; write a value, or remove what stands before "
       "it"},
      {"{\"a\": 1 \"b\": 2}",
       "c.json:1:9: /: unexpected \"\"\" in an object that began at line 1; "
       "write , before the next key or } at the end"},
      {"[1\n2]",
       "c.json:2:1: /: unexpected \"2\" in an array that began at line 1; "
       "write , before the next value or ] at the end"},
      {"{a: 1}",
       "c.json:1:2: /: unexpected \"a\" where a key is due; write \"key\": value, the key in double quotes"},
      {"{\"rate\": 400Gb/s}",
       "c.json:1:13: /: unexpected \"Gb\" in an object that began at line 1; "
       "write , before the next key or } at the end"},
      {"[packed]",
       "c.json:1:2: /0: unexpected \"packed\" where a value is due; "
       "write a number, true, false, null, \"text\", [...] or {...}"},
      {"[1, NaN]", "c.json:1:5: /1: JSON has no NaN; write a finite number, or leave the key out"},
      {"{\"a\": -Infinity}",
       "c.json:1:7: /a: JSON has no -Infinity; write a finite number, or leave the key out"},
      {"[True]", "c.json:1:2: /0: unknown word \"True\"; write true, false or null"},
      {"[007]", "c.json:1:2: /: a number with a leading zero; remove the zero"},
      {"[.5]",
       "c.json:1:2: /0: malformed number \".5\"; "
       "write digits, as in 12, -0.5 or 1e9; a value with a unit stands in double quotes"},
      {"[1e400]", "c.json:1:2: /0: the number 1e400 does not fit; write a number below 1.8e308"},
      {"[1e-400]", "c.json:1:2: /0: the number 1e-400 does not fit; write 0 or a number above 1e-307"},
      {"{} {}",
       "c.json:1:4: /: unexpected \"{\" after the end of the document; remove it; a file holds one JSON "
       "value"},
      {"[\"abc]\n",
       "c.json:1:2: /0: the text value has no closing quote on its line; "
       "close it with \", or write a line break as \\n"},
      {"[\"abc", "c.json:1:2: /0: the text value has no closing quote; close it with \""},
      {"[\"a\\qb\"]", "c.json:1:4: /0: unknown escape \\q; write \\\\ for a backslash"},
      {"[\"a\tb\"]", "c.json:1:4: /0: control character 0x09 in a text value; write \\u0009"},
      {"[\"\xFF\"]",
       "c.json:1:2: /0: the text value is not valid UTF-8, or has a bad \\u escape; "
       "save the file as UTF-8; write \\u with four hexadecimal digits"},
      {"[1] /* x", "c.json:1:5: /: the comment is never closed; close it with */"},
  }));
  CAPTURE(text);
  CHECK(errors(text) == message);
}

TEST_CASE("a zero byte is refused where it stands") {
  CHECK(errors(std::string_view("{}\n\0", 4)) ==
        "c.json:2:1: /: the text holds a zero byte; save the file as UTF-8 text");
}

TEST_CASE("a million digits are answered with a short message") {
  const std::string digits(1'000'000, '1');
  const std::string forty(40, '1');
  CHECK(errors("[" + digits + "]") ==
        "c.json:1:2: /0: the number " + forty + "... does not fit; write a number below 1.8e308");
  CHECK(errors("[0." + digits + "]") == "c.json:1:2: /0: the number 0." + std::string(38, '1') +
                                            "... does not fit; write at most 400 digits");
  CHECK(errors("[\"" + digits + "\"]",
               [](Document& document) { static_cast<void>(document.root().items()[0].bandwidth()); }) ==
        "c.json:1:2: /0: \"" + forty + "...\" needs a unit; write for example \"400 Gb/s\" or \"50 GB/s\"");
}

TEST_CASE("nesting is allowed to 200 and no deeper") {
  CHECK(errors(std::string(200, '[') + std::string(200, ']')).empty());
  const std::string message = errors(std::string(201, '[') + std::string(201, ']'));
  CHECK(message.starts_with("c.json:1:201: /0/0/"));
  CHECK(message.ends_with(": nesting deeper than 200; flatten the structure"));
}

TEST_CASE("a text over 64 MiB is refused at sight") {
  CHECK(errors(std::string((std::size_t{64} << 20) + 1, ' ')) ==
        "c.json:1:1: /: the text is larger than 64 MiB; split it, or generate the job instead of listing it");
}

TEST_CASE("a duplicate key is refused, and the errors after it are still found") {
  CHECK(errors("{\"a\": 1,\n\"b\": {\"c\": 2,\n \"c\": 3},\n\"d\": \"x\"}",
               [](Document& document) {
                 CHECK(document.root().get("b").get("c").integer(0, 9) == 2);
                 CHECK(document.root().get("b").members().size() == 1);
                 static_cast<void>(document.root().get("d").integer(0, 9));
               }) ==
        "c.json:3:2: /b/c: duplicate key \"c\", first at line 2; keep one of them\n"
        "c.json:4:6: /d: expected a whole number, found text \"x\"; write a whole number from 0 to 9");
}

TEST_CASE("numbers keep their value: whole in int64, else double") {
  Diagnostics diagnostics;
  const Document document =
      parse("[9223372036854775807, -9223372036854775808, 9223372036854775808, 0.1]", diagnostics);
  const auto items = document.root().items();
  CHECK(items[0].integer(INT64_MIN, INT64_MAX) == INT64_MAX);
  CHECK(items[1].integer(INT64_MIN, INT64_MAX) == INT64_MIN);
  CHECK(items[2].number(0, 1e300) == 9223372036854775808.0);
  CHECK(items[3].number(0, 1) == 0.1);
  CHECK(diagnostics.empty());
}

TEST_CASE("errors come in file order, once each, at most twenty and then a count") {
  std::string text = "[";
  for (int i = 0; i < 25; ++i) {
    text += i == 0 ? "true" : ",\ntrue";
  }
  const std::string message = errors(text + "]", [](Document& document) {
    const auto items = document.root().items();
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      static_cast<void>(item->text());
      static_cast<void>(item->text());
    }
  });
  CHECK(
      message.starts_with("c.json:1:2: /0: expected text, found true; write it in double quotes\n"
                          "c.json:2:1: /1: "));
  CHECK(message.ends_with(
      "c.json:20:1: /19: expected text, found true; write it in double quotes\nand 5 more"));
}

TEST_CASE("an error without a place is its two halves") {
  Diagnostics diagnostics;
  CHECK_NOTHROW(diagnostics.throw_if_any());
  diagnostics.add("the job needs 16 GPUs, the cluster has 8", "lower dp");
  CHECK(diagnostics.size() == 1);
  CHECK_THROWS_WITH(diagnostics.throw_if_any(), "the job needs 16 GPUs, the cluster has 8; lower dp");
}

TEST_CASE("a flag replaces or adds a value, as JSON or else as text") {
  Diagnostics diagnostics;
  Document document = parse(R"({"a": {"b": [1, 2]}, "x/y": 0})", diagnostics);
  document.set("/a/b/1", "3.5");
  document.set("/a/rate", "400Gb/s");
  document.set("/a/list", "[\"p\", {\"q\": null}]");
  document.set("/x~1y", "\"7\"");
  CHECK(document.root().get("a").get("rate").bandwidth().bits_per_second() == 400'000'000'000);
  CHECK(document.dump() ==
        "{\n"
        "  \"a\": {\n"
        "    \"b\": [\n"
        "      1,\n"
        "      3.5\n"
        "    ],\n"
        "    \"rate\": \"400Gb/s\",\n"
        "    \"list\": [\n"
        "      \"p\",\n"
        "      {\n"
        "        \"q\": null\n"
        "      }\n"
        "    ]\n"
        "  },\n"
        "  \"x/y\": \"7\"\n"
        "}");
  document.set("/a", "{}");
  document.set("/x~1y", "1.0");
  CHECK(document.dump() == "{\n  \"a\": {},\n  \"x/y\": 1.0\n}");
  CHECK(diagnostics.empty());
}

TEST_CASE("a flag adds the objects on the way to its value") {
  Diagnostics diagnostics;
  Document document = parse(R"({"a": 1})", diagnostics);
  document.set("/b/c/d", "2");
  document.set("/b/c/e", "3");
  CHECK(document.root().get("b").get("c").get("d").integer(0, 9) == 2);
  CHECK(document.root().get("b").get("c").get("e").integer(0, 9) == 3);
  CHECK(diagnostics.empty());
  document.root().allow_only({"a", "bb"});
  CHECK_THROWS_WITH(diagnostics.throw_if_any(), "--set /b/c/d: /b: unknown key \"b\"; did you mean \"a\"?");
}

TEST_CASE("a misspelt key is one mistake, not also a missing one") {
  CHECK(errors(R"({"bandwith": 1})",
               [](Document& document) {
                 document.root().allow_only({"bandwidth", "latency"});
                 static_cast<void>(document.root().require("bandwidth"));
                 static_cast<void>(document.root().require("latency"));
               }) ==
        "c.json:1:1: /: missing key \"latency\"; add \"latency\": ...\n"
        "c.json:1:2: /bandwith: unknown key \"bandwith\"; did you mean \"bandwidth\"?");
}

TEST_CASE("a name holds no control characters, other text may") {
  CHECK(errors(R"({"a": "x\ny"})", [](Document& document) {
          CHECK(document.root().get("a").text() == "x\ny");
          static_cast<void>(document.root().get("a").name());
        }) == "c.json:1:7: /a: the name \"x\\ny\" holds control characters; leave them out");
}

TEST_CASE("an error in a value from a flag names the flag") {
  CHECK(errors(R"({"a": {"b": 1}})",
               [](Document& document) {
                 document.set("/a/b", "50 GBs");
                 document.set("/a/c", "{\"d\": 1}");
                 static_cast<void>(document.root().get("a").get("b").bandwidth());
                 static_cast<void>(document.root().get("a").get("c").get("d").text());
                 document.root().get("a").allow_only({"b"});
               }) ==
        "--set /a/b: /a/b: unknown unit \"GBs\" in \"50 GBs\"; write Gb/s (bits) or GB/s (bytes)\n"
        "--set /a/c: /a/c/d: expected text, found the number 1; write it in double quotes\n"
        "--set /a/c: /a/c: unknown key \"c\"; did you mean \"b\"?");
}

TEST_CASE("a flag that points nowhere is refused with what stands there") {
  const auto [pointer, message] = GENERATE(table<std::string, std::string>({
      {"", "--set : bad pointer \"\"; start it with / and name a value, as in /hosts/count"},
      {"/", "--set /: bad pointer \"/\"; start it with / and name a value, as in /hosts/count"},
      {"a/b", "--set a/b: bad pointer \"a/b\"; start it with / and name a value, as in /hosts/count"},
      {"/a~2", "--set /a~2: bad escape in \"a~2\"; write ~1 for / and ~0 for ~"},
      {"/hostz/0/x", "--set /hostz/0/x: /: no array \"hostz\" to hold item 0; set the array as a whole"},
      {"/hosts/list/-",
       "--set /hosts/list/-: /hosts/list: \"-\" (append) is not supported; "
       "write 0 to 1, or set the whole array"},
      {"/hosts/list/2",
       "--set /hosts/list/2: /hosts/list: index 2 is beyond the end of the array; write 0 to 1"},
      {"/hosts/list/01",
       "--set /hosts/list/01: /hosts/list: \"01\" is not an index of an array; write 0 to 1"},
      {"/hosts/list/0/x",
       "--set /hosts/list/0/x: /hosts/list/0: the number 1 has no members; "
       "set the value itself, or name another place"},
  }));
  CHECK(errors(R"({"hosts": {"list": [1, 2]}})",
               [&, &at = pointer](Document& document) { document.set(at, "5"); }) == message);
}

TEST_CASE("a flag's value obeys the limits of a file") {
  CHECK(errors("{}", [](Document& document) { document.set("/a", "1e999"); }) ==
        "--set /a: /a: the number 1e999 does not fit; write a number below 1.8e308");
  const std::string message = errors(
      "{}", [](Document& document) { document.set("/a", std::string(200, '[') + std::string(200, ']')); });
  CHECK(message.ends_with("nesting deeper than 200; flatten the structure"));
}

TEST_CASE("a written document reads back as itself") {
  // What could change on the way: escapes, key order, doubles that look whole, large numbers.
  Diagnostics diagnostics;
  const Document document = parse(
      "{\"z\": [1, -0.0, 2.0, 1e300, 0.1, 18446744073709551615], /* c */ \"a\": \"\\u00e9\\n\\\"\", \"e\": "
      "[], "
      "\"t\": true}",
      diagnostics);
  const std::string written = document.dump();
  CHECK(parse(written, diagnostics).dump() == written);
  CHECK(written.find("2.0") != std::string::npos);
  CHECK(diagnostics.empty());
}

TEST_CASE("a node stays valid when its document moves") {
  Diagnostics diagnostics;
  Document document = parse(R"({"a": 5})", diagnostics);
  const Node node = document.root().get("a");
  const Document moved = std::move(document);
  CHECK(node.integer(0, 9) == 5);
  CHECK(moved.root().get("a").place().file == "c.json");
}

TEST_CASE("a file is read under the name it shall be shown by") {
  const std::string path = "document_test_load.json";
  std::ofstream(path) << "{\"a\": 1,}";
  Diagnostics diagnostics;
  CHECK_THROWS_WITH(Document::load(path, diagnostics, "topologies/x.json"),
                    "topologies/x.json:1:9: /: unexpected \"}\" after a comma; remove the comma before it");
  std::remove(path.c_str());
  Diagnostics others;
  CHECK_THROWS_WITH(Document::load("no/such/file.json", others),
                    "no/such/file.json: cannot be read (no such file); check the path");
  CHECK_THROWS_WITH(Document::load("/", others), "/: cannot be read (it is a folder); check the path");
}
