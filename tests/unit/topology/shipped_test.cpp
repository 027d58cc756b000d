#include <map>

#include "config/data_path.hpp"
#include "support/catch.hpp"
#include "unit/topology/read_text.hpp"

using namespace stepcast;

TEST_CASE("every shipped cluster builds and has the GPUs that it says") {
  const std::map<std::string, std::uint32_t> gpus = {
      {"dgx-a100-64", 8 * 8},      {"dgx-a100-512", 64 * 8},      {"dgx-h100-1024", 128 * 8},
      {"gb200-nvl72-576", 8 * 72}, {"llama3-24k-roce", 8 * 3072}, {"llama3-131k-roce", 42 * 3072 + 2048},
      {"cpu-one-switch", 8},       {"cpu-two-leaves", 8},         {"cpu-slow-link", 8}};
  for (const std::string& name : config::shipped_names("topologies")) {
    CAPTURE(name);
    config::Diagnostics diagnostics;
    const config::DataFile file = config::find_data("topologies", name);
    const config::Document document = config::Document::load(file.path, diagnostics, file.shown);
    const topology::Cluster cluster = topology::read_cluster(document, test::catalog(), diagnostics);
    CHECK(cluster.name == name);
    CHECK_FALSE(cluster.description.empty());
    REQUIRE(gpus.count(name) == 1);
    CHECK(cluster.topology.gpu_count() == gpus.at(name));
  }
}

TEST_CASE("the Llama 3 fabric is 1:1 in a pod and 1:7 above, to the bit per second") {
  config::Diagnostics diagnostics;
  const config::DataFile file = config::find_data("topologies", "llama3-24k-roce");
  const config::Document document = config::Document::load(file.path, diagnostics, file.shown);
  const topology::Cluster cluster = topology::read_cluster(document, test::catalog(), diagnostics);
  const topology::Topology& topology = cluster.topology;
  std::map<std::string, std::int64_t> capacity;
  for (const LinkId id : topology.out_links(*topology.find("leaf100"))) {
    capacity[topology.tiers()[topology.link(id).tier]] += topology.link(id).capacity.bits_per_second();
  }
  CHECK(capacity.at("NIC") == 16 * 400'000'000'000);
  CHECK(capacity.at("leaf-spine") == capacity.at("NIC"));
  capacity.clear();
  for (const LinkId id : topology.out_links(*topology.find("pod3.spine2"))) {
    capacity[topology.tiers()[topology.link(id).tier]] += topology.link(id).capacity.bits_per_second();
  }
  // 56 up-links, each rounded to 1 b/s.
  CHECK(std::abs(capacity.at("leaf-spine") - 7 * capacity.at("spine-core")) <= 7 * 28);
}
