#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "topology/cluster.hpp"

namespace stepcast::test {

inline const hardware::Catalog& catalog() {
  static const hardware::Catalog shipped = hardware::Catalog::shipped();
  return shipped;
}

/// Reads a cluster from JSON text; FILE in messages is "c.json".
inline topology::Cluster cluster_of(std::string_view text) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "c.json", diagnostics);
  return topology::read_cluster(document, catalog(), diagnostics);
}

/// A cluster of a host kind with the fabric object given as text.
inline topology::Cluster cluster_of(std::string_view host, int hosts, std::string_view fabric) {
  return cluster_of(R"({"name": "c", "host": ")" + std::string(host) + R"(", "hosts": )" +
                    std::to_string(hosts) + R"(, "fabric": )" + std::string(fabric) + "}");
}

/// The text of the InputError that reading causes, or "no error".
inline std::string error_of(std::string_view text) {
  try {
    static_cast<void>(cluster_of(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace stepcast::test
