// One host: nothing outside the NVLink domain.
//
// Scope:       a single server or NVLink rack.
// Assumes:     no traffic leaves the host; its NICs stay unconnected.
// Not covered: more than one host.
// Source:      the host kind of the catalogue.
// Validated by: tests/unit/topology/builders_test.cpp
#include <fmt/format.h>

#include "topology/builder.hpp"

namespace stepcast::topology {
namespace {

void build(const BuildContext& context, Topology::Draft& draft) {
  static_cast<void>(draft);
  if (context.hosts != 1) {
    context.fabric.error(fmt::format("single_host does not join {} hosts", context.hosts),
                         "use fat_tree, rail_optimized or links, or \"hosts\": 1");
  }
}

}  // namespace

Builder single_host_builder() {
  return {"single_host", "one host, no network", {}, &build};
}

}  // namespace stepcast::topology
