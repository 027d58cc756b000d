#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/flow_network.hpp"
#include "program/program.hpp"
#include "replay/compiled.hpp"
#include "replay/partition.hpp"
#include "replay/sites.hpp"

// Internal to replay/: the sites and resources of a partition, as the executor uses them.
namespace stepcast::replay {

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
  ShapeId shape;
  std::int64_t work = 0;
  std::int64_t payload = 0;  ///< of the work, bytes that are moved
  std::int64_t latency_ps = 0;
  std::int64_t fixed_ps = -1;  ///< recorded duration: the network is not asked
  std::int64_t bytes = 0;
  std::uint32_t offsets = kNone;  ///< index into Wiring::offsets: by member, ps
  std::uint32_t plan = kNone;     ///< index of a StepPlan
  std::uint32_t form = 0;         ///< equal forms may meet (kind, bytes, root)
  std::uint32_t spec = 0;         ///< CallSpec
  std::uint32_t next = kNone;     ///< exchange that follows with the same members: a later phase of the call
  Entry entry = Entry::kAll;
};

/// A class of sites. Its members are ranks of one class that come to it in the same role.
struct SiteClass {
  Site::Kind kind = Site::Kind::kAlone;
  std::uint32_t group = kNone;  ///< GroupId of the representative, of kGroup
  std::uint32_t tag = 0;        ///< of kMessages
  std::uint32_t first_member = 0;
  std::uint32_t members = 1;
};

/// What a communication operation of a class refers to.
struct Endpoint {
  std::uint32_t site = kNone;
  std::uint32_t member = 0;
  std::uint32_t exchange = kNone;
};

/// Everything that the run needs of the sites.
struct Wiring {
  std::vector<SiteClass> sites;
  std::vector<std::uint32_t> member_rank;  ///< by member of all sites: a rank of the representative site
  std::vector<Exchange> exchanges;
  std::vector<std::vector<std::int64_t>> offsets;
  std::vector<StepPlan> plans;
  std::vector<CallSpec> specs;
  std::vector<std::vector<std::uint32_t>> endpoint_index;  ///< by program, by operation: dense index or kNone
  std::vector<std::vector<Endpoint>> endpoints;            ///< by class, by dense index
  /// Resource class (= ResourceId of the network) by resource of the router; Classes::kNone = unused.
  std::vector<std::uint32_t> resource_class;
  std::vector<std::uint32_t> resource_representative;  ///< by class
  std::vector<std::uint32_t> resource_count;           ///< by class

  [[nodiscard]] std::string name_of(const Exchange& exchange) const;
};

/// Adds the resource classes and the shapes of all exchanges to an empty network.
[[nodiscard]] Wiring wire(const program::Programs& programs,
                          const Sites& sites,
                          const Partition& partition,
                          const routing::Router& router,
                          network::FlowNetwork& network);

}  // namespace stepcast::replay
