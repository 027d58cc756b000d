#include "hardware/catalog.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::literals;
using hardware::Catalog;
using hardware::HostKind;

namespace {

HostKind read(std::string_view text) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "h.json", diagnostics);
  HostKind host = Catalog::shipped().host(document.root().get("host"));
  diagnostics.throw_if_any();
  return host;
}

std::string error_of(std::string_view text) {
  try {
    static_cast<void>(read(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the shipped catalogue has every accelerator and host kind, each number with its source") {
  const Catalog catalog = Catalog::shipped();
  CHECK(catalog.accelerator_names() ==
        std::vector<std::string>{"A100-40GB", "A100-80GB", "B200", "CPU", "GB200", "GB300", "H100", "H200"});
  CHECK(catalog.host_names() == std::vector<std::string>{"cpu-100m", "dgx-a100-40g", "dgx-a100-80g",
                                                         "dgx-b200", "dgx-h100", "dgx-h200", "gb200-nvl72",
                                                         "gb300-nvl72", "h100-roce"});
  for (const std::string& name : catalog.host_names()) {
    CAPTURE(name);
    const HostKind host = read(R"({"host": ")" + name + R"("})");
    CHECK(host.name == name);
    CHECK(host.nic_effective <= host.nic_bandwidth);
    CHECK(host.nvlink_effective <= host.nvlink_bandwidth);
    for (const auto* sources : {&host.accelerator.sources, &host.collective.sources}) {
      for (const auto& [field, source] : *sources) {
        CAPTURE(field);
        CHECK(source.text.size() > 10);
        CHECK(source.text.find("/work") == std::string::npos);
      }
    }
  }
}

TEST_CASE("a base gives what an entry leaves out") {
  const HostKind a100 = read(R"({"host": "dgx-a100-40g"})");
  CHECK(a100.accelerator.name == "A100-40GB");
  CHECK(a100.accelerator.hbm_capacity == 40_GiB);  // five stacks of 8 GiB
  CHECK(a100.accelerator.peak_fp16.flops_per_second() == Approx(312e12));
  CHECK(a100.nvswitches == 6);
  const HostKind roce = read(R"({"host": "h100-roce"})");
  CHECK(roce.collective.net_hop_simple == 19_us);  // RoCE instead of InfiniBand's 17 us
  CHECK(roce.collective.hop_simple == read(R"({"host": "dgx-h100"})").collective.hop_simple);
}

TEST_CASE("an inline host changes single fields of a kind") {
  const HostKind host = read(R"({"host": {"base": "dgx-h100", "name": "fast", "nic_bandwidth": "800 Gb/s",
                                          "accelerator": {"base": "H200", "gemm_efficiency": 0.5}}})");
  CHECK(host.name == "fast");
  CHECK(host.nic_bandwidth == 800_Gbps);
  CHECK(host.nics == 8);
  CHECK(host.accelerator.gemm_efficiency == 0.5);
  CHECK(host.accelerator.hbm_bandwidth == 4800_GBps);
}

TEST_CASE("a named constant is read back as it was set, to the picosecond and bit") {
  HostKind host = read(R"({"host": "dgx-a100-80g"})");
  CHECK(Catalog::constant(host, "nvlink_effective") == Approx(235e9));
  CHECK(Catalog::constant(host, "gemm_efficiency") == host.accelerator.gemm_efficiency);
  for (const std::string& name : Catalog::constant_names()) {
    CAPTURE(name);
    const double value = Catalog::constant(host, name);
    Catalog::set_constant(host, name, value);
    CHECK(Catalog::constant(host, name) == value);
  }
  Catalog::set_constant(host, "launch_per_kernel", 7.5e-6);
  CHECK(host.accelerator.launch_per_kernel == 7500_ns);
  Catalog::set_constant(host, "nvlink_effective", 200e9);
  CHECK(host.nvlink_effective == 200_GBps);
  CHECK_THROWS_AS(Catalog::set_constant(host, "speed", 1), InternalError);
}

TEST_CASE("mistakes in a host are answered with place and remedy") {
  CHECK(error_of(R"({"host": "dgx-h10"})") ==
        "h.json:1:10: /host: unknown host kind \"dgx-h10\"; did you mean \"dgx-h100\"?");
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "accelerator": "H10"}})") ==
        "h.json:1:46: /host/accelerator: unknown accelerator \"H10\"; did you mean \"H100\"?");
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "nics": 3}})") ==
        "h.json:1:10: /host: 3 NICs cannot be shared evenly by 8 GPUs; make one a multiple of the other");
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "nic_effective": "500 Gb/s"}})") ==
        "h.json:1:10: /host: nic_effective is above nic_bandwidth; give the payload rate, at most the "
        "nameplate");
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "gpus": 7.5}})") ==
        "h.json:1:39: /host/gpus: 7.5 is not a whole number; give a whole number");
}

TEST_CASE("a rate given alone brings its payload rate with it") {
  // 400 -> 800 Gb/s: the payload rate of the base doubles with it.
  const HostKind base = read(R"({"host": "dgx-h100"})");
  const HostKind faster = read(R"({"host": {"base": "dgx-h100", "nic_bandwidth": "800 Gb/s"}})");
  CHECK(faster.nic_effective.bits_per_second() == 2 * base.nic_effective.bits_per_second());
  CHECK(faster.nvlink_effective == base.nvlink_effective);
  // 450 -> 225 GB/s: half.
  const HostKind slower = read(R"({"host": {"base": "dgx-h100", "nvlink_bandwidth": "225 GB/s"}})");
  CHECK(slower.nvlink_effective.bits_per_second() == base.nvlink_effective.bits_per_second() / 2);
  // What is given stays as given.
  const HostKind both =
      read(R"({"host": {"base": "dgx-h100", "nic_bandwidth": "800 Gb/s", "nic_effective": "700 Gb/s"}})");
  CHECK(both.nic_effective == 700_Gbps);
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "nvlink_bandwidth": "0 B/s"}})") ==
        "h.json:1:10: /host: "
        "NVLink switches without NVLink bandwidth; give nvlink_bandwidth and nvlink_effective");
}

TEST_CASE("no part of an accelerator computes above its peak") {
  // 0.7 x 1.5 = 1.05 of the peak.
  CHECK(error_of(R"({"host": {"base": "dgx-h100", "accelerator": {"base": "H100",
                    "attention_forward_efficiency": 0.7, "attention_backward_ratio": 1.5}}})")
            .find("the backward would run above the peak") != std::string::npos);
  CHECK(error_of(
            R"({"host": {"base": "dgx-h100", "accelerator": {"base": "H100", "peak_fp8": "100 TFLOP/s"}}})")
            .find("peak_fp8 is below peak_fp16") != std::string::npos);
}
