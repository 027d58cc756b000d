#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "topology/topology.hpp"

namespace stepcast::topology {

/// A slow device or a degraded link. Active in [at, until); `until` is never() when it stays.
struct Fault {
  enum class Target : std::uint8_t { kGpu, kLink };
  Target target = Target::kGpu;
  GpuId gpu;                  ///< kGpu: compute speed is multiplied by factor
  std::vector<LinkId> links;  ///< kLink: effective capacity is multiplied by factor (both directions)
  double factor = 1;          ///< in [0, 1] for links, (0, 1] for GPUs
  TimePoint at;
  TimePoint until = TimePoint::never();
  std::string link = {};     ///< kLink: "leaf3-spine1", as in the file
  config::Place place = {};  ///< of the fault in the file
};

/// Storage of a cluster: a node of the fabric with its own read and write rates.
struct Storage {
  std::string name;
  NodeId node;
  Bandwidth read;
  Bandwidth write;
};

/// Reduction in the switches of the fabric (SHARP).
struct Sharp {
  std::uint32_t trees = 0;  ///< that a group can use at the same time; 0 = as many as it has channels
  Bytes largest_call;       ///< bytes of one collective; 0 = not limited
};

/// One variable of NCCL, as given.
struct NcclVariable {
  std::string name;
  std::string value;
  config::Place place = {};
};

/// The NCCL that a cluster runs. Read by collective/nccl, which knows versions and variables.
struct Nccl {
  std::string version;  ///< "2.27.7"; empty = the default
  config::Place version_place = {};
  std::vector<NcclVariable> variables;  ///< later ones win
};

/// A checked cluster: hardware, fabric, storage, faults.
struct Cluster {
  std::string name;
  std::string description;
  hardware::HostKind host;
  std::uint32_t hosts = 0;
  Topology topology;
  std::vector<Storage> storage;
  std::vector<Fault> faults;
  std::optional<Sharp> sharp = {};  ///< none: the switches only forward
  Nccl nccl = {};
  /// Queue pairs of a connection between two NICs: each carries an equal part, and where flows are hashed
  /// each takes a path of its own.
  std::uint32_t queue_pairs = 1;
  config::Place fabric_place = {};  ///< of the fabric in the file, for errors found later
};

/// GPUs that a cluster file declares, before anything is built: hosts x GPUs per host. None for a `links`
/// fabric, which may list its own, and when the file does not say it plainly. Records no error.
[[nodiscard]] std::optional<std::int64_t> declared_gpus(const config::Document& document,
                                                        const hardware::Catalog& catalog);

/// Reads a cluster document (keys: name, description, host, hosts, fabric, storage, faults, sharp, nccl,
/// queue_pairs;
/// ../topologies/README.md). Throws InputError with all errors found.
[[nodiscard]] Cluster read_cluster(const config::Document& document,
                                   const hardware::Catalog& catalog,
                                   config::Diagnostics& diagnostics);

}  // namespace stepcast::topology
