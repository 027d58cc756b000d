// Does hostile input end in an InputError? Any bytes go through Document::parse, every value found is
// read by every reader, and the bytes are also read as quantities, as an option object and as a --set.
// What else is thrown is a crash; so is a dump that does not parse back to itself.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "config/node.hpp"
#include "config/option.hpp"
#include "config/quantity.hpp"

namespace {

using namespace stepcast;
using config::Node;

constexpr std::array kOptions = {
    config::Option{"count", config::OptionType::kInteger, "", "4", 1, 64, "", ""},
    config::Option{"share", config::OptionType::kNumber, "", "0.5", 0, 1, "", ""},
    config::Option{"on", config::OptionType::kBoolean, "", "true", 0, 0, "", ""},
    config::Option{"size", config::OptionType::kBytes, "", "1 MiB", 1, 1e12, "", ""},
    config::Option{"rate", config::OptionType::kBandwidth, "", "400 Gb/s", 1, 1e15, "", ""},
    config::Option{"latency", config::OptionType::kDuration, "", "", 0, 1, "", ""},
    config::Option{"name", config::OptionType::kText, "", "packed", 0, 0, "", ""},
};

template <class T>
void ignore(const T& /*value*/) {}

template <class T>
void check(const config::Parsed<T>& parsed) {
  if (parsed.value.has_value() != parsed.problem.empty() || parsed.problem.size() > 300) {
    std::abort();
  }
}

void read_everything(const Node& node) {
  ignore(node.place());
  ignore(node.integer(-5, 5));
  ignore(node.integer(1, INT64_MAX));
  ignore(node.number(0, 1));
  ignore(node.factor(-1, 1));
  ignore(node.boolean());
  ignore(node.text());
  ignore(node.bytes());
  ignore(node.bandwidth());
  ignore(node.duration());
  ignore(node.flop_rate());
  ignore(node.dtype());
  ignore(node.source());
  ignore(node.one_of({"ring", "tree"}));
  node.allow_only({"hosts", "fabric"});
  ignore(node.require("hosts"));
  ignore(config::OptionValues(node, kOptions).integer("count"));
  if (node.is_array()) {
    for (const Node& item : node.items()) {
      read_everything(item);
    }
  } else {
    for (const auto& [key, member] : node.members()) {
      read_everything(member);
    }
  }
}

void read_document(std::string_view text) {
  config::Diagnostics diagnostics;
  auto document = config::Document::parse(text, "fuzz.json", diagnostics);
  const std::string written = document.dump();
  config::Diagnostics none;
  if (config::Document::parse(written, "written.json", none).dump() != written || !none.empty()) {
    std::abort();
  }
  read_everything(document.root());
  try {
    diagnostics.throw_if_any();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).size() > 20'000) {  // twenty messages of bounded length
      std::abort();
    }
  }
}

void set_value(std::string_view text) {
  config::Diagnostics diagnostics;
  auto document = config::Document::parse(R"({"a": {"b": [1, {"c": 2}]}})", "base.json", diagnostics);
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    document.set(text.substr(0, equals), text.substr(equals + 1));
    read_everything(document.root());
    ignore(document.dump());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check(config::parse_bytes(text));
  check(config::parse_bandwidth(text));
  check(config::parse_duration(text));
  check(config::parse_flop_rate(text));
  check(config::parse_nccl_size(text));
  try {
    read_document(text);
  } catch (const InputError&) {
  }
  try {
    set_value(text);
  } catch (const InputError&) {
  }
  return 0;
}
