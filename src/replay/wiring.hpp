#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/collective.hpp"
#include "network/flow_network.hpp"
#include "program/program.hpp"
#include "replay/compiled.hpp"
#include "replay/executor.hpp"
#include "replay/partition.hpp"
#include "routing/router.hpp"

// Internal to replay/: where operations meet (groups, message channels, storage), and what each costs.
namespace stepcast::replay {

/// Who must have arrived before an exchange starts: all, or of a message its sender alone (eager). The
/// transfers of a stepped collective start each when its own two ends are there.
enum class Entry : std::uint8_t { kAll, kSender };

/// Steps of an exchange that is played step by step, with dependencies turned around.
struct StepPlan {
  struct Step {
    ShapeId shape;
    std::int64_t work = 0;
    std::int64_t payload = 0;
    std::int64_t latency_ps = 0;
    std::uint32_t source = 0;  ///< member
    std::uint32_t destination = 0;
    std::uint32_t waits = 0;                  ///< transfers before it
    std::vector<std::uint32_t> when_left;     ///< transfers that wait until its last byte has left
    std::vector<std::uint32_t> when_arrived;  ///< ... until it has arrived
  };
  std::vector<Step> steps;
  std::vector<std::vector<std::uint32_t>> of_member;  ///< transfers that a member sends or receives
};

/// One priced exchange: what an instance of it does in the network.
struct Exchange {
  std::string name;  ///< "all_reduce of 1048576 bytes"
  ShapeId shape;
  std::int64_t work = 0;
  std::int64_t payload = 0;  ///< of the work, bytes that are moved
  std::int64_t latency_ps = 0;
  std::int64_t fixed_ps = -1;  ///< recorded duration: the network is not asked
  Entry entry = Entry::kAll;
  std::vector<std::int64_t> offset_ps;  ///< by site member; empty = 0
  std::uint32_t plan = kNone;           ///< index of a StepPlan
  std::int64_t bytes = 0;
  std::uint32_t form = 0;  ///< equal forms may meet (kind, bytes, root)
};

/// Where instances of exchanges are matched in order: a group, a message channel, or one rank alone.
struct Site {
  enum class Kind : std::uint8_t { kGroup, kMessages, kAlone };
  Kind kind = Kind::kAlone;
  std::uint32_t members = 1;
  std::uint32_t group = kNone;  ///< GroupId of kGroup
  std::uint32_t sender = 0;     ///< rank, of kMessages
  std::uint32_t receiver = 0;
  std::uint32_t tag = 0;
  std::vector<ClassId> classes;  ///< by member
};

/// What a communication operation of a class refers to.
struct Endpoint {
  std::uint32_t site = kNone;
  std::uint32_t member = 0;
  std::uint32_t exchange = kNone;
};

/// Everything priced before the run.
struct Wiring {
  std::vector<Site> sites;
  std::vector<Exchange> exchanges;
  std::vector<StepPlan> plans;
  std::vector<std::vector<std::uint32_t>> endpoint_index;  ///< by program, by operation: dense index or kNone
  std::vector<std::vector<Endpoint>> endpoints;            ///< by class, by dense index
};

/// Resolves every group, channel and storage access of the representatives and prices it on the
/// fabric. Adds shapes to `network`, whose resources must be those of the router. Throws
/// UnsupportedError for collectives without algorithm.
[[nodiscard]] Wiring wire(const program::Programs& programs,
                          const Placement& placement,
                          const routing::Router& router,
                          const Partition& partition,
                          const std::vector<CompiledProgram>& compiled,
                          collective::Form form,
                          network::FlowNetwork& network);

}  // namespace stepcast::replay
