#include "collective/nccl/channel_topology_xml.hpp"

#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "unit/collective/nccl/node_shapes.hpp"

namespace stepcast::collective::nccl {
namespace {

using Catch::Matchers::Contains;

std::string slot(const std::string& bus, const std::string& klass, const std::string& inside) {
  return "<pci busid=\"" + bus + "\" class=\"" + klass +
         "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" + inside + "</pci>\n";
}

// Two processors; on each a switch with one GPU and one NIC of 400 Gb/s. 6 + 12 links into two switches.
std::string two_gpus(const std::string& links) {
  std::string text = "<system version=\"1\">\n";
  for (const std::string n : {"0", "1"}) {
    text += "<cpu numaid=\"" + n + "\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n" +
            slot("0" + n + ":00", "0x060400",
                 slot("1" + n + ":00", "0x030200",
                      "<gpu dev=\"" + n + "\" sm=\"90\" rank=\"" + n + "\">" + links + "</gpu>") +
                     slot("2" + n + ":00", "0x020700",
                          "<nic><net name=\"mlx5_" + n + "\" dev=\"" + n +
                              "\" speed=\"400000\" coll=\"1\"/></nic>")) +
            "</cpu>\n";
  }
  return text + "</system>\n";
}

TEST_CASE("a topology file tells GPUs, NICs, links and places") {
  const NodeShape shape =
      read_topology_xml(two_gpus("<nvlink target=\"a0\" count=\"6\" tclass=\"0x068000\"/>"
                                 "<nvlink target=\"a1\" count=\"12\" tclass=\"0x068000\"/>"),
                        "topo.xml");
  CHECK(shape.generation == 90);
  CHECK(shape.cpu == CpuKind::kAmd);
  REQUIRE(shape.gpus.size() == 2);
  REQUIRE(shape.nics.size() == 2);
  CHECK(shape.nvlinks == 18);
  CHECK(shape.gpus[0].pcie_gb_per_s == Approx(48));  // 16 lanes x 32 GT/s: generation 5
  CHECK(shape.nics[1].gb_per_s == 50);               // 400 Gb/s
  CHECK(shape.nics[1].reduces);
  // GPU and NIC share a switch; the GPUs sit on different processors.
  CHECK(shape.gpus[0].place.leaf == shape.nics[0].place.leaf);
  CHECK(shape.gpus[0].place.numa != shape.gpus[1].place.numa);
}

TEST_CASE("links between GPUs are direct") {
  const NodeShape shape =
      read_topology_xml(two_gpus("<nvlink target=\"10:00\" count=\"4\" tclass=\"0x030200\"/>"
                                 "<nvlink target=\"11:00\" count=\"4\" tclass=\"0x030200\"/>"),
                        "topo.xml");
  CHECK(shape.nvlinks == 0);
  REQUIRE(shape.direct_links.size() == 2);
  CHECK(shape.direct_links[0][1] == 4);
  CHECK(shape.direct_links[0][0] == 0);
}

TEST_CASE("topology files without GPUs of their own take what they are told") {
  const std::string text =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">" +
      slot("01:00", "0x060400", slot("02:00", "0x030200", "") + slot("03:00", "0x020700", "")) +
      "</cpu></system>";
  CHECK_THROWS_WITH(read_topology_xml(text, "cloud.xml"),
                    Contains("cloud.xml:1: no <gpu> has \"sm\"") && Contains("say which GPUs these are"));
  const NodeShape shape =
      read_topology_xml(text, "cloud.xml", {.generation = 80, .nvlinks = 12, .nic_gb_per_s = 25});
  CHECK(shape.generation == 80);
  CHECK(shape.nvlinks == 12);
  CHECK(shape.nics.at(0).gb_per_s == 25);
}

TEST_CASE("ports of one PCIe switch are one switch") {
  const auto bridge = [](const std::string& bus, const std::string& inside) {
    return "<pci busid=\"" + bus +
           "\" class=\"0x060400\" vendor=\"0x1000\" device=\"0xc030\" link_speed=\"\" link_width=\"\">" +
           inside + "</pci>";
  };
  const NodeShape shape =
      read_topology_xml("<system><cpu arch=\"x86_64\">" +
                            bridge("1", bridge("2", slot("3", "0x0302", "<gpu dev=\"0\" sm=\"90\"/>")) +
                                            bridge("4", slot("5", "0x0200", ""))) +
                            "</cpu></system>",
                        "topo.xml");
  CHECK(shape.gpus.at(0).place.leaf == shape.nics.at(0).place.leaf);
}

TEST_CASE("what is no topology file is refused with its line") {
  CHECK_THROWS_WITH(read_topology_xml("<system>\n<cpu>\n</system>", "a.xml"),
                    Contains("a.xml:3: not well-formed"));
  CHECK_THROWS_WITH(read_topology_xml("<graphs/>", "a.xml"), Contains("begin with <system>"));
  CHECK_THROWS_WITH(read_topology_xml("<system>\n</system>", "a.xml"), Contains("a.xml:1: no GPU"));
  CHECK_THROWS_WITH(
      read_topology_xml(two_gpus("<nvlink target=\"a0\" count=\"-3\" tclass=\"0x068000\"/>"), "a.xml"),
      Contains("a.xml:3: count \"-3\""));
}

}  // namespace
}  // namespace stepcast::collective::nccl
